// Package client is the commands that talk to a running segd: over NATS, and to its page
// for pictures.
//
// What answers need not be segd: messages come through package bus, which refuses what
// segd would not send, text goes through cli.Printable before it is shown, and files
// that are named after what came are written through a record.OpenFolder.
package client

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// Commands are those that talk to a running segd.
func Commands(std cli.Streams) []*cobra.Command {
	return []*cobra.Command{
		watchCommand(std), annotateCommand(std), objectsCommand(std), renameCommand(std), keepCommand(std), clearCommand(std), snapshotCommand(std), reloadCommand(std),
		fleetCommand(std), backupCommand(std), restoreCommand(std),
	}
}
