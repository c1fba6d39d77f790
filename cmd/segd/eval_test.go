package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// fakeLab writes to dir a segd-lab that says its name and its arguments, and ends with status 7; asked what may
// follow, it has an answer.
func fakeLab(t *testing.T, dir, name string) {
	t.Helper()
	const script = "#!/bin/sh\n" +
		`if [ "$1" = ` + cobra.ShellCompRequestCmd + " ]; then echo \"davis\tJ and F\"; echo :4; exit; fi\n" +
		"read line\n" +
		`for a in NAME "$line" "$@"; do echo "[$a]"; done; echo failed >&2; exit 7` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "segd-lab"), []byte(strings.Replace(script, "NAME", name, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// segdIn is a copy of this binary in dir, which is segd.
func segdIn(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "segd")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// segd eval is the segd-lab beside segd, or else the first in PATH, with the same arguments, streams and exit
// status.
func TestEval(t *testing.T) {
	beside, elsewhere := t.TempDir(), t.TempDir()
	segd := segdIn(t, beside)
	args := []string{"eval", "davis", "--root", "a folder", "--json", "--help", ""}
	eval := func() (stdout, stderr string, status int) {
		cmd := exec.CommandContext(t.Context(), segd, args...)
		cmd.Env = append(os.Environ(), "PATH="+elsewhere+":"+os.Getenv("PATH"))
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("typed\n"), &out, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	want := func(name string) {
		t.Helper()
		stdout, stderr, status := eval()
		if want := "[" + name + "]\n[typed]\n[davis]\n[--root]\n[a folder]\n[--json]\n[--help]\n[]\n"; stdout != want || stderr != "failed\n" || status != 7 {
			t.Errorf("status %d, %q and %q; want 7, %q and \"failed\\n\"", status, stdout, stderr, want)
		}
	}

	if stdout, stderr, status := eval(); status != cli.ExitFailure || stdout != "" ||
		!lineWith(stderr, []string{"segd: segd eval is in segd-lab, which is not installed", filepath.Join(beside, "segd-lab"), "PATH", "make build"}) {
		t.Errorf("without segd-lab: status %d, %q and %q", status, stdout, stderr)
	}
	fakeLab(t, elsewhere, "elsewhere")
	want("elsewhere")
	fakeLab(t, beside, "beside")
	want("beside")
	if err := os.Chmod(filepath.Join(beside, "segd-lab"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := eval(); status != cli.ExitFailure || !lineWith(stderr, []string{"segd-lab", "permission denied"}) {
		t.Errorf("with one that may not be run: status %d, %q", status, stderr)
	}
}

// segd-lab says what may follow segd eval, and its help is the one of segd help eval; where it is not there, segd has
// one of its own.
func TestEvalHelp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	said := func(args ...string) string {
		var out bytes.Buffer
		if err := run(t.Context(), args, strings.NewReader(""), &out, io.Discard); err != nil {
			t.Errorf("segd %q: %v", args, err)
		}
		return out.String()
	}
	if got := said("help", "eval"); !strings.Contains(got, "It is built with segd from source") {
		t.Errorf("help without segd-lab: %q", got)
	}
	if got := said(cobra.ShellCompRequestCmd, "eval", ""); got != ":4\n" {
		t.Errorf("completion without segd-lab: %q", got)
	}
	fakeLab(t, dir, "lab")
	if got := said(cobra.ShellCompRequestCmd, "eval", "d"); got != "davis\tJ and F\n:4\n" {
		t.Errorf("completion: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "segd-lab"), []byte("#!/bin/sh\necho \"the lab's $@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"help eval": "help\n", "help eval mot score": "help mot score\n"} {
		if got := said(strings.Fields(line)...); got != "the lab's "+want {
			t.Errorf("%s: %q; want %q", line, got, want)
		}
	}
}
