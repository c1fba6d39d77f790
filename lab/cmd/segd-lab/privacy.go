package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/mot"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/track"
)

type privacyFlags struct {
	trackingFlags
	looks                lookFlags
	video, truth, frames string
	classes              []string
	fps, margin          float64
	fill                 bool
}

func privacyCommand(std cli.Streams) *cobra.Command {
	var f privacyFlags
	cmd := &cobra.Command{
		Use:   "privacy --video FILE --truth GT",
		Short: "How much of the persons of a video is hidden",
		Long: "Follows the persons of a video as a camera with privacy: {blur: [person]} does, and counts\n" +
			"how much of them the pictures do not show (docs/privacy.md). GT has their true boxes in\n" +
			"MOTChallenge's format. Of the pixels in these count those that differ from the\n" +
			"background, the median of the video's pictures.\n\n" +
			"  persons    of these pixels, how many are hidden\n" +
			"  masks      of the pixels of masks, and of the extents of what had one less than a\n" +
			"             second ago, how many are\n" +
			"  elsewhere  of the pixels outside of all true boxes, how many are",
		Example: "  segd eval privacy --video vtest.avi --truth gt.txt --frames 1-400\n" +
			"  segd eval privacy --video vtest.avi --truth gt.txt --every 10 --json",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPrivacy(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.video, "video", "", "video file, of any container FFmpeg opens, or folder of pictures in the order of their names")
	flags.Float64Var(&f.fps, "fps", 0, "pictures a second of a folder (default 25)")
	flags.StringVar(&f.truth, "truth", "", "its true boxes, MOTChallenge's gt.txt")
	flags.StringVar(&f.frames, "frames", "", "A-B: first and last frame looked at, counted from 1 (default all of the truth)")
	flags.StringSliceVar(&f.classes, "classes", []string{"person"}, "what is hidden, by the names of COCO's classes")
	flags.Float64Var(&f.margin, "margin", 10, "what is hidden round an object, in percent of its longer side")
	flags.BoolVar(&f.fill, "fill", false, "fill, in place of blur")
	f.looks.add(cmd, 5, "")
	f.add(cmd)
	requireFlags(cmd, "video", "truth")
	return cmd
}

func runPrivacy(cmd *cobra.Command, std cli.Streams, f privacyFlags) (err error) {
	opt := mot.Options{
		Video:     offline.Play(f.video, f.fps, false),
		ModelName: f.modelName(),
		Features:  features.Config{Superpixels: f.superpixels},
	}
	if opt.Tracker.Mode, err = f.parseMode(); err != nil {
		return err
	}
	if opt.First, opt.Last, err = parseFrames(f.frames); err != nil {
		return cli.Usage(fmt.Errorf("--frames: %w", err))
	}
	if err := f.looks.check(); err != nil {
		return err
	}
	if !(f.margin >= 0 && f.margin <= 100) {
		return cli.Usage(fmt.Errorf("--margin %v; accepted: 0 to 100", f.margin))
	}
	if len(f.classes) == 0 {
		return cli.Usage(errors.New("--classes: none; accepted: at least one, such as person"))
	}
	if opt.Truth, err = readTruth(f.truth, 0, ""); err != nil {
		return err
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
	hide := mot.Hiding{
		Every: f.looks.every, Marking: marking.Config{Classes: f.classes, Track: track.Config{Confirm: f.looks.score}},
		Privacy: privacy.Config{Blur: f.classes, Margin: f.margin / 100},
	}
	if f.fill {
		hide.Privacy.Blur, hide.Privacy.Fill = nil, f.classes
	}
	return measured(std, f.json, "hiding", func(step func(int, int)) (*mot.HiddenReport, error) {
		opt.Progress = step
		return mot.RunHidden(cmd.Context(), opt, hide)
	}, printHidden)
}

func printHidden(w io.Writer, r *mot.HiddenReport) {
	fmt.Fprintf(w, "frames %d to %d\tpixels\thidden\t%%\n", r.FirstFrame, r.LastFrame)
	row := func(name string, h mot.Hidden) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\n", name, h.Pixels, h.Hidden, 100*h.Share)
	}
	row("persons", r.Persons)
	row("masks", r.Masks)
	row("elsewhere", r.Elsewhere)
	fmt.Fprintln(w)
	for _, p := range r.PerPerson {
		row(fmt.Sprintf("person %d", p.ID), p.Hidden)
	}
	fmt.Fprintf(w, "\n%d frames hidden as a whole; hiding takes %.2f ms a frame\n", r.WholeFrames, r.Milliseconds)
}
