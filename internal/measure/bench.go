package measure

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
)

func benchCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what segd costs on this machine",
		Example: "  segd bench ingest --cameras 16",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(benchIngestCommand(std), benchPipelineCommand(std), benchCrowdCommand(std), benchCamerasCommand(std))
	return cmd
}
