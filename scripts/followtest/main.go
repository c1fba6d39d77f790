// Command followtest marks the persons of a clip in a running segd, live, and counts how
// well they are followed: all by ellipses, all by boxes, and each alone by its ellipse.
// Where they really are is a file in MOTChallenge's format, which is not part of segd.
//
// Each time a segd of its own, with the settings that segd has by default, plays the clip
// as a camera. A subscriber to its masks marks, once the masks of a frame have come, whom
// the truth has whole in that frame, as somebody would who sees it, and gathers the masks
// from then on. Frame n of the truth has sequence number n − 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/eval/mot"
	"github.com/segd/segd/scripts/process"
)

func main() { process.Main("followtest", run) }

// options are what is tried, and how.
type options struct {
	segd, clip string
	truth      *mot.Truth
	sequence   uint64  // from which frame on somebody marks
	frames     int     // that are looked at after that
	fps        float64 // 0: the clip's own
	only       string
	said       io.Writer // what segd says
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	var b bars
	flags := flag.NewFlagSet("followtest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.segd, "segd", "bin/segd", "program to try")
	flags.StringVar(&o.clip, "clip", demo.FindClip(), "clip to play, an AVI")
	truth := flags.String("truth", os.Getenv("TRUTH"), "true boxes of its persons, MOTChallenge's gt.txt (default the environment's TRUTH)")
	flags.Uint64Var(&o.sequence, "sequence", 150, "sequence number of the frame that is marked, or the first after it that has masks")
	flags.IntVar(&o.frames, "frames", 300, "frames looked at after that, as far as the truth goes")
	flags.Float64Var(&o.fps, "fps", 4, "frames a second the clip is played at, slow enough that none is dropped; 0: its own")
	flags.StringVar(&o.only, "only", "", "take only the runs whose names hold this, such as ellipses or \"person 9\"")
	flags.Float64Var(&b.ellipseIDF1, "ellipse-idf1", 0.70, "least IDF1 of all marked by ellipses")
	flags.Float64Var(&b.ellipseIDP, "ellipse-idp", 0.85, "least IDP of the same")
	flags.Float64Var(&b.boxIDF1, "box-idf1", 0.70, "least IDF1 of all marked by boxes")
	flags.Float64Var(&b.aloneRight, "alone-right", 0.60, "least share of a person's frames in which it is found, marked alone")
	flags.Float64Var(&b.aloneFalse, "alone-false", 0.10, "largest share, of as many, of frames in which it is where it is not")
	verbose := flags.Bool("v", false, "show what segd says")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	o.said = io.Discard
	if *verbose {
		o.said = stderr
	}
	if *truth == "" {
		return errors.New("no truth to compare with; want make follow-test TRUTH=FILE, the true boxes of the clip's persons in MOTChallenge's format (frame,id,left,top,width,height,flag,…), such as the gt.txt of PETS09-S2L1 for vtest.avi")
	}
	if o.frames < 1 || o.fps < 0 {
		return fmt.Errorf("-frames %d, -fps %g; want 1 frame or more, and a rate that is not negative", o.frames, o.fps)
	}
	file, err := os.Open(*truth)
	if err != nil {
		return fmt.Errorf("-truth: %w", err)
	}
	defer func() { _ = file.Close() }()
	if o.truth, err = mot.ParseTruth(file, *truth); err != nil {
		return fmt.Errorf("-truth: %w", err)
	}
	folder, err := os.MkdirTemp("", "followtest")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if o.fps > 0 {
		paced := filepath.Join(folder, "clip.avi")
		if err := pace(paced, o.clip, o.fps); err != nil {
			return err
		}
		o.clip = paced
	} else if o.clip, err = filepath.Abs(o.clip); err != nil {
		return err
	}
	began := time.Now()
	runs, err := o.follow(ctx, folder, stderr)
	fmt.Fprintf(stderr, "followed in %v\n", time.Since(began).Round(time.Second))
	return errors.Join(b.print(stdout, runs), err)
}

// follow takes all runs, one after the other, and returns those that came to their end.
func (o *options) follow(ctx context.Context, folder string, progress io.Writer) (runs []result, err error) {
	take := func(name string, m mot.Mark, only int) error {
		if !strings.Contains(name, o.only) {
			return nil
		}
		fmt.Fprintf(progress, "%s …\n", name)
		r, err := o.once(ctx, folder, m, only)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.name = name
		runs = append(runs, *r)
		return nil
	}
	if err := take("ellipses", mot.MarkEllipse, 0); err != nil {
		return runs, err
	}
	if err := take("boxes", mot.MarkBox, 0); err != nil {
		return runs, err
	}
	width, height, err := size(o.clip)
	if err != nil {
		return runs, err
	}
	for _, id := range o.truth.Whole(int(o.sequence)+1, width, height) {
		if err := take(fmt.Sprintf("person %d alone", id), mot.MarkEllipse, id); err != nil {
			return runs, err
		}
	}
	return runs, nil
}
