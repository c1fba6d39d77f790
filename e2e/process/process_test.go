package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/waitfor"
)

// script is a shell that starts a child, says both their numbers, and waits.
func script(t *testing.T, text string) (p *Process, child int) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	p, err = Run(w, "sh", "-c", text)
	require.NoError(t, err)
	t.Cleanup(p.End)
	_ = w.Close()
	line := make([]byte, 32)
	n, err := r.Read(line)
	require.NoError(t, err)
	child, err = strconv.Atoi(strings.TrimSpace(string(line[:n])))
	require.NoError(t, err)
	return p, child
}

// gone waits until there is no such process, or only what is left of one that no parent
// has asked about.
func gone(t *testing.T, pid int) {
	t.Helper()
	waitfor.True(t, fmt.Sprintf("process %d to be gone", pid), func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
}

func TestEndsWithItsChildren(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		end        func(*Process)
	}{
		{"asked to", "sleep 100 & echo $!; wait", (*Process).End},
		{"suspended", "sleep 100 & echo $!; wait", func(p *Process) {
			assert.NoError(t, p.Suspend())
			p.End()
		}},
		{"killed", "trap '' TERM; sleep 100 & echo $!; wait", (*Process).Kill},
		{"by itself", "sleep 100 & echo $!", func(p *Process) { <-p.Exited }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, child := script(t, tt.text)
			tt.end(p)
			gone(t, child)
			p.End() // again is nothing
		})
	}
}

func TestErr(t *testing.T) {
	p, err := Run(nil, "sh", "-c", "exit 3")
	require.NoError(t, err)
	<-p.Exited
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended by %v; want exit status 3", p.Err())
	}
	_, err = Run(nil, "/nonexistent/program")
	assert.ErrorContains(t, err, "/nonexistent/program", "a program that is not there")
}

func TestSuspend(t *testing.T) {
	p, _ := script(t, "sleep 100 & echo $!; wait")
	state := func() string {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/stat")
		_, rest, _ := strings.Cut(string(stat), ") ")
		return rest[:1]
	}
	wait := func(what string, ok func(string) bool) {
		t.Helper()
		waitfor.True(t, what, func() bool { return ok(state()) })
	}
	require.NoError(t, p.Suspend())
	wait("suspended", func(s string) bool { return s == "T" })
	require.NoError(t, p.Continue())
	wait("continued", func(s string) bool { return s == "S" || s == "R" })
	assert.NoError(t, syscall.Kill(p.PID(), 0))
}

func TestLook(t *testing.T) {
	p, _ := script(t, "exec 9</dev/null; sleep 100 & echo $!; wait")
	if rss, err := p.RSS(); err != nil || rss < 100<<10 || rss > 100<<20 {
		t.Errorf("resident %d, %v", rss, err)
	}
	if n, err := p.FDs(); err != nil || n < 4 {
		t.Errorf("%d file descriptors, %v; want 0, 1, 2 and 9", n, err)
	}
}
