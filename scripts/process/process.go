// Package process is what programs that look at segd from outside are made of: a main
// that Ctrl-C ends in order, children that end with it, and the demo as one of them.
package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Main is the main function of a program: it calls run, whose context ends with Ctrl-C
// or SIGTERM, and exits with 1, after a line that begins with name, if it fails.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
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

// endGrace is how long a program may take to end by itself before it is killed.
const endGrace = 10 * time.Second

// Process is a program this one started, with its children.
type Process struct {
	// Exited is closed when it has ended.
	Exited chan struct{}

	cmd *exec.Cmd
}

// Run runs a program in a process group of its own, so that a Ctrl-C reaches
// it only through End, and its children end with it. The end of ctx does not
// end it: it is asked first.
func Run(ctx context.Context, stderr io.Writer, name string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(context.WithoutCancel(ctx), name, args...), Exited: make(chan struct{})}
	p.cmd.Stderr = stderr
	p.cmd.Stdout = stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		defer close(p.Exited)
		_ = p.cmd.Wait() // how it ended shows in what it was wanted for
	}()
	return p, nil
}

// Get returns what a URL answers, with whatever status.
func Get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}

// Suspend stops the program and its children where they are.
func (p *Process) Suspend() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGSTOP) }

// End asks the program to end, kills it and its children if it does not, and
// returns when it is gone.
func (p *Process) End() {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(group, syscall.SIGCONT) // what is suspended could not end
	select {
	case <-p.Exited:
	case <-time.After(endGrace):
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // whatever is left of the group
	<-p.Exited
}

// FreeAddrs asks the system for n free ports on loopback. Somebody else could take
// one before it is used; then whoever wanted it says so.
func FreeAddrs(ctx context.Context, n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
