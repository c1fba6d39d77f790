package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
)

// version is set by the Makefile.
var version = "devel"

func versionCommand(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  segd version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "segd %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
