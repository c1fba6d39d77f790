package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/segd/segd/features/dnn"
)

// garbagePercent is how much garbage may gather beside what is in use: the heap is
// pictures and matrices, in which there is nothing to trace, so that collecting it
// every half a minute takes 10 ms, and memory is what cameras need.
const garbagePercent = 10

// Main is what a program does: it runs the process' command line, says what went wrong, and ends the
// process with the exit status of that.
func Main(run func(ctx context.Context, args []string, in io.Reader, out, err io.Writer) error) {
	dnn.ChildMain() // does not return in the child that tries a model
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	ctx, stop := interruptible()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(Report(os.Stderr, err))
}

// interruptible returns a context that the first SIGINT or SIGTERM ends. The
// second ends the process.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(ExitAborted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// Prepare has the commands of root, added or to be, read and write there, and leave it to the caller of Run
// to say what went wrong.
func Prepare(root *cobra.Command, std Streams) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(FlagError)
}

// Run executes one command line of root, which is used up. It returns when the command has ended, which
// is soon after ctx has.
func Run(ctx context.Context, root *cobra.Command, args []string) error {
	started := false
	Each(root, func(cmd *cobra.Command) {
		if do := cmd.RunE; do != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				started = true
				return do(cmd, args)
			}
		}
	})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		// Cobra did not get as far as the command: the command line is at fault.
		return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	return err
}

// Each calls f with cmd and all commands below it.
func Each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		Each(sub, f)
	}
}
