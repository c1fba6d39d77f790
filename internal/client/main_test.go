package client

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/segd/segd/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a writer that can be read meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is one of Commands that runs.
type command struct {
	out, err output
	cancel   context.CancelFunc
	done     chan error
}

func start(t *testing.T, args ...string) *command {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &command{cancel: cancel, done: make(chan error, 1)}
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands(cli.Streams{In: strings.NewReader(""), Out: &c.out, Err: &c.err})...)
	root.SetArgs(args)
	go func() { c.done <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		c.wait(t, time.Minute)
	})
	return c
}

// wait returns the command's error.
func (c *command) wait(t *testing.T, most time.Duration) error {
	t.Helper()
	select {
	case err := <-c.done:
		c.done <- err
		return err
	case <-time.After(most):
		t.Errorf("the command has not ended after %v; it wrote\n%s%s", most, c.out.String(), c.err.String())
		return errors.New("not ended")
	}
}

// until waits for something to become true.
func until(t *testing.T, most time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", most, what)
		}
	}
}

// file writes text to a file of that name and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
