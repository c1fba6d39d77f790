package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/segd/segd/config"
)

// ConfigFlag is the flag that names the configuration.
func ConfigFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "segd.yaml", "configuration file")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flag is there
}

// LoadConfig reads the configuration; what is wrong with it is a usage error.
func LoadConfig(ctx context.Context, file string) (*config.Config, error) {
	cfg, err := config.Load(ctx, file, os.Environ())
	if err != nil {
		return nil, Usage(err)
	}
	return cfg, nil
}
