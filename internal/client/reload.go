package client

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/internal/cli"
)

// reloaded is what reading the configuration again came to.
type reloaded struct{ Added, Changed, Removed, Restart []string }

func reloadCommand(std cli.Streams) *cobra.Command {
	return answerCommand[reloaded](std, target{what: "the segd"}, &cobra.Command{
		Use:     "reload",
		Example: "  segd reload",
		Short:   "Have a running segd read its configuration again",
		Long: "Cameras come, go and change while the others run on. Nothing is done if anything of\n" +
			"the file is wrong; what takes a restart is named. segd does the same when the file\n" +
			"changes and at SIGHUP.",
	}, bus.Target.Reload)
}

func (r reloaded) print(out io.Writer) error {
	lines := 0
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", r.Added}, {"changed", r.Changed}, {"removed", r.Removed}, {"takes a restart", r.Restart}} {
		if len(part.names) > 0 {
			lines++
			fmt.Fprintf(out, "%s: %s\n", part.what, cli.Printable(strings.Join(part.names, ", ")))
		}
	}
	if lines == 0 {
		fmt.Fprintln(out, "nothing differs")
	}
	return nil
}
