package client

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
)

func objectsCommand(std cli.Streams) *cobra.Command {
	var to Target
	var asJSON bool
	var save string
	var page Page
	cmd := to.command(&cobra.Command{
		Use:     "objects CAMERA",
		Example: "  segd objects gate\n  segd objects gate --save gate.json    # for the camera's annotation in the configuration",
		Short:   "List the objects that a running segd follows",
		Long: "--save writes those in sight at this moment to a file, but for those that segd marked by\n" +
			"itself and that are not kept: their masks and the picture, from\n" +
			"segd's page. With `annotation: FILE` in the configuration they are looked for by what they\n" +
			"look like in it when segd starts again.",
	}, func(ctx context.Context, args []string) error {
		if save != "" {
			return saveObjects(ctx, std.Out, page, args[0], save)
		}
		list, err := to.Camera(args[0]).Objects(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(list)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.Out, string(text))
			return err
		}
		if len(list.GetObjects()) == 0 {
			_, err = fmt.Fprintf(std.Out, "%s: no objects\n", args[0])
			return err
		}
		table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tNAME\tSTATE\tAREA\tBOX\tEXTENT\tSCORE\tMARKED")
		for _, o := range list.GetObjects() {
			fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\t%.2f\t%s\n", o.GetId(), cli.Printable(o.GetLabel()), stateName(o.GetState()), o.GetArea(),
				boxText(o.GetBox()), boxText(o.GetExtent()), o.GetScore(), markedBy(o))
		}
		return table.Flush()
	})
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, segd.v1.ObjectList")
	flags.StringVar(&save, "save", "", "annotation file to write them to, with the picture")
	page.Register(cmd)
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// boxText is a box as X11 has geometries, such as 49×138+253+371; - for none.
func boxText(b *segdv1.Box) string {
	if b == nil {
		return "-"
	}
	return fmt.Sprintf("%d×%d%+d%+d", b.GetWidth(), b.GetHeight(), b.GetX(), b.GetY())
}

// markedBy says whose an object is.
func markedBy(o *segdv1.Object) string {
	switch {
	case o.GetAutomatic():
		return "automatically, as " + cli.Printable(o.GetClass())
	case o.GetClass() != "":
		return "kept, as " + cli.Printable(o.GetClass())
	}
	return "by hand"
}

func keepCommand(std cli.Streams) *cobra.Command {
	return objectCommand(&cobra.Command{
		Use:     "keep CAMERA ID",
		Example: "  segd keep gate 256",
		Short:   "Have a running segd keep an object that it marked by itself",
		Long:    "What is kept is not forgotten when it is not detected any more.",
	}, func(ctx context.Context, camera bus.Target, id uint32, args []string) error {
		o, err := camera.Keep(ctx, id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.Out, "%s: object %d, %q, is kept\n", args[0], o.GetId(), o.GetLabel())
		return err
	})
}

func renameCommand(std cli.Streams) *cobra.Command {
	return objectCommand(&cobra.Command{
		Use:     "rename CAMERA ID NAME",
		Example: "  segd rename gate 1 visitor",
		Short:   "Give an object that a running segd follows another name",
	}, func(ctx context.Context, camera bus.Target, id uint32, args []string) error {
		o, err := camera.Rename(ctx, id, args[2])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.Out, "%s: object %d is %q\n", args[0], o.GetId(), o.GetLabel())
		return err
	})
}

// objectCommand has cmd, whose arguments begin with CAMERA and ID, do something with that object.
func objectCommand(cmd *cobra.Command, do func(ctx context.Context, camera bus.Target, id uint32, args []string) error) *cobra.Command {
	var to Target
	to.command(cmd, func(ctx context.Context, args []string) error {
		id, err := parseID(args[1])
		if err != nil {
			return err
		}
		return do(ctx, to.Camera(args[0]), id, args)
	})
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func clearCommand(std cli.Streams) *cobra.Command {
	var to Target
	cmd := to.command(&cobra.Command{
		Use:     "clear CAMERA [ID]",
		Example: "  segd clear gate 1    # one of them\n  segd clear gate      # all",
		Short:   "Have a running segd forget an object, or all of a camera's",
	}, func(ctx context.Context, args []string) error {
		id, what := uint32(0), "all objects"
		if len(args) == 2 {
			var err error
			if id, err = parseID(args[1]); err != nil {
				return err
			}
			what = fmt.Sprintf("object %d", id)
		}
		if err := to.Camera(args[0]).Clear(ctx, id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "%s: %s removed\n", args[0], what)
		return err
	})
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func snapshotCommand(std cli.Streams) *cobra.Command {
	var to Target
	var overlay bool
	cmd := to.command(&cobra.Command{
		Use:     "snapshot CAMERA FILE.jpg",
		Example: "  segd snapshot gate now.jpg --overlay",
		Short:   "Save the newest picture of a camera of a running segd",
		Long:    "FILE is JPEG; - writes standard output.",
	}, func(ctx context.Context, args []string) error {
		picture, err := to.Camera(args[0]).Snapshot(ctx, overlay)
		if err != nil {
			return err
		}
		if args[1] == "-" {
			_, err = std.Out.Write(picture)
			return err
		}
		if err := os.WriteFile(args[1], picture, 0o644); err != nil {
			return cli.Usage(err)
		}
		_, err = fmt.Fprintf(std.Out, "%s: %d bytes in %s\n", args[0], len(picture), args[1])
		return err
	})
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveDefault)
	cmd.Flags().BoolVar(&overlay, "overlay", false, "draw the masks on it")
	return cmd
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 0 {
		return 0, cli.Usage(fmt.Errorf("ID %q; accepted: an object's number, from 1 on", text))
	}
	return uint32(id), nil
}
