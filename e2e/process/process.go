// Package process starts programs that end with their parent, their children
// included, and looks at them from outside. It is what harness, browser and the tools
// have in common; tests use harness.
package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endGrace is how long a program may take to end by itself before it is killed.
const endGrace = 10 * time.Second

// Process is a running program, with its children.
type Process struct {
	// Exited is closed when it has ended.
	Exited chan struct{}

	cmd *exec.Cmd
	err error
}

// Start runs cmd in a process group of its own, so that a Ctrl-C reaches it only
// through End, and its children end with it.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, Exited: make(chan struct{})}
	// A test that runs into its time limit calls no cleanup: the kernel ends the program
	// then. It does so when the thread that started it is gone, hence the lock below.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(p.Exited)
		p.err = cmd.Wait()
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // whatever is left of the group
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Run is Start of the program called name, which says what it says to w.
func Run(w io.Writer, name string, args ...string) (*Process, error) {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = w, w
	return Start(cmd)
}

// PID is its process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Err is how it ended, as exec.Cmd.Wait says it; nil before Exited.
func (p *Process) Err() error {
	if !p.ended() {
		return nil
	}
	return p.err
}

// Suspend stops the program and its children where they are.
func (p *Process) Suspend() error { return syscall.Kill(-p.PID(), syscall.SIGSTOP) }

// Continue lets go on what Suspend has stopped.
func (p *Process) Continue() error { return syscall.Kill(-p.PID(), syscall.SIGCONT) }

// Kill ends the program and its children as a power cut would, and returns when they
// are gone.
func (p *Process) Kill() {
	if !p.ended() {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	}
	<-p.Exited
}

// End asks the program to end, kills it and its children if it does not, and returns
// when they are gone. It may be called more than once.
func (p *Process) End() {
	if p.ended() {
		return
	}
	_ = syscall.Kill(p.PID(), syscall.SIGTERM)
	_ = p.Continue() // what is suspended could not end
	select {
	case <-p.Exited:
	case <-time.After(endGrace):
		p.Kill()
	}
}

// ended tells whether it is gone; its number may be another's then.
func (p *Process) ended() bool {
	select {
	case <-p.Exited:
		return true
	default:
		return false
	}
}

// RSS is its resident memory in bytes, without its children's.
func (p *Process) RSS() (int64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID()), "statm"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of %d: %q", p.PID(), data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// FDs is how many file descriptors it has open.
func (p *Process) FDs() (int, error) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.PID()), "fd"))
	return len(entries), err
}
