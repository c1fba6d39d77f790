package main

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
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/client"
	"github.com/segd/segd/internal/measure"
	"github.com/segd/segd/internal/setup"
)

// garbagePercent is how much garbage may gather beside what is in use: the heap is
// pictures and matrices, in which there is nothing to trace, so that collecting it
// every half a minute takes 10 ms, and memory is what cameras need.
const garbagePercent = 25

func main() {
	dnn.ChildMain() // does not return in the child that tries a model
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	ctx, stop := interruptible()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(cli.Report(os.Stderr, err))
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
			os.Exit(cli.ExitAborted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// Groups of commands in segd --help.
const (
	groupSetUp   = "setup"
	groupRun     = "run"
	groupTalk    = "talk"
	groupMeasure = "measure"
)

// newRoot returns the whole command line. started is called as soon as a command
// does something.
func newRoot(std cli.Streams, started func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "segd",
		Short: "Pixel masks of annotated objects in live video, on NATS",
		Long: "segd watches cameras and keeps a pixel mask of each object it follows, live:\n" +
			"what somebody marked or segd detects. Every frame's masks go out on NATS, the page on\n" +
			"http://127.0.0.1:8080 shows them, and Prometheus can scrape how it goes.",
		Example: "  segd demo --for 30s             # try it, without a camera\n" +
			"  segd doctor                     # what this machine can do, and what is missing\n" +
			"  segd init                       # write segd.yaml for a camera of your own\n" +
			"  segd check                      # does everything in it answer?\n" +
			"  segd run                        # the daemon",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.Args,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupSetUp, "Set up:", setup.Commands(std, version)},
		{groupRun, "Run:", []*cobra.Command{runCommand(std), demoCommand(std)}},
		{groupTalk, "Talk to a running segd:", client.Commands(std)},
		{groupMeasure, "Measure:", measure.Commands(std)},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			if cmd.Name() == "camera" {
				cmd.AddCommand(client.CameraCommands(std)...)
			}
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(versionCommand(std), manCommand())
	each(root, func(cmd *cobra.Command) {
		if do := cmd.RunE; do != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				started()
				return do(cmd, args)
			}
		}
	})
	return root
}

// run executes one command line. It returns when the command has ended, which
// is soon after ctx has.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	started := false
	root := newRoot(cli.Streams{In: stdin, Out: stdout, Err: stderr}, func() { started = true })
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		// Cobra did not get as far as the command: the command line is at fault.
		return cli.Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	return err
}

// each calls f with cmd and all commands below it.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, f)
	}
}
