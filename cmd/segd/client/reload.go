package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
)

// reloaded is what reading the configuration again came to.
type reloaded struct{ Added, Changed, Removed, Restart []string }

func reloadCommand(std cli.Streams) *cobra.Command {
	var page Page
	cmd := &cobra.Command{
		Use:     "reload",
		Example: "  segd reload\n  segd reload --page http://192.0.2.20:8080 --token TOKEN",
		Short:   "Have a running segd read its configuration again",
		Long: "Cameras come, go and change while the others run on. Nothing is done if anything of\n" +
			"the file is wrong. What takes a restart is named, and the exit status is 1. segd does the\n" +
			"same when the file changes and at SIGHUP.\n\n" +
			"It is asked over NATS, with --page at its page.",
	}
	answerCommand[reloaded](std, Target{what: "the segd"}, cmd, func(to bus.Target, ctx context.Context) ([]byte, error) {
		if cmd.Flags().Changed("page") {
			return page.ask(ctx, http.MethodPost, "config/reload")
		}
		return to.Reload(ctx)
	})
	page.Register(cmd)
	return cmd
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

// err tells of what was not done.
func (r reloaded) err() error {
	if len(r.Restart) == 0 {
		return nil
	}
	return fmt.Errorf("%s: segd runs without these changes until it is restarted", strings.Join(r.Restart, ", "))
}
