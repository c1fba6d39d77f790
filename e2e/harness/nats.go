package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// NATS is a NATS server of the test's, with JetStream, whose files outlive it.
type NATS struct {
	*Process
	// URL is where it listens, Store the folder of its files.
	URL, Store string

	tb                 testing.TB
	name, path, config string
	args               []string // beside the configuration
}

// StartNATS starts one; conf, which may be empty, are further lines of its
// configuration.
func StartNATS(tb testing.TB, conf string) *NATS {
	tb.Helper()
	return StartNATSIn(tb, tb.TempDir(), conf)
}

// StartNATSIn is StartNATS with its files in a folder that is there.
func StartNATSIn(tb testing.TB, store, conf string) *NATS {
	tb.Helper()
	// With a limit of its own: else one that starts while the disk is full takes none as its
	// limit, and never stores anything.
	n := newNATS(tb, "nats-server", FreeAddrs(tb, 1)[0], store, 128, conf)
	if err := n.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return n
}

// StartCompose starts one with the configuration of the compose file, on a port and in a folder of its own. Its users
// have the passwords of the environment.
func StartCompose(tb testing.TB) *NATS {
	tb.Helper()
	const store = "store_dir: /data"
	text, err := os.ReadFile(filepath.Join(Root(tb), "deploy", "compose", "nats.conf"))
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(string(text), store) {
		tb.Fatalf("harness: nats.conf of the compose file has no %q", store)
	}
	n := newNATS(tb, "nats-server", FreeAddrs(tb, 1)[0], tb.TempDir(), 0, "")
	own := strings.Replace(string(text), store, fmt.Sprintf("store_dir: %q", n.Store), 1)
	if err := os.WriteFile(n.config, []byte(own), 0o600); err != nil {
		tb.Fatal(err)
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(n.URL, "nats://"))
	if err != nil {
		tb.Fatal(err)
	}
	n.args = []string{"-a", host, "-p", port}
	if err := n.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return n
}

// newNATS is one that has not been started yet, which may store so many megabytes.
func newNATS(tb testing.TB, name, addr, store string, megabytes int, conf string) *NATS {
	tb.Helper()
	// Built from the version in go.mod, and kept by the go command.
	tool := exec.Command("go", "tool", "-n", "nats-server")
	tool.Dir, tool.Stderr = filepath.Join(Root(tb), "e2e"), tb.Output()
	path, err := tool.Output()
	if err != nil {
		tb.Fatalf("harness: building nats-server: %v", err)
	}
	n := &NATS{URL: "nats://" + addr, Store: store, tb: tb, name: name, path: strings.TrimSpace(string(path))}
	n.config = filepath.Join(n.Store, "nats.conf")
	text := fmt.Sprintf("listen: %q\njetstream: {store_dir: %q, max_file_store: %dMB}\n%s\n", addr, n.Store, megabytes, conf)
	if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return n
}

// Start starts it again after it has ended, on its files, and waits until it listens.
func (n *NATS) Start(ctx context.Context) (err error) {
	if n.Process, err = start(n.tb, n.name, exec.Command(n.path, append([]string{"-c", n.config}, n.args...)...)); err != nil {
		return err
	}
	return Wait(ctx, StartLimit, "nats-server", func(ctx context.Context) error {
		d, err := dial(ctx, strings.TrimPrefix(n.URL, "nats://"))
		if err == nil {
			_ = d.Close()
		}
		return err
	})
}

// Connect connects to a NATS server, for as long as the test runs; it waits for the
// server and comes back to it by itself.
func Connect(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	var conn *nats.Conn
	options = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond)}, options...)
	Until(tb, StartLimit, "NATS at "+url, func(context.Context) (err error) {
		conn, err = nats.Connect(url, options...)
		return err
	})
	tb.Cleanup(conn.Close)
	return conn
}
