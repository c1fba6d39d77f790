package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/features/dnn"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main() // and segd itself, where a test wants a process
	}
	goleak.VerifyTestMain(m)
}

// start runs segd with args in this process, as main would.
func start(t *testing.T, args ...string) *clitest.Command {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error { return run(ctx, args, in, out, err) })
}
