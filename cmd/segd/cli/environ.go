package cli

import (
	"os"

	"github.com/spf13/cobra"
)

// FromEnv has an environment variable set the default of a flag, which takes any text. Help names the variable and
// not its value, which may be a secret.
func FromEnv(cmd *cobra.Command, name, variable string) {
	f := cmd.Flags().Lookup(name)
	f.Usage += " [$" + variable + "]"
	if text := os.Getenv(variable); text != "" {
		_ = f.Value.Set(text) // a text is always taken
	}
}
