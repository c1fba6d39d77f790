package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// version is set by the Makefile.
var version = "devel"

func main() { cli.Main(run) }

// newRoot returns the whole command line.
func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:         "segd-lab",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "segd eval"},
		Short:       "Measure segd on benchmark data",
		Long:        "segd eval camera CAMERA says how good the masks of your own camera are.\nThe others measure segd on benchmark data.",
		Example: "  segd eval davis --root DAVIS\n" +
			"  segd eval moons --seeds 10",
		Version: version,
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // segd completion's scripts ask segd, which asks this
	cli.Prepare(root, std)
	root.AddCommand(davisCommand(std), ablationCommand(std), scribblesCommand(std), foregroundCommand(std), motCommand(std), privacyCommand(std), soakCommand(std), moonsCommand(std), sslCommand(std))
	return root
}

// run executes one command line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return cli.Run(ctx, newRoot(cli.Streams{In: stdin, Out: stdout, Err: stderr}), args)
}
