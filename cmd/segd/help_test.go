package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
)

// words splits a line as a shell would, as far as examples need it.
func words(line string) []string {
	var list []string
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		if w == "#" || w == "&&" || strings.HasPrefix(w, "<") || strings.HasPrefix(w, ">") {
			break
		}
		list = append(list, strings.Trim(w, "'"))
	}
	return list
}

func silent() cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
}

// commandsOf calls f with every command that people see and can run.
func commandsOf(root *cobra.Command, f func(*cobra.Command)) {
	each(root, func(cmd *cobra.Command) {
		if !cmd.Hidden && cmd.Runnable() {
			f(cmd)
		}
	})
}

// Every command says what it is for and gives examples, and each of them is a
// command line that segd takes.
func TestHelp(t *testing.T) {
	examples := 0
	commandsOf(newRoot(silent(), func() {}), func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: summary %q", name, cmd.Short)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 90 {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
		own := 0
		for line := range strings.Lines(cmd.Example) {
			i := strings.Index(line, "segd ")
			if i < 0 {
				t.Errorf("%s: example %q", name, line)
				continue
			}
			args := words(line[i:])[1:]
			root := newRoot(silent(), func() {})
			called, rest, err := root.Find(args)
			if err == nil {
				err = called.ParseFlags(rest)
			}
			if err == nil {
				err = called.ValidateArgs(called.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: example %q: %v", name, strings.TrimSpace(line), err)
				continue
			}
			if strings.HasPrefix(called.CommandPath(), name) {
				own++
			}
			examples++
		}
		if own == 0 {
			t.Errorf("%s has no example of itself", name)
		}
	})
	if examples < 20 {
		t.Errorf("only %d examples were tried", examples)
	}
}

// What is typed wrongly is told with what was probably meant, and where help is.
func TestMistyped(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"wach gate", `unknown command "wach" for "segd" (did you mean watch?); see segd --help`},
		{"camera ad yard whip:", `unknown command "ad" for "segd camera" (did you mean add?); see segd camera --help`},
		{"fleet xyz", `unknown command "xyz" for "segd fleet"; see segd fleet --help`},
		{"eval davs", `unknown command "davs" for "segd eval" (did you mean davis?); see segd eval --help`},
		{"watch gate --natz x", "unknown flag: --natz (did you mean --nats?); see segd watch --help"},
		{"run --confg x", "unknown flag: --confg (did you mean --config?); see segd run --help"},
		{"run --xyz", "unknown flag: --xyz; see segd run --help"},
		{"watch", "CAMERA|SUBJECT is missing; accepted: segd watch CAMERA|SUBJECT; see segd watch --help"},
		{"init gate", `"gate" is one argument too many; accepted: segd init; see segd init --help`},
	} {
		err := run(t.Context(), strings.Fields(tc.line), strings.NewReader(""), io.Discard, io.Discard)
		if err == nil || err.Error() != tc.want || cli.Status(err) != cli.ExitUsage {
			t.Errorf("segd %s: %v, want %s", tc.line, err, tc.want)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "__segd") && !strings.Contains(out.String(), "_segd") {
			t.Errorf("%s: %.200s", shell, out.String())
		}
	}
	// What the scripts ask segd for.
	var out bytes.Buffer
	if err := run(t.Context(), []string{cobra.ShellCompRequestCmd, "do"}, strings.NewReader(""), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "doctor\t") {
		t.Errorf("\"segd do\" is completed by %q", out.String())
	}
}

func TestMan(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if err := run(t.Context(), []string{"man", dir}, strings.NewReader(""), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var want []string
	commandsOf(newRoot(silent(), func() {}), func(cmd *cobra.Command) {
		want = append(want, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("no page %s among %q", name, got)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "segd-annotate.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"Jan 1970"`, ".SH EXAMPLE", `segd annotate gate mask.png`, `"width": 768`, ".EX"} {
		if !bytes.Contains(page, []byte(part)) {
			t.Errorf("segd-annotate.1 has no %s:\n%s", part, page)
		}
	}
}
