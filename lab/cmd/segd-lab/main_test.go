package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/features/dnn"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	goleak.VerifyTestMain(m)
}

// start runs segd-lab with args in this process, as main would.
func start(t *testing.T, args ...string) *clitest.Command {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error { return run(ctx, args, in, out, err) })
}

// refuses wants a command to end with that status, and an error with all that is wanted.
func refuses(t *testing.T, status int, want []string, args ...string) {
	t.Helper()
	err := start(t, args...).Wait(t)
	if cli.Status(err) != status {
		t.Fatalf("exit status %d of %v; want %d", cli.Status(err), err, status)
	}
	for _, part := range want {
		assert.ErrorContains(t, err, part)
	}
}

func TestHelp(t *testing.T) {
	clitest.Help(t, func() *cobra.Command { return newRoot(clitest.Silent()) }, 12)
}

// What is typed wrongly is told as segd eval is typed.
func TestMistyped(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"davs", `unknown command "davs" for "segd eval" (did you mean davis?); see segd eval --help`},
		{"davis", `required flag(s) "root" not set; see segd eval davis --help`},
		{"moons --sed 3", "unknown flag: --sed (did you mean --seed?); see segd eval moons --help"},
	} {
		err := run(t.Context(), strings.Fields(tc.line), strings.NewReader(""), io.Discard, io.Discard)
		if err == nil || err.Error() != tc.want || cli.Status(err) != cli.ExitUsage {
			t.Errorf("segd eval %s: %v, want %s", tc.line, err, tc.want)
		}
	}
}
