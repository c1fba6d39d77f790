package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/internal/waitfor"
)

// fake writes to dir a program that says a name and its arguments, and ends with status 7; asked what may follow, it has
// an answer.
func fake(t *testing.T, dir, program, name string) {
	t.Helper()
	const script = "#!/bin/sh\n" +
		`if [ "$1" = ` + cobra.ShellCompRequestCmd + " ]; then echo \"davis\tJ and F\"; echo :4; exit; fi\n" +
		"read line\n" +
		`for a in NAME "$line" "$@"; do echo "[$a]"; done; echo failed >&2; exit 7` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(strings.Replace(script, "NAME", name, 1)), 0o755))
}

// segdIn is a copy of this binary in dir, which is segd.
func segdIn(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(self)
	require.NoError(t, err)
	defer from.Close()
	path := filepath.Join(dir, "segd")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return path
}

// programs are commands of segd that other programs have.
var programs = []struct{ command, program, source string }{
	{"eval", "segd-lab", "make build"},
	{"bench", "segd-tools", "package"},
	{"record", "segd-tools", "package"},
	{"export", "segd-tools", "package"},
	{"import", "segd-tools", "package"},
}

// prefix is what the program is told of the command: the command's name, unless it is the program.
func prefix(command, program string) []string {
	if program == "segd-lab" {
		return nil
	}
	return []string{command}
}

// Another program's command is the program beside segd, or else the first in PATH, with the same arguments, environment,
// streams and exit status.
func TestPrograms(t *testing.T) {
	for _, tt := range programs {
		t.Run(tt.command, func(t *testing.T) {
			beside, elsewhere := t.TempDir(), t.TempDir()
			segd := segdIn(t, beside)
			follow := []string{"davis", "--root", "a folder", "--json", "--help", ""}
			ask := func() (stdout, stderr string, status int) {
				cmd := exec.CommandContext(t.Context(), segd, append([]string{tt.command}, follow...)...)
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
				stdout, stderr, status := ask()
				var want strings.Builder
				for _, word := range slices.Concat([]string{name, "typed"}, prefix(tt.command, tt.program), follow) {
					fmt.Fprintf(&want, "[%s]\n", word)
				}
				if stdout != want.String() || stderr != "failed\n" || status != 7 {
					t.Errorf("status %d, %q and %q; want 7, %q and \"failed\\n\"", status, stdout, stderr, want.String())
				}
			}

			if stdout, stderr, status := ask(); status != cli.ExitFailure || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!clitest.LineWith(stderr, []string{"segd: " + tt.program + " is not installed", filepath.Join(beside, tt.program), "PATH", "segd " + tt.command, tt.source}) {
				t.Errorf("without %s: status %d, %q and %q", tt.program, status, stdout, stderr)
			}
			fake(t, elsewhere, tt.program, "elsewhere")
			want("elsewhere")
			fake(t, beside, tt.program, "beside")
			want("beside")
			require.NoError(t, os.Chmod(filepath.Join(beside, tt.program), 0o644))
			if _, stderr, status := ask(); status != cli.ExitFailure || !clitest.LineWith(stderr, []string{tt.program, "permission denied"}) {
				t.Errorf("with one that may not be run: status %d, %q", status, stderr)
			}
		})
	}
}

// A signal to segd is one to the program: it is the same process.
func TestProgramSignal(t *testing.T) {
	dir := t.TempDir()
	segd := segdIn(t, dir)
	const script = "#!/bin/sh\ntrap 'echo stopped; exit 3' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "segd-tools"), []byte(script), 0o755))
	cmd := exec.CommandContext(t.Context(), segd, "record", "gate", dir)
	var out clitest.Output
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	waitfor.True(t, "the program", func() bool { return out.String() == "ready\n" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	if _ = cmd.Wait(); out.String() != "ready\nstopped\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("it said %q and ended with %d", out.String(), cmd.ProcessState.ExitCode())
	}
}

// segd eval camera asks a running segd, and its help is its own, whatever segd-lab there is.
func TestEvalCamera(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	fake(t, dir, "segd-lab", "lab")
	var out bytes.Buffer
	err := run(t.Context(), []string{"eval", "camera", "gate", "--page", "nowhere"}, strings.NewReader(""), &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `--page "nowhere"; accepted: such as http://127.0.0.1:8080`) || cli.Status(err) != cli.ExitUsage {
		t.Errorf("%v, %q", err, &out)
	}
	for _, line := range []string{"eval camera --help", "help eval camera"} {
		out.Reset()
		if err := run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, io.Discard); err != nil || !strings.Contains(out.String(), "segd eval camera gate --json") {
			t.Errorf("segd %s: %v, %q", line, err, &out)
		}
	}
}

// The program says what may follow its command, and its help is that of segd help; where it is not there, segd has one
// of its own.
func TestProgramsHelp(t *testing.T) {
	said := func(args ...string) string {
		var out bytes.Buffer
		assert.NoError(t, run(t.Context(), args, strings.NewReader(""), &out, io.Discard), "segd %q", args)
		return out.String()
	}
	path := os.Getenv("PATH")
	for _, tt := range programs {
		dir := t.TempDir()
		t.Setenv("PATH", dir+":"+path)
		if got := said("help", tt.command); !strings.Contains(got, "Runs "+tt.program) || !strings.Contains(got, tt.source) {
			t.Errorf("help without %s: %q", tt.program, got)
		}
		own := "" // what segd has itself
		if tt.command == "eval" {
			own = "camera\tSay how good the masks of your own camera are\n"
		}
		assert.Equal(t, own+":4\n", said(cobra.ShellCompRequestCmd, tt.command, ""), "completion without %s", tt.program)
		fake(t, dir, tt.program, "it")
		assert.Equal(t, "davis\tJ and F\n:4\n", said(cobra.ShellCompRequestCmd, tt.command, "d"), "completion")
		require.NoError(t, os.WriteFile(filepath.Join(dir, tt.program), []byte("#!/bin/sh\necho \"it says $@\"\n"), 0o755))
		want := strings.Join(append([]string{"it says help"}, prefix(tt.command, tt.program)...), " ")
		for follows, want := range map[string]string{"": want + "\n", " mot score": want + " mot score\n"} { //nolint:gocritic // the space is what is between
			assert.Equal(t, want, said(strings.Fields("help "+tt.command+follows)...), "help %s%s", tt.command, follows)
		}
	}
}
