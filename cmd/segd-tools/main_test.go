package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon"
	"github.com/segd/segd/features/dnn"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if os.Args[1] == "run" {
			cli.Main(runSegd) // and the segd that is measured
		}
		main() // and segd-tools itself, where a test wants a process
	}
	goleak.VerifyTestMain(m)
}

// runSegd is segd, as far as it is measured.
func runSegd(ctx context.Context, args []string, in io.Reader, out, err io.Writer) error {
	std := cli.Streams{In: in, Out: out, Err: err}
	root := &cobra.Command{Use: "segd"}
	cli.Prepare(root, std)
	root.AddCommand(daemon.Commands(std, daemon.Version{})...)
	return cli.Run(ctx, root, args)
}

// start runs segd-tools with args in this process, as main would.
func start(t *testing.T, args ...string) *clitest.Command {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error { return run(ctx, args, in, out, err) })
}

func silentRoot() *cobra.Command { return newRoot(clitest.Silent()) }

func TestHelp(t *testing.T) { clitest.Help(t, silentRoot, 10) }

// segd lists the commands as they are here.
func TestListed(t *testing.T) {
	text, err := os.ReadFile("../segd/program.go")
	require.NoError(t, err)
	for _, cmd := range silentRoot().Commands() {
		if !cmd.Hidden && !(strings.Contains(string(text), strconv.Quote(cmd.Use)) && strings.Contains(string(text), strconv.Quote(cmd.Short))) {
			t.Errorf("segd does not list %q, %q", cmd.Use, cmd.Short)
		}
	}
}

// The pages are those of segd's commands; that of segd is not written here.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"man", dir}, strings.NewReader(""), io.Discard, io.Discard))
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for i := range pages {
		pages[i] = filepath.Base(pages[i])
	}
	const want = "segd-bench-crowd.1 segd-bench-ingest.1 segd-bench-pipeline.1 segd-bench.1 segd-export.1 segd-import.1 segd-record.1"
	assert.Equal(t, want, strings.Join(pages, " "), "pages")
}
