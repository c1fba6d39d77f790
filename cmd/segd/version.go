package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// version and commit are set by the Makefile, from scripts/version and git.
var (
	version = "devel"
	commit  string
)

// versionReport is what `segd version --json` prints. Its fields are stable.
type versionReport struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // "" if it was built where git knows nothing
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the commit it was built from",
		Example: "  segd version\n  segd version --json",
		Args:    cli.Args,
		RunE: func(*cobra.Command, []string) error {
			v := versionReport{version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return cli.WriteJSON(std.Out, v)
			}
			_, err := fmt.Fprintf(std.Out, "segd %s (commit %s, %s %s/%s)\n", v.Version, cmp.Or(v.Commit, "unknown"), v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output")
	return cmd
}
