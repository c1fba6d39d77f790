// Package daemon is segd run and segd demo: what becomes of a configuration.
//
// parts.go builds each part, host.go answers what package cameras asks, serve.go runs all parts and ends them in order,
// and reload.go applies a changed configuration. In a fleet, fleet.go runs the cameras whose leases this box holds, ahead.go
// opens the sources of cameras that this box is about to get, and elsewhere.go hands requests on to the boxes that run other
// cameras, and answers theirs. run.go and demo.go are the commands.
package daemon

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// Version is that of the program.
type Version struct{ Number, Commit string }

// Commands are the daemon and the demo.
func Commands(std cli.Streams, v Version) []*cobra.Command {
	return []*cobra.Command{runCommand(std, v), demoCommand(std, v)}
}
