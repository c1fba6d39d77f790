package soak

import (
	"context"
	"fmt"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// Options say what to follow for how long.
type Options struct {
	Root, Sequence string // as davis.Options
	ModelName      string
	Model          features.Model
	Features       features.Config
	Tracker        tracker.Config
	Frames         int // more than Warm
	Progress       func(done, total int)
}

// Report is what a long run took.
type Report struct {
	Sequence   string  `json:"sequence"`
	Model      string  `json:"model"`
	Frames     int     `json:"frames"`
	MSPerFrame float64 `json:"ms_per_frame"` // wall time, reading excluded
	J          float64 `json:"j"`            // mean over all frames but the first
	Memory
}

// Run follows a sequence that is played forwards and backwards over and over, from
// the first frame's truth on, and watches the process' resident memory.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if err := checkFrames(opt.Frames); err != nil {
		return nil, err
	}
	clips, err := clip.Open(opt.Root, []string{opt.Sequence})
	if err != nil {
		return nil, err
	}
	c := clips[0]
	w, err := offline.NewCamera(opt.Model, opt.Features, opt.Tracker, marking.Config{}, nil)
	if err != nil {
		return nil, err
	}
	report := &Report{Sequence: c.Name, Model: opt.ModelName, Frames: opt.Frames}
	var rss watched
	for i := range opt.Frames {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := c.Read(toAndFro(i, len(c.Images)))
		if err != nil {
			return nil, fmt.Errorf("soak: %w", err)
		}
		p.Time = clip.Time(i)
		var ann *annotation.Annotation
		if i == 0 {
			if ann, err = annotation.FromMask(p.Truth, p.Width, p.Height, 1, c.Name); err != nil {
				return nil, fmt.Errorf("soak: %w", err)
			}
		}
		res, err := w.Step(ctx, i, p, ann, false)
		if err != nil {
			return nil, fmt.Errorf("soak: frame %d: %w", i, err)
		}
		report.MSPerFrame += res.Took.Total() / float64(opt.Frames)
		if i > 0 {
			report.J += mask.IoU(res.Objects[0].Mask, mask.Encode(p.Truth, p.Width, p.Height)) / float64(opt.Frames-1)
		}
		if err := rss.note(i + 1); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(i+1, opt.Frames)
		}
	}
	report.Memory = rss.report()
	return report, nil
}

// toAndFro is the frame shown as the i-th when n are played forwards and backwards.
func toAndFro(i, n int) int {
	if n == 1 {
		return 0
	}
	i %= 2*n - 2
	return min(i, 2*n-2-i)
}
