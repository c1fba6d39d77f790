// Package measure is the commands that give figures: bench on what segd costs here, model on
// networks, and eval, which is segd-lab's.
package measure

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// Commands are bench, eval and model.
func Commands(std cli.Streams) []*cobra.Command {
	return []*cobra.Command{benchCommand(std), evalCommand(), modelCommand(std)}
}
