// Package clitest runs commands in tests.
package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/segd/segd/internal/waitfor"
)

// Output is a writer that can be read meanwhile.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Command is a command that runs in this process.
type Command struct {
	Out, Err Output
	Cancel   context.CancelFunc

	done chan error
}

// Start runs a command, with nothing to read, until it ends or the test does. What it wrote is told
// where the test has failed.
func Start(t *testing.T, run func(ctx context.Context, in io.Reader, out, err io.Writer) error) *Command {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &Command{Cancel: cancel, done: make(chan error, 1)}
	go func() { c.done <- run(ctx, strings.NewReader(""), &c.Out, &c.Err) }()
	t.Cleanup(func() {
		cancel()
		err := c.Wait(t) // how it ended is for the test to ask
		if t.Failed() {
			t.Logf("the command: %v; it wrote\n%s%s", err, c.Out.String(), c.Err.String())
		}
	})
	return c
}

// Ended returns whether the command has ended by now.
func (c *Command) Ended() bool { return len(c.done) > 0 }

// Wait returns the command's error.
func (c *Command) Wait(t *testing.T) error {
	t.Helper()
	err := waitfor.Next(t, "the command to end", c.done)
	c.done <- err
	return err
}

// File writes text to a file of that name and returns its path.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// LineWith says whether a line of text has all parts.
func LineWith(text string, parts []string) bool {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}
