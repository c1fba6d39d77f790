package measure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// labName is the program that has the experiments. They want libraries that segd does not.
const labName = "segd-lab"

// evalCommand hands on what follows "segd eval" to segd-lab, which takes this process over.
func evalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval [COMMAND...]",
		Short: "Measure segd on benchmark data",
		Long: "Runs " + labName + ", which has the experiments, with the same arguments: the one beside segd, or\n" +
			"else the first in PATH. It is built with segd from source, and is in no package.",
		Example: "  segd eval --help\n" +
			"  segd eval davis --root DAVIS\n" +
			"  segd eval moons --seeds 10",
		DisableFlagParsing: true, // flags are segd-lab's
		Args:               cobra.ArbitraryArgs,
		ValidArgsFunction:  completeEval,
		RunE: func(_ *cobra.Command, args []string) error {
			lab, err := findLab()
			if err != nil {
				return err
			}
			return fmt.Errorf("%s: %w", lab, syscall.Exec(lab, append([]string{labName}, args...), os.Environ()))
		},
	}
	own := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if helpEval(cmd) != nil {
			own(cmd, args)
		}
	})
	return cmd
}

// helpEval has segd-lab answer segd help eval, with what follows that.
func helpEval(cmd *cobra.Command) error {
	lab, err := findLab()
	if err != nil {
		return err
	}
	args := []string{"help"}
	if help, _, err := cmd.Root().Find(args); err == nil && help.Flags().NArg() > 1 {
		args = append(args, help.Flags().Args()[1:]...)
	}
	asked := exec.Command(lab, args...)
	asked.Stdout, asked.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	return asked.Run()
}

// findLab is the path of segd-lab.
func findLab() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), labName)
	path, err := exec.LookPath(beside)
	if errors.Is(err, os.ErrNotExist) {
		path, err = exec.LookPath(labName)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("segd eval is in %s, which is not installed; want it as %s, or in PATH: make build makes both from segd's source", labName, beside)
	}
	return path, err
}

// completeEval asks segd-lab what may follow.
func completeEval(_ *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	lab, err := findLab()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out, err := exec.Command(lab, append(append([]string{cobra.ShellCompRequestCmd}, args...), toComplete)...).Output()
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	last := len(lines) - 1
	directive, failed := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil || failed != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}
