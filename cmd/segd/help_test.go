package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
)

// silentRoot is the whole command line, which reads and writes nothing.
func silentRoot() *cobra.Command { return newRoot(clitest.Silent()) }

func TestHelp(t *testing.T) { clitest.Help(t, silentRoot, 20) }

// What is typed wrongly is told with what was probably meant, and where help is.
func TestMistyped(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"wach gate", `unknown command "wach" for "segd" (did you mean watch?); see segd --help`},
		{"camera ad yard whip:", `unknown command "ad" for "segd camera" (did you mean add?); see segd camera --help`},
		{"fleet xyz", `unknown command "xyz" for "segd fleet"; see segd fleet --help`},
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
		require.NoError(t, run(t.Context(), []string{"completion", shell}, strings.NewReader(""), &out, io.Discard))
		if !strings.Contains(out.String(), "__segd") && !strings.Contains(out.String(), "_segd") {
			t.Errorf("%s: %.200s", shell, out.String())
		}
	}
	// What the scripts ask segd for.
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{cobra.ShellCompRequestCmd, "do"}, strings.NewReader(""), &out, io.Discard))
	assert.Contains(t, out.String(), "doctor\t", "\"segd do\" is completed by")
}

func TestMan(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	require.NoError(t, run(t.Context(), []string{"man", dir}, strings.NewReader(""), io.Discard, io.Discard))
	var want []string
	clitest.Commands(silentRoot(), func(cmd *cobra.Command) {
		want = append(want, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	for _, name := range want {
		assert.Contains(t, got, name, "no page %s among", name)
	}
	page, err := os.ReadFile(filepath.Join(dir, "segd-annotate.1"))
	require.NoError(t, err)
	for _, part := range []string{`"Jan 1970"`, ".SH EXAMPLE", `segd annotate gate mask.png`, `"width": 768`, ".EX"} {
		if !bytes.Contains(page, []byte(part)) {
			t.Errorf("segd-annotate.1 has no %s:\n%s", part, page)
		}
	}
}
