package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/cmd/segd-tools/dataset"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client"
	"github.com/segd/segd/internal/files"
)

func exportCommand(std cli.Streams) *cobra.Command {
	var format, out, splits string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Make a data set of what segd record has kept",
		Long: "Writes the pictures and masks in DIR in a format that others train with or correct:\n\n" +
			"  coco       images/SPLIT, annotations/instances_SPLIT.json: the masks as run lengths\n" +
			"  yolo-seg   images/SPLIT, labels/SPLIT, data.yaml: polygons, as Ultralytics has them\n" +
			"  cvat       images, annotations.xml (CVAT for images 1.1), labels.json for the task\n" +
			"  mask-png   images/SPLIT, masks/SPLIT: a pixel's value is its class, of classes.csv\n\n" +
			"--split gives hundredths to train, val and test, by time: the first ones of each camera\n" +
			"are train. Pictures are second names of the recording's files where the disk can do that.",
		Example: "  segd export recording --format coco --split 80,20\n" +
			"  segd export recording --format cvat --out task",
		Args: cli.Args,
		RunE: func(_ *cobra.Command, args []string) error {
			percent, err := parseSplits(splits)
			if err != nil {
				return cli.Usage(err)
			}
			from, err := filepath.Abs(args[0]) // "." has no name
			if err != nil {
				return cli.Usage(fmt.Errorf("export: %w", err))
			}
			to := cmp.Or(out, from+"-"+format)
			done, err := dataset.Export(args[0], to, format, percent)
			if err != nil {
				return cli.Usage(fmt.Errorf("export: %w", err))
			}
			if n := len(done.LeftOut); n > 0 {
				fmt.Fprintln(std.Err, cli.Printable(fmt.Sprintf("%d frames are left out; the first: %v", n, done.LeftOut[0])))
			}
			_, err = fmt.Fprintf(std.Out, "%s: %d pictures, %d objects of %d classes\n", to, done.Pictures, done.Objects, len(done.Classes))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "", strings.Join(dataset.Formats(), ", "))
	flags.StringVar(&out, "out", "", "folder to write, which must not be there (default DIR-FORMAT)")
	flags.StringVar(&splits, "split", "100", "hundredths of the pictures for train, val and test")
	_ = cmd.MarkFlagRequired("format") // the flag is there
	return cmd
}

// parseSplits reads one to three numbers that come to 100.
func parseSplits(text string) (percent []int, err error) {
	sum := 0
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			sum = -1
			break
		}
		percent, sum = append(percent, n), sum+n
	}
	if sum != 100 || len(percent) > 3 {
		return nil, fmt.Errorf("--split %q; accepted: up to three whole numbers that come to 100, such as 80,20", text)
	}
	return percent, nil
}

type importFlags struct{ picture, pictures, save string }

func importCommand(std cli.Streams) *cobra.Command {
	var to client.Target
	var f importFlags
	cmd := to.Prepared(&cobra.Command{
		Use:   "import CAMERA FILE",
		Short: "Make an annotation of a picture that was corrected elsewhere",
		Long: "FILE is CVAT's (CVAT for images 1.1, annotations.xml) or COCO's (instances, JSON), of\n" +
			"pictures that `segd record` has kept and `segd export` has written. Of the camera's\n" +
			"pictures in it the newest that something is marked on is used, or --picture.\n\n" +
			"It is sent to the running segd, which takes it as long as it keeps the frame: some\n" +
			"seconds, or while it is held. --save writes it to a file with the picture instead, for\n" +
			"the camera's annotation in the configuration: segd looks for the objects by what they\n" +
			"look like in it.\n" +
			"docs/datasets.md says more.",
		Example: "  segd import gate annotations.xml --save gate.json --pictures recording\n" +
			"  segd import gate instances_default.json",
	}, func(ctx context.Context, args []string) error {
		if (f.save == "") != (f.pictures == "") {
			return cli.Usage(errors.New("import: --save and --pictures go together: the file and the folder that has the picture"))
		}
		c, err := f.find(ctx, args[0], args[1])
		if err != nil {
			return cli.Usage(fmt.Errorf("import: %s: %w", args[1], err))
		}
		if f.save != "" {
			return f.write(ctx, std, c)
		}
		ctx, cancel := to.Asking(ctx)
		defer cancel()
		return sendMarked(ctx, std, to, c)
	})
	flags := cmd.Flags()
	flags.StringVar(&f.picture, "picture", "", "name of the picture, such as gate-1795294724651-000001234.jpg (default the newest)")
	flags.StringVar(&f.save, "save", "", "annotation file to write, with the picture")
	flags.StringVar(&f.pictures, "pictures", "", "folder with the pictures, for --save")
	cmd.ValidArgsFunction = to.CompleteCamera(cobra.ShellCompDirectiveDefault)
	return cmd
}

// find returns the picture that is meant.
func (f importFlags) find(ctx context.Context, camera, file string) (*dataset.Marked, error) {
	from, err := files.Open(file, files.Dataset)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return dataset.Find(ctx, from, camera, f.picture)
}

// annotationOf makes an annotation, and says which marks are left out.
func annotationOf(std cli.Streams, c *dataset.Marked, most uint32, known map[uint32]bool) (*annotation.Annotation, error) {
	a, left, err := c.Annotation(most, known)
	for _, fault := range left.Faults {
		fmt.Fprintln(std.Err, cli.Printable(fmt.Sprintf("%s: left out: %v", c.File, fault)))
	}
	if n := left.Count - len(left.Faults); n > 0 {
		fmt.Fprintf(std.Err, "%s: left out: %d more\n", c.File, n)
	}
	return a, err
}

// write writes the annotation with its picture.
func (f importFlags) write(ctx context.Context, std cli.Streams, c *dataset.Marked) error {
	a, err := annotationOf(std, c, annotation.MaxID, nil)
	if err == nil {
		a.Picture, err = files.Read(ctx, filepath.Join(f.pictures, c.File), files.Picture)
	}
	if err == nil {
		err = a.Validate()
	}
	var text []byte
	if err == nil {
		text, err = annotation.Marshal(a)
	}
	if err == nil {
		err = files.WriteWhole(f.save, 0o644, text)
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("import: %w", err))
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d objects of picture %s in %s\n", c.Camera, len(a.Objects), c.File, f.save)
	return err
}

// sendMarked has a running segd take what was marked, if it is the same that took the picture.
func sendMarked(ctx context.Context, std cli.Streams, to client.Target, c *dataset.Marked) error {
	const instead = "--save writes it for the configuration"
	state, err := to.Camera(c.Camera).State(ctx)
	if err != nil {
		return err
	}
	if state.GetEpoch() != c.Epoch {
		return fmt.Errorf("import: %s is from before segd last began with the camera, and no longer kept; %s", c.File, instead)
	}
	list, err := to.Camera(c.Camera).Objects(ctx)
	if err != nil {
		return err
	}
	known := map[uint32]bool{}
	for _, o := range list.GetObjects() {
		known[o.GetId()] = true
	}
	a, err := annotationOf(std, c, ^uint32(0), known)
	if err != nil {
		return cli.Usage(fmt.Errorf("import: %w", err))
	}
	a.Frame = &c.Sequence
	payload, err := json.Marshal(a)
	if err != nil {
		return err
	}
	annotated, err := to.Camera(c.Camera).Annotate(ctx, payload)
	if err != nil {
		return fmt.Errorf("%w; %s", err, instead)
	}
	return client.PrintAnnotated(std.Out, annotated)
}
