// Command segd-tools has the commands of segd that its daemon does not need: record, export and import, for data sets,
// and bench. segd finds it and hands its arguments over: people type segd record.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd-tools/measure"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/man"
)

// version is set by the Makefile.
var version = "devel"

func main() { cli.Main(run) }

// newRoot returns the whole command line.
func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:         "segd-tools",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "segd"},
		Short:       "Commands of segd: data sets and measuring",
		Example:     "  segd export recording --format coco",
		Version:     version,
		Args:        cli.Args,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // segd completion's scripts ask segd, which asks this
	cli.Prepare(root, std)
	root.AddCommand(recordCommand(std), exportCommand(std), importCommand(std), measure.Command(std), man.Command(version))
	return root
}

// run executes one command line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return cli.Run(ctx, newRoot(cli.Streams{In: stdin, Out: stdout, Err: stderr}), args)
}
