package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client"
	"github.com/segd/segd/cmd/segd/daemon"
	"github.com/segd/segd/cmd/segd/man"
	"github.com/segd/segd/cmd/segd/setup"
)

func main() { cli.Main(run) }

// Groups of commands in segd --help.
const (
	groupSetUp   = "setup"
	groupRun     = "run"
	groupTalk    = "talk"
	groupMeasure = "measure"
)

// newRoot returns the whole command line.
func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "segd",
		Short: "Pixel masks of annotated objects in live video, on NATS",
		Long: "segd watches cameras and keeps a pixel mask of each object it follows, live:\n" +
			"what a user marked or segd detects. Every frame's masks go out on NATS, the page on\n" +
			"http://127.0.0.1:8080 shows them, and Prometheus can scrape how it goes.",
		Example: "  segd demo --for 30s             # try it, without a camera\n" +
			"  segd doctor                     # what this machine can do, and what is missing\n" +
			"  segd init                       # write segd.yaml for a camera of your own\n" +
			"  segd check                      # does everything in it answer?\n" +
			"  segd run                        # the daemon",
		Version: version,
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cli.Prepare(root, std)
	talk, measure := toolsCommands(std)
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupSetUp, "Set up:", setup.Commands(std, version)},
		{groupRun, "Run:", daemon.Commands(std, daemon.Version{Number: version, Commit: commit})},
		{groupTalk, "Talk to a running segd:", append(client.Commands(std), talk...)},
		{groupMeasure, "Measure:", measure},
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
	root.AddCommand(versionCommand(std), man.Command(version))
	return root
}

// run executes one command line. It returns when the command has ended, which
// is soon after ctx has.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return cli.Run(ctx, newRoot(cli.Streams{In: stdin, Out: stdout, Err: stderr}), args)
}
