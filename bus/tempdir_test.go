package bus

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const envHold = "SEGD_TEST_HOLD"

// holdBus is a segd with a temporary folder, until its standard input ends.
func holdBus() int {
	b, err := Open(context.Background(), Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(b.server.temp.path)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := b.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// holder starts a process that holds a temporary folder.
func holder(t *testing.T) (path string, end func(kill bool)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), envHold+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the process says nothing:", cmd.Wait())
	}
	return lines.Text(), func(kill bool) {
		if kill {
			_ = cmd.Process.Kill()
		}
		_ = in.Close()
		if err := cmd.Wait(); err != nil && !kill {
			t.Error(err)
		}
	}
}

// What a killed segd left is removed at the next start; the folder of one that lives
// stays, and so does what is not ours to judge.
func TestLeftovers(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var others []string
	for _, name := range []string{"segd-nats-1234", "another"} { // that of an older segd may be in use
		others = append(others, filepath.Join(tmp, name))
		require.NoError(t, os.Mkdir(others[len(others)-1], 0o700))
	}
	link := filepath.Join(tmp, "segd-nats.link")
	require.NoError(t, os.Symlink(others[0], link))
	others = append(others, link)

	killed, end := holder(t)
	end(true)
	_, err := os.Stat(killed)
	require.NoError(t, err, "SIGKILL left nothing")
	living, end := holder(t) // starts, and removes what the other left
	log := make(chan string, 16)
	b := open(t, Config{Logger: logTo(log)})
	want := slices.Concat(others, []string{living, b.server.temp.path})
	got, err := filepath.Glob(filepath.Join(tmp, "*"))
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
	for len(log) > 0 {
		if line := <-log; line == "temporary folders that a killed segd left are removed count=1" {
			t.Errorf("%q, but the other did that", line)
		}
	}
	end(true)
	removeLeftovers(b.cfg.Logger)
	assert.Equal(t, "temporary folders that a killed segd left are removed count=1", receive(t, log), "the log says")
	if _, err := os.Stat(living); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone", living, err)
	}

	orderly, end := holder(t)
	end(false)
	if _, err := os.Stat(orderly); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone with its segd", orderly, err)
	}
}
