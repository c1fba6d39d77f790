package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
)

func reloadCommand(std cli.Streams) *cobra.Command {
	var to target
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "reload",
		Example: "  segd reload",
		Short:   "Have a running segd read its configuration again",
		Long: "Cameras come, go and change while the others run on. Nothing is done if anything of\n" +
			"the file is wrong; what takes a restart is named. segd does the same when the file\n" +
			"changes and at SIGHUP.",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := to.context(cmd)
			defer cancel()
			answer, err := to.camera("").Reload(ctx)
			if err != nil {
				return err
			}
			var r struct{ Added, Changed, Removed, Restart []string }
			if err := json.Unmarshal(answer, &r); err != nil {
				return fmt.Errorf("the answer %.100q: %w", answer, err)
			}
			if asJSON {
				return cli.WriteJSON(std.Out, json.RawMessage(answer))
			}
			lines := 0
			for _, part := range []struct {
				what  string
				names []string
			}{{"added", r.Added}, {"changed", r.Changed}, {"removed", r.Removed}, {"takes a restart", r.Restart}} {
				if len(part.names) > 0 {
					lines++
					fmt.Fprintf(std.Out, "%s: %s\n", part.what, cli.Printable(strings.Join(part.names, ", ")))
				}
			}
			if lines == 0 {
				fmt.Fprintln(std.Out, "nothing differs")
			}
			return nil
		},
	}
	to.flags(cmd)
	cmd.Flags().Lookup("site").Usage = "site of the segd"
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer, one JSON object")
	return cmd
}
