//go:build e2e

package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// moreForFile is how much more memory a hostile file may take than a small one, in KiB.
const moreForFile = 50 << 10

// TestFiles has segd import read files of empty things, and end while it reads.
func TestFiles(t *testing.T) {
	const picture = "gate-1795294724651-000000007.jpg"
	dir := t.TempDir()
	// Piece by piece: at first a process has the memory of the one that started it.
	write := func(name, before, one, after string, size int) string {
		path, piece := filepath.Join(dir, name), strings.Repeat(one, min(size, 1<<16)/len(one))
		f, err := os.Create(path)
		require.NoError(t, err)
		_, err = f.WriteString(before)
		for n := 0; n < size && err == nil; n += len(piece) {
			_, err = f.WriteString(piece)
		}
		if err == nil {
			_, err = f.WriteString(after)
		}
		require.NoError(t, errors.Join(err, f.Close()))
		return path
	}
	const image = `<annotations><image id="0" name="` + picture + `" width="64" height="48">`
	const images = `{"images": [{"id": 1, "file_name": "` + picture + `", "width": 64, "height": 48}], "annotations": [`
	run := func(path string, end bool) (*os.ProcessState, string) {
		cmd := exec.CommandContext(t.Context(), harness.Program(t), "import", "gate", path, "--save", filepath.Join(dir, "saved.json"), "--pictures", dir)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		require.NoError(t, cmd.Start())
		if end {
			harness.Until(t, harness.StartLimit, "reading", func(context.Context) error { return opened(cmd.Process.Pid, path) })
			_ = cmd.Process.Signal(os.Interrupt)
		}
		_ = cmd.Wait() // what came of it is in its state
		return cmd.ProcessState, said.String()
	}
	memory := func(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss }
	small, _ := run(write("small.xml", image, "<box/>", "</image></annotations>", 6), false)
	s := Stage{Name: "files"}
	for name, path := range map[string]string{
		"shapes":      write("shapes.xml", image, "<box/>", "</image></annotations>", 4<<20),
		"images":      write("images.xml", "<annotations>", "<image/>", "</annotations>", 4<<20),
		"attributes":  write("attributes.xml", image+"<box>", "<attribute/>", "</box></image></annotations>", 4<<20),
		"elements":    write("elements.xml", "", "<a>", "", 4<<20),
		"text":        write("text.xml", image, " ", "", 64<<20),
		"annotations": write("annotations.json", images, `{"image_id": 1},`, `{}]}`, 4<<20),
		"objects":     write("objects.json", images, `{},`, `{}]}`, 4<<20),
		"lists":       write("lists.json", `{"info": `, "[", "", 4<<20),
		"zeros":       write("zeros.json", images, "0", "]}", 64<<20),
	} {
		s.try(1)
		switch p, said := run(path, false); {
		case p.Success() || !strings.Contains(said, "segd: import: "):
			s.fault("%s: %v: %.300s", name, p, said)
		case memory(p)-memory(small) > moreForFile:
			s.fault("%s: %d KiB more than a small file; want at most %d", name, memory(p)-memory(small), moreForFile)
		}
	}
	for name, path := range map[string]string{
		"XML":  write("long.xml", image, "<box/>", "", 128<<20), // read for a minute
		"JSON": write("long.json", images, `{"image_id": 1},`, "", 128<<20),
	} {
		s.try(1)
		if p, said := run(path, true); !strings.Contains(said, "context canceled") {
			s.fault("%s: Ctrl-C: %v: %.300s", name, p, said)
		}
	}
	report := &Report{}
	report.add(s)
	report.print(t.Output())
	for _, f := range s.Faults {
		t.Error(f)
	}
}

// opened tells whether a process has a file open.
func opened(pid int, path string) error {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range all {
		if to, _ := os.Readlink(fd); to == path {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%d files are open, and not %s", len(all), path))
}
