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
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
		if err := os.Mkdir(others[len(others)-1], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(tmp, "segd-nats.link")
	if err := os.Symlink(others[0], link); err != nil {
		t.Fatal(err)
	}
	others = append(others, link)

	killed, end := holder(t)
	end(true)
	if _, err := os.Stat(killed); err != nil {
		t.Fatalf("SIGKILL left nothing: %v", err)
	}
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
	if line := receive(t, log); line != "temporary folders that a killed segd left are removed count=1" {
		t.Errorf("the log says %q", line)
	}
	if _, err := os.Stat(living); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone", living, err)
	}

	orderly, end := holder(t)
	end(false)
	if _, err := os.Stat(orderly); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone with its segd", orderly, err)
	}
}
