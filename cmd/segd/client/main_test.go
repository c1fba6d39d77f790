package client

import (
	"context"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, args ...string) *clitest.Command {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error {
		root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands(cli.Streams{In: in, Out: out, Err: err})...)
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	})
}
