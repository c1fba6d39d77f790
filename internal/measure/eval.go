package measure

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
)

func evalCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure segd on benchmark data",
		Example: "  segd eval davis --root DAVIS\n" +
			"  segd eval moons --seeds 10",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(evalDavisCommand(std), evalScribblesCommand(std), evalMotCommand(std), evalSoakCommand(std), evalMoonsCommand(std), evalSSLCommand(std))
	return cmd
}
