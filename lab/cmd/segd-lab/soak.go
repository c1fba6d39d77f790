package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/soak"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/tracker"
)

type soakFlags struct {
	pictureFlags
	frames int

	video   string
	looks   lookFlags
	classes []string
}

func soakCommand(std cli.Streams) *cobra.Command {
	var f soakFlags
	cmd := &cobra.Command{
		Use:   "soak (--root DIR --sequences NAME | --video FILE)",
		Short: "Resident memory over a long run",
		Long: fmt.Sprintf("Prints the process' resident memory at frame %d and at the end of a long run, each\n"+
			"the median of 100 frames.\n\n"+
			"With --root it follows the object of one sequence, which is played forwards and\n"+
			"backwards over and over.\n\n"+
			"With --video it plays a video over and over, and nobody marks anything: the detector in\n"+
			"the binary looks at every --every'th frame, and what it finds is followed, as by segd\n"+
			"eval mot. Printed are also the objects:\n\n"+
			"  begun         ids used: as many as are gone and left\n"+
			"  gone          not there any more\n"+
			"  left          at the end, those that rest included\n"+
			"  followed      at most in one frame, by the tracker\n"+
			"  resting       at most in one frame: lost, and waited for without the tracker\n\n"+
			"It ends with an error at the first frame after which an object is neither gone nor left.", soak.Warm),
		Example: "  segd eval soak --root DAVIS --sequences car-shadow --frames 20000\n" +
			"  segd eval soak --video vtest.avi --frames 120000 --json",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSoak(cmd, std, f) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.frames, "frames", 20000, fmt.Sprintf("frames to follow, more than %d", soak.Warm))
	flags.StringVar(&f.video, "video", "", "video file, of any container FFmpeg opens")
	f.looks.add(cmd, 10, "; with --video")
	flags.StringSliceVar(&f.classes, "classes", []string{"person"}, "what is followed, by the names of COCO's classes; with --video")
	return cmd
}

func runSoak(cmd *cobra.Command, std cli.Streams, f soakFlags) error {
	mode, err := f.parseMode()
	if err != nil {
		return err
	}
	if f.frames <= soak.Warm {
		return cli.Usage(fmt.Errorf("--frames %d; want more than %d", f.frames, soak.Warm))
	}
	switch sequences := f.root != "" || cmd.Flags().Changed("sequences"); {
	case f.video != "" && sequences:
		return cli.Usage(errors.New("--video with --root or --sequences; want --video FILE, or --root DIR --sequences NAME"))
	case f.video != "":
		return soakVideo(cmd, std, f, mode)
	case f.root == "":
		return cli.Usage(errors.New("neither --video nor --root; want --video FILE, or --root DIR --sequences NAME"))
	}
	for _, flag := range []string{"every", "score", "classes"} {
		if cmd.Flags().Changed(flag) {
			return cli.Usage(fmt.Errorf("--%s with --root; want it with --video alone", flag))
		}
	}
	return soakSequence(cmd, std, f, mode)
}

// soakSequence follows the object of one sequence.
func soakSequence(cmd *cobra.Command, std cli.Streams, f soakFlags, mode tracker.Mode) error {
	names := f.names()
	if len(names) != 1 {
		return cli.Usage(fmt.Errorf("--sequences %s; want the name of one sequence", f.sequences))
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	return measured(std, f.json, "following the object", func(step func(int, int)) (*soak.Report, error) {
		return soak.Run(cmd.Context(), soak.Options{
			Root:      f.root,
			Sequence:  names[0],
			ModelName: f.modelName(),
			Model:     model,
			Features:  features.Config{Superpixels: f.superpixels},
			Tracker:   tracker.Config{Mode: mode},
			Frames:    f.frames,
			Progress:  step,
		})
	}, func(w io.Writer, r *soak.Report) {
		fmt.Fprintf(w, "%s, %d frames of %.0f ms, mean J %.3f\n%s", r.Sequence, r.Frames, r.MSPerFrame, r.J, memoryLine(r.Memory))
	})
}

// soakVideo follows what is found in a video.
func soakVideo(cmd *cobra.Command, std cli.Streams, f soakFlags, mode tracker.Mode) error {
	if err := f.looks.check(); err != nil {
		return err
	}
	if len(f.classes) == 0 {
		return cli.Usage(errors.New("--classes: none; want at least one, such as person"))
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	if err := f.looks.known(model, f.classes); err != nil {
		return cli.Usage(fmt.Errorf("--classes, --model: %w", err))
	}
	return measured(std, f.json, "following what is found", func(step func(int, int)) (*soak.AutomaticReport, error) {
		return soak.RunAutomatic(cmd.Context(), soak.AutomaticOptions{
			Video:     offline.Play(f.video, 0, true),
			VideoName: f.video,
			Marking:   marking.Config{Classes: f.classes, Track: track.Config{Confirm: f.looks.score}},
			Every:     f.looks.every,
			ModelName: f.modelName(),
			Model:     model,
			Features:  features.Config{Superpixels: f.superpixels},
			Tracker:   tracker.Config{Mode: mode},
			Frames:    f.frames,
			Progress:  step,
		})
	}, func(w io.Writer, r *soak.AutomaticReport) {
		fmt.Fprintf(w, "%s, %d frames of %.0f ms\nobjects: %d begun, of which %d are gone and %d left; at most %d followed and %d resting at a time\n%s",
			r.Video, r.Frames, r.MSPerFrame, r.Begun, r.Gone, r.Left, r.MostTracked, r.MostResting, memoryLine(r.Memory))
	})
}

func memoryLine(m soak.Memory) string {
	return fmt.Sprintf("resident: %.1f MiB at frame %d, %.1f at the end (%.3f of it), %.1f at most between\n",
		m.WarmRSSMB, soak.Warm, m.RSSMB, m.Ratio, m.RSSMBHighest)
}
