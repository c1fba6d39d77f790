// Package harness is what tests of the whole are made of: bin/segd with a configuration,
// the demo, cameras of FFmpeg, a NATS server, each a process of its own on free ports
// that ends with the test and whose words are kept in the test's artefacts.
//
// Functions that take a testing.TB end the test when they fail, and are for its own
// goroutine; methods return errors and may be called from any, one at a time for each
// thing that is started and ended.
package harness

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/segd/segd/e2e/process"
	"github.com/segd/segd/internal/freeport"
)

var program = flag.String("segd", "bin/segd", "the segd to try, relative to the repository's root")

// Root returns the folder of the repository.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "e2e", "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			tb.Fatalf("harness: no folder above %s has e2e/go.mod", dir)
		}
	}
}

// Program returns the path of the segd to try. One that is not there fails the test.
func Program(tb testing.TB) string {
	tb.Helper()
	path := *program
	if !filepath.IsAbs(path) {
		path = filepath.Join(Root(tb), path)
	}
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("harness: no segd to try: %v; make build makes it, -segd FILE names another", err)
	}
	return path
}

// Process is a program of the test's.
type Process struct {
	*process.Process
	// Log is the file that takes what it says.
	Log string
}

// logTail is how much of what a program said is shown when a test fails.
const logTail = 4 << 10

// Start runs a program until the test ends. What it says goes to NAME.log in the test's
// artefacts, after what was there; the end of it is shown if the test fails.
func Start(tb testing.TB, name, program string, args ...string) *Process {
	tb.Helper()
	return StartCommand(tb, name, exec.Command(program, args...))
}

// StartCommand is Start of a command with a folder or an environment of its own.
func StartCommand(tb testing.TB, name string, cmd *exec.Cmd) *Process {
	tb.Helper()
	p, err := start(tb, name, cmd)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// start is StartCommand for any goroutine.
func start(tb testing.TB, name string, cmd *exec.Cmd) (*Process, error) {
	log := filepath.Join(tb.ArtifactDir(), name+".log")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the program has its own
	cmd.Stdout, cmd.Stderr = file, file
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	started := &Process{Process: p, Log: log}
	tb.Cleanup(func() {
		p.End()
		if tb.Failed() {
			tb.Logf("the end of what %s said:\n%s", name, started.said(logTail))
		}
	})
	return started, nil
}

// said returns the end of what it said.
func (p *Process) said(most int) []byte {
	data, _ := os.ReadFile(p.Log)
	if len(data) > most {
		data = data[len(data)-most:]
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
	}
	return data
}

// FreeAddrs returns n host:ports of loopback that are free.
func FreeAddrs(tb testing.TB, n int) []string {
	tb.Helper()
	addrs, err := freeport.Addrs(n)
	if err != nil {
		tb.Fatal(err)
	}
	return addrs
}

// poll is how often Wait asks.
const poll = 50 * time.Millisecond

// Wait asks until there is no error, and returns the last one after the time limit or
// at the end of ctx.
func Wait(ctx context.Context, limit time.Duration, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if Pause(ctx, poll) != nil {
			return fmt.Errorf("%s: not within %v: %w", what, limit, err)
		}
	}
}

// Until is Wait that ends the test.
func Until(tb testing.TB, limit time.Duration, what string, ask func(context.Context) error) {
	tb.Helper()
	if err := Wait(tb.Context(), limit, what, ask); err != nil {
		tb.Fatal(err)
	}
}

// Pause waits for d, or returns why ctx ended before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func dial(ctx context.Context, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}
