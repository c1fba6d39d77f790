package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/segd/segd/internal/nearest"
)

// Args takes the arguments that a command's Use names, such as "clear CAMERA [ID]", or of a command with
// others below it one of these, and names what is missing or too many.
func Args(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = " (did you mean " + strings.Join(near, " or ") + "?)"
		}
		return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
	}
	names := strings.Fields(cmd.Use)[1:]
	if flags := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "-") }); flags >= 0 {
		names = names[:flags]
	}
	accepted := "accepted: " + strings.Join(append([]string{cmd.CommandPath()}, names...), " ")
	for i, name := range names {
		if i >= len(args) && !strings.HasPrefix(name, "[") {
			return fmt.Errorf("%s is missing; %s", name, accepted)
		}
	}
	if len(args) > len(names) && (len(names) == 0 || !strings.Contains(names[len(names)-1], "...")) {
		return fmt.Errorf("%q is one argument too many; %s", args[len(names)], accepted)
	}
	return nil
}

// FlagError is what an error of a command's flags says: which one an unknown one may be.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, nearest.Hint("--"+unknown.GetSpecifiedName(), known))
}
