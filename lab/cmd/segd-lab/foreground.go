package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/record"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/foreground"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/outputs/draw"
	"github.com/segd/segd/tracker"
)

type foregroundFlags struct {
	pictureFlags
	looks   lookFlags
	classes []string
}

func foregroundCommand(std cli.Streams) *cobra.Command {
	var f foregroundFlags
	cmd := &cobra.Command{
		Use:   "foreground --root DIR",
		Short: "Masks of what a standing camera finds, against the true foreground",
		Long: "Finds and follows what is in sequences of standing cameras whose true foreground, all\n" +
			"that moves or came, is in Annotations as DAVIS has masks, and prints of each sequence:\n\n" +
			"  J          the union of all masks and the foreground, intersection over union: mean\n" +
			"             over the frames with foreground, and over the second half of these\n" +
			"  extra      area of masks outside of the foreground, over the foreground's\n" +
			"  missed     the share of the foreground in no mask\n" +
			"  straight   of masks taller than 24 pixels the share with a straight side: its outermost\n" +
			"             pixels lie in one column for 30 % of its height; of the true parts likewise\n" +
			"  estimated  of the objects in sight, frame by frame, the share that DC-ADMM estimated\n\n" +
			"--overlay writes DIR/SEQUENCE-FRAME: the masks tinted, the truth's outline in green.",
		Example: "  segd eval foreground --root SBI\n  segd eval foreground --root SBI --classes person,car --every 1",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runForeground(cmd, std, f) },
	}
	f.add(cmd)
	requireFlags(cmd, "root")
	f.looks.add(cmd, 10, "")
	flags := cmd.Flags()
	flags.StringSliceVar(&f.classes, "classes", []string{"person"}, "what is found, by the names of COCO's classes")
	flags.StringVar(&f.overlay, "overlay", "", "folder or FILE.mp4 to write the pictures with their masks to")
	return cmd
}

func runForeground(cmd *cobra.Command, std cli.Streams, f foregroundFlags) error {
	mode, err := f.parseMode()
	if err != nil {
		return err
	}
	if err := f.looks.check(); err != nil {
		return err
	}
	if len(f.classes) == 0 {
		return cli.Usage(errors.New("--classes: none; accepted: at least one, such as person"))
	}
	opt := foreground.Options{
		Root: f.root, Sequences: f.names(), ModelName: f.modelName(),
		Features: features.Config{Superpixels: f.superpixels}, Tracker: tracker.Config{Mode: mode},
		Marking: marking.Config{Classes: f.classes, Track: track.Config{Confirm: f.looks.score}}, Every: f.looks.every,
	}
	drawn, err := record.Open(f.overlay)
	if err != nil {
		return cli.Usage(fmt.Errorf("--overlay: %w", err))
	}
	if f.overlay != "" {
		opt.Picture = recordForeground(drawn)
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	opt.Model = model
	if err := f.looks.known(model, f.classes); err != nil {
		return cli.Usage(fmt.Errorf("--classes: %w", err))
	}
	return measured(std, f.json, "following the foreground", func(step func(int, int)) (*foreground.Report, error) {
		opt.Progress = step
		r, err := foreground.Run(cmd.Context(), opt)
		if closed := drawn.Close(); err == nil {
			err = closed
		}
		return r, err
	}, printForeground)
}

func printForeground(w io.Writer, r *foreground.Report) {
	fmt.Fprintln(w, "foreground\tJ\tlater\textra\tmissed\tmasks\tstraight\ttrue\tin sight\testimated")
	for _, s := range r.Sequences {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%.3f\t%.3f\t%d\t%.3f\n", s.Name, s.J, s.Later, s.Extra, s.Missed, s.Masks, s.Straight, s.TrueStraight, s.Visible, s.Estimated)
	}
}

// recordForeground returns what writes the masks of a frame.
func recordForeground(to *record.Recording) func(sequence string, frame int, p foreground.Picture) error {
	return func(sequence string, frame int, p foreground.Picture) error {
		img := draw.Copy(p.Image)
		for _, o := range p.Result.Objects {
			if o.State == tracker.Visible {
				draw.RGBA(img).Mask(o.Mask, draw.Colour(o.ID))
			}
		}
		draw.RGBA(img).Outline(mask.Encode(p.Truth, p.Result.Width, p.Result.Height), truthColour)
		return to.Write(fmt.Sprintf("%s-%05d", sequence, frame), img)
	}
}
