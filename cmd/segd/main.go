package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/pipeline"
)

// garbagePercent is how much garbage may gather beside what is in use: the heap is
// pictures and matrices, in which there is nothing to trace, so that collecting it
// every half a minute takes 10 ms, and memory is what cameras need.
const garbagePercent = 25

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2   // the command line or the configuration has to be changed
	exitAborted = 130 // a second signal
)

func main() {
	dnn.ChildMain() // does not return in the child that tries a model
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	ctx, stop := interruptible()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(report(os.Stderr, err))
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
			os.Exit(exitAborted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// usageError is a fault of what was asked for: of the command line, or of a file
// it names.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// status is the exit status that err deserves.
func status(err error) int {
	var usage usageError
	var faults config.Faults
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &faults),
		errors.Is(err, ingest.ErrConfig),
		errors.Is(err, annotation.ErrInvalid), errors.Is(err, pipeline.ErrAnnotate),
		errors.Is(err, dnn.ErrRefused),
		errors.Is(err, bus.ErrName), errors.Is(err, bus.ErrUnknownCamera), errors.Is(err, bus.ErrRejected):
		return exitUsage
	}
	return exitFailure
}

// report prints err, a line each fault, and returns the exit status.
func report(w io.Writer, err error) int {
	if err != nil {
		name := styleOf(w).bad("segd:")
		for line := range strings.Lines(err.Error()) {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(w, "%s %s\n", name, printable(line))
			}
		}
	}
	return status(err)
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
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
func newRoot(std streams, started func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "segd",
		Short: "Pixel masks of annotated objects in live video, on NATS",
		Long: "segd watches cameras and keeps a pixel mask of each object it was told about, live.\n" +
			"Somebody marks an object once; from then on every frame's mask goes out on NATS, the\n" +
			"page on http://127.0.0.1:8080 shows it, and Prometheus can scrape how it goes.",
		Example: "  segd demo --for 30s             # try it, without a camera\n" +
			"  segd doctor                     # what this machine can do, and what is missing\n" +
			"  segd init                       # write segd.yaml for a camera of your own\n" +
			"  segd check                      # does everything in it answer?\n" +
			"  segd run                        # the daemon",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupSetUp, "Set up:", []*cobra.Command{initCommand(std), checkCommand(std), doctorCommand(std)}},
		{groupRun, "Run:", []*cobra.Command{runCommand(std), demoCommand(std)}},
		{groupTalk, "Talk to a running segd:", []*cobra.Command{
			watchCommand(std), annotateCommand(std), objectsCommand(std), renameCommand(std), clearCommand(std), snapshotCommand(std),
		}},
		{groupMeasure, "Measure:", []*cobra.Command{benchCommand(std), evalCommand(std), modelCommand(std)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
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
	root := newRoot(streams{stdin, stdout, stderr}, func() { started = true })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		// Cobra did not get as far as the command: the command line is at fault.
		return usageError{fmt.Errorf("%w; see segd --help", err)}
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
