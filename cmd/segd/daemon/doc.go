// Package daemon is segd run and segd demo: what becomes of a configuration.
//
// parts.go has how each part is built, host.go what the cameras ask of it, serve.go how all of it runs, and in which order
// it ends, reload.go what a changed configuration changes. In a fleet fleet.go runs the cameras whose leases this box has,
// ahead.go the sources of those that it is about to get, and elsewhere.go has what is told of cameras on other boxes.
// run.go and demo.go are the commands.
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
