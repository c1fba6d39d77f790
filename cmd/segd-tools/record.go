package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd-tools/dataset"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client"
)

type recordFlags struct {
	page   client.Page
	choose dataset.Chooser
	most   int64
	clips  string
}

const (
	recordEvery  = 5 * time.Second // neighbouring frames are alike
	recordEvents = time.Second     // of frames that something is the matter with
	recordMost   = 10 << 30        // bytes
	recordLeast  = 1 << 20

	clipQueue = 512 // pictures that wait for the disk: a clip begins with five seconds to be written at once
)

// What --clips accepts: where the masks are.
const (
	clipsDrawn  = "drawn"
	clipsBeside = "beside"
)

func recordCommand(std cli.Streams) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record CAMERA DIR",
		Short: "Keep pictures of a camera and their masks, for a data set",
		Long: "Writes a picture and its masks every few seconds, or when something is the matter, to\n" +
			"DIR/CAMERA-EPOCH-SEQUENCE.jpg and .json. `segd export` makes a data set of them. They come\n" +
			"from segd's page. DIR may have several cameras.\n\n" +
			"--when changed: an object came, went, was hidden or found again, or was in a zone or at a\n" +
			"line. unsure: an object's score is below --unsure. corrected: a person annotated.\n\n" +
			"--clips writes videos instead, from 5 s before to 10 s after these (changed, unless --when\n" +
			"says otherwise), with the masks drawn on, or beside in .jsonl, a frame a line.\n\n" +
			"The oldest files of the camera make room for new ones at --max-bytes. A full disk costs\n" +
			"the frames it has no room for; the exit status is 1 in the end. When segd goes away,\n" +
			"record waits until it is back.",
		Example: "  segd record gate recording                   # a picture every 5 s\n" +
			"  segd record gate recording --every 1m --max-bytes 1000000000\n" +
			"  segd record gate recording --when unsure     # what may be wrong, to be corrected\n" +
			"  segd record gate clips --clips drawn",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.clips != "" && f.choose.When == "":
				f.choose.When = dataset.Changed
			case f.choose.When != "" && !cmd.Flags().Changed("every"):
				f.choose.Every = recordEvents
			}
			if err := f.check(args[0]); err != nil {
				return cli.Usage(err)
			}
			return recordCamera(cmd.Context(), std, args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.choose.Every, "every", recordEvery, "time between two pictures; with --when the least, 1s unless given")
	flags.StringVar(&f.choose.When, "when", "", "keep only pictures of when something is the matter: "+strings.Join(dataset.Reasons, ", "))
	flags.Float64Var(&f.choose.Unsure, "unsure", dataset.DefaultUnsure, "score, 0 to 1, below which an object is unsure")
	flags.Int64Var(&f.most, "max-bytes", recordMost, "bytes of all the camera's files in DIR")
	flags.StringVar(&f.clips, "clips", "", "write videos, with the masks drawn or beside")
	f.page.Register(cmd)
	cmd.ValidArgsFunction = client.CompleteAny
	return cmd
}

func (f recordFlags) check(camera string) error {
	switch {
	case !client.IsCamera(camera):
		return fmt.Errorf("record: %q; accepted: a camera's name", camera)
	case f.choose.Every < 0:
		return fmt.Errorf("record: --every %v; accepted: 0 or more", f.choose.Every)
	case f.choose.When != "" && !slices.Contains(dataset.Reasons, f.choose.When):
		return fmt.Errorf("record: --when %q; accepted: %s", f.choose.When, strings.Join(dataset.Reasons, ", "))
	case !(f.choose.Unsure >= 0 && f.choose.Unsure <= 1):
		return fmt.Errorf("record: --unsure %v; accepted: 0 to 1", f.choose.Unsure)
	case f.most < recordLeast:
		return fmt.Errorf("record: --max-bytes %d; accepted: %d or more", f.most, recordLeast)
	case f.clips != "" && f.clips != clipsDrawn && f.clips != clipsBeside:
		return fmt.Errorf("record: --clips %q; accepted: %s, %s", f.clips, clipsDrawn, clipsBeside)
	}
	return nil
}

// fps is how many pictures a second are asked for; 0: all. What happens is on any. Else there are ten to choose each from,
// so that it is late by a tenth of --every at most.
func (f recordFlags) fps() int {
	if f.clips != "" || f.choose.When != "" || f.choose.Every < time.Second {
		return 0
	}
	return int((10*time.Second + f.choose.Every - 1) / f.choose.Every)
}

func recordCamera(ctx context.Context, std cli.Streams, camera, folder string, f recordFlags) error {
	to, err := dataset.OpenRecording(folder, camera, f.most)
	if err != nil {
		return cli.Usage(fmt.Errorf("record: %w", err))
	}
	s := saving{to: folder, fps: f.fps(), choose: f.choose.Take, event: f.choose.Event, end: to.Close,
		write: func(p client.Picture) error {
			err := to.Add(p.Masks, p.JPEG)
			if err == nil {
				fmt.Fprintln(std.Out, cli.Printable(client.MaskLine(p.Masks)))
			}
			return err
		}}
	if f.clips != "" {
		clips := dataset.NewClips(to, f.clips == clipsBeside)
		s.all, s.queue = true, clipQueue
		s.write = func(p client.Picture) error { return clips.Add(p.Masks, p.JPEG, p.Chosen) }
		s.end = func() error { return errors.Join(clips.Close(), to.Close()) }
	}
	return s.run(ctx, std, f.page, camera)
}
