// Package setup is the commands that come before segd runs: init writes a configuration,
// camera finds cameras, check tries all that a configuration names, model tries networks,
// doctor looks at the machine.
package setup

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// Commands are init, camera, check, doctor, which tells version, and model.
func Commands(std cli.Streams, version string) []*cobra.Command {
	return []*cobra.Command{initCommand(std), cameraCommand(std), checkCommand(std), doctorCommand(std, version), modelCommand(std)}
}
