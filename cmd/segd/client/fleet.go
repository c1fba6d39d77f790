package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/fleet"
)

// fleetCommand is "segd fleet".
func fleetCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fleet",
		Short:   "Several segd that share cameras: who runs what, and who is to",
		Long:    "Any box of the fleet answers. docs/fleet.md tells of fleets.",
		Example: "  segd fleet status",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		fleetStatusCommand(std),
		orderCommand(std, "cordon", "Have a box take no more cameras", "cordoned", bus.KindCordon,
			"It keeps those that it has. It need not run, and heeds it after a restart, too."),
		orderCommand(std, "drain", "Have a box give its cameras to others, and take no more", "drained", bus.KindDrain,
			"One after another they go on elsewhere with their objects. It need not run."),
		orderCommand(std, "uncordon", "Have a box take cameras again", "uncordoned", bus.KindUncordon,
			"That ends cordon and drain."),
		moveCommand(std),
	)
	return cmd
}

// fleetStatus is what a box tells of its fleet.
type fleetStatus struct{ fleet.Status }

func fleetStatusCommand(std cli.Streams) *cobra.Command {
	return answerCommand[fleetStatus](std, Target{what: "the fleet"}, &cobra.Command{
		Use:     "status",
		Short:   "List the boxes of a fleet and their cameras",
		Example: "  segd fleet status\n  segd fleet status --json",
	}, bus.Target.ShowFleet)
}

func (s fleetStatus) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = cli.Printable(cmp.Or(c, "–"))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("BOX", "STATE", "CAMERAS", "LOAD", "LABELS", "PAGE")
	for _, b := range s.Boxes {
		state := "runs"
		switch {
		case !b.Alive && b.By != "":
			state = "silent"
		case !b.Alive:
			state = "left"
		case b.Drained:
			state = "drained"
		case b.Cordoned:
			state = "cordoned"
		}
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(b.Labels)) {
			labels = append(labels, name+"="+b.Labels[name])
		}
		load := fmt.Sprintf("%.0f of %.0f frames/s", b.Load, b.Capacity)
		if !b.Alive {
			load = ""
		}
		row(b.Name, state, fmt.Sprint(b.Cameras), load, strings.Join(labels, ","), b.Page)
	}
	row("CAMERA", "BOX", "FRAMES/S", "WHY", "FROM")
	for _, c := range s.Cameras {
		rate := ""
		if c.Rate > 0 {
			rate = fmt.Sprintf("%.1f", c.Rate)
		}
		box, why := c.Box, string(c.Why)
		if box == "" {
			why = c.Fault
		}
		row(c.Name, box, rate, why, c.From)
	}
	return w.Flush()
}

func orderCommand(std cli.Streams, name, short, done string, order bus.Kind, long string) *cobra.Command {
	to := Target{what: "the fleet"}
	return to.command(&cobra.Command{
		Use:     name + " BOX",
		Short:   short,
		Long:    long,
		Example: "  segd fleet " + name + " box-a",
	}, func(ctx context.Context, args []string) error {
		if err := to.Camera("").OrderBox(ctx, args[0], order); err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "box %s is %s\n", cli.Printable(args[0]), done)
		return nil
	})
}

func moveCommand(std cli.Streams) *cobra.Command {
	to := Target{what: "the fleet"}
	cmd := to.command(&cobra.Command{
		Use:     "move CAMERA BOX",
		Short:   "Have a box run a camera that another one runs",
		Long:    "It goes on there with its objects. Returns once it runs there.",
		Example: "  segd fleet move gate box-a",
	}, func(ctx context.Context, args []string) error {
		if err := to.Camera("").MoveCamera(ctx, args[0], args[1]); err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "box %s runs camera %s\n", cli.Printable(args[1]), cli.Printable(args[0]))
		return nil
	})
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveNoFileComp)
	return cmd
}
