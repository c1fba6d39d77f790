package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client"
)

// program is another of segd's programs, which has some of segd's commands, and where people get it.
type program struct{ name, source string }

// tools works on data sets and measures, which a daemon does not need. lab has the experiments; they want libraries that
// segd does not.
var (
	tools = program{"segd-tools", "packages and images of segd have it, and make build makes it"}
	lab   = program{"segd-lab", "make build makes it, and no package or image has it"}
)

// toolsCommands are the commands that segd-tools has. What is said of them here is for segd's list of commands, and for
// help where segd-tools is missing.
func toolsCommands(std cli.Streams) (talk, measure []*cobra.Command) {
	for _, c := range []struct{ use, short, example string }{
		{"record CAMERA DIR", "Keep pictures of a camera and their masks, for a data set", "record gate recording"},
		{"export DIR", "Make a data set of what segd record has kept", "export recording --format coco --split 80,20"},
		{"import CAMERA FILE", "Make an annotation of a picture that was corrected elsewhere", "import gate annotations.xml --save gate.json --pictures recording"},
	} {
		talk = append(talk, tools.command(&cobra.Command{Use: c.use, Short: c.short, Example: "  segd " + c.example}, strings.Fields(c.use)[0]))
	}
	eval := lab.command(&cobra.Command{Use: "eval [COMMAND...]", Short: "Measure segd on benchmark data, or on your own camera", Example: "  segd eval --help\n" +
		"  segd eval camera gate\n" +
		"  segd eval davis --root DAVIS\n" +
		"  segd eval moons --seeds 10"})
	camera := client.EvalCommand(std) // which no lab is needed for
	camera.SetHelpFunc(new(cobra.Command).HelpFunc())
	eval.AddCommand(camera)
	return talk, []*cobra.Command{
		tools.command(&cobra.Command{Use: "bench", Short: "Measure what segd costs on this machine", Example: "  segd bench ingest --cameras 16"}, "bench"),
		eval,
	}
}

// command is cmd, which the program has: it takes this process over, with prefix and what follows cmd's name. It says
// too what help says of cmd, and what may follow it.
func (p program) command(cmd *cobra.Command, prefix ...string) *cobra.Command {
	cmd.Long = "Runs " + p.name + " with the same arguments: the one beside segd, or else the first in\n" +
		"PATH (" + p.source + ")."
	cmd.DisableFlagParsing, cmd.Args = true, cobra.ArbitraryArgs // they are the program's
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := p.find(cmd)
		if err != nil {
			return err
		}
		return fmt.Errorf("%s: %w", path, syscall.Exec(path, append(append([]string{p.name}, prefix...), args...), os.Environ()))
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return p.complete(cmd, append(append([]string{cobra.ShellCompRequestCmd}, prefix...), append(args, toComplete)...))
	}
	own := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if p.help(cmd, append([]string{"help"}, prefix...)) != nil {
			own(cmd, args)
		}
	})
	return cmd
}

// find is the program's path.
func (p program) find(cmd *cobra.Command) (string, error) {
	return cli.FindProgram(p.name, cmd.CommandPath()+" wants it: "+p.source)
}

// help has the program answer segd help, with what follows cmd's name there.
func (p program) help(cmd *cobra.Command, args []string) error {
	path, err := p.find(cmd)
	if err != nil {
		return err
	}
	if help, _, err := cmd.Root().Find([]string{"help"}); err == nil && help.Flags().NArg() > 1 {
		args = append(args, help.Flags().Args()[1:]...)
	}
	asked := exec.Command(path, args...)
	asked.Stdout, asked.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	return asked.Run()
}

// complete asks the program what may follow.
func (p program) complete(cmd *cobra.Command, args []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path, err := p.find(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out, err := exec.Command(path, args...).Output()
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	last := len(lines) - 1
	directive, failed := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil || failed != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}
