package foreground

import (
	"context"
	"errors"
	"fmt"
	"image"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// Options say what to run.
type Options struct {
	Root      string
	Sequences []string // nil means all
	Model     features.Model
	ModelName string
	Features  features.Config
	Tracker   tracker.Config
	Marking   marking.Config
	Every     int                   // frames from one look at all of a picture to the next
	Progress  func(done, total int) // frames; nil: it is not called
	// Picture is called after each frame; its error ends the run. nil: it is not called.
	Picture func(sequence string, frame int, p Picture) error
}

// Picture is a frame, valid during the Picture callback.
type Picture struct {
	Image  image.Image
	Truth  []uint8 // a byte a pixel, 1 in the foreground
	Result *tracker.Result
}

// Report is the outcome, in the stable form `segd eval foreground --json` prints.
type Report struct {
	Mode      string     `json:"mode"`
	Model     string     `json:"model"`
	Sequences []Sequence `json:"sequences"`
}

// Sequence is one video. J, Extra and Missed are means over the frames of whose pixels leastShare are foreground.
type Sequence struct {
	Name   string  `json:"name"`
	J      float64 `json:"j"`      // the union of all masks and the foreground, intersection over union
	Later  float64 `json:"later"`  // that of the second half of these frames
	Extra  float64 `json:"extra"`  // of the masks' area, outside of the foreground, over the foreground's
	Missed float64 `json:"missed"` // of the foreground, outside of all masks
	Frames int     `json:"frames"` // these frames
	// Masks are those taller than leastHeight pixels, Straight the share of them that has a straight side.
	Masks    int     `json:"masks"`
	Straight float64 `json:"straight"`
	// Truths are the connected parts of the foreground that are as tall, TrueStraight the share of these.
	Truths       int     `json:"truths"`
	TrueStraight float64 `json:"true_straight"`
	// Visible are the objects in sight, summed over all frames, Estimated the share of them that DC-ADMM estimated.
	Visible   int     `json:"visible"`
	Estimated float64 `json:"estimated"`
}

const (
	leastShare   = 0.004 // of a frame's pixels
	leastHeight  = 24    // of what may have straight sides
	straightPart = 0.3   // of the height: so long a run of one side's pixels in one column is straight
)

// Run plays each sequence to a camera of its own.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Every < 1 {
		return nil, fmt.Errorf("foreground: a look every %d frames; want 1 or more", opt.Every)
	}
	clips, err := clip.Open(opt.Root, opt.Sequences)
	if err != nil {
		return nil, err
	}
	frames, done := 0, 0
	for _, c := range clips {
		frames += len(c.Images)
	}
	r := &Report{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName}
	for _, c := range clips {
		camera, err := offline.NewCamera(opt.Model, opt.Features, opt.Tracker, opt.Marking, nil)
		if err != nil {
			return nil, err
		}
		var s sums
		for i := range c.Images {
			p, err := c.Read(i)
			if err != nil {
				return nil, err
			}
			got, err := camera.Step(ctx, i, p, nil, i%opt.Every == 0)
			if err != nil {
				return nil, fmt.Errorf("foreground: %s, frame %d: %w", c.Name, i, err)
			}
			s.add(p, got.Result)
			if opt.Picture != nil {
				if err := opt.Picture(c.Name, i, Picture{clip.Image(p), p.Truth, got.Result}); err != nil {
					return nil, err
				}
			}
			if done++; opt.Progress != nil {
				opt.Progress(done, frames)
			}
		}
		one, err := s.sequence(c.Name)
		if err != nil {
			return nil, err
		}
		r.Sequences = append(r.Sequences, one)
	}
	return r, nil
}

// sums are those over a sequence's frames.
type sums struct {
	j                                     []float64
	extra, missed                         float64
	masks, straight, truths, trueStraight int
	visible, estimated                    int
}

func (s *sums) add(p *offline.Picture, r *tracker.Result) {
	union := make([]uint8, len(p.Truth))
	for k := range r.Objects {
		o := &r.Objects[k]
		if o.State != tracker.Visible {
			continue
		}
		s.visible++
		own := o.Mask.Decode(nil)
		for i, v := range own {
			union[i] |= v
		}
		count(&s.masks, &s.straight, own, p.Width)
	}
	s.estimated += r.Solve.Estimated
	for _, part := range parts(p.Truth, p.Width) {
		count(&s.truths, &s.trueStraight, part, p.Width)
	}
	var both, masked, truth int
	for i, t := range p.Truth {
		both, masked, truth = both+int(t&union[i]), masked+int(union[i]), truth+int(t)
	}
	if float64(truth) < leastShare*float64(len(p.Truth)) {
		return
	}
	s.j = append(s.j, float64(both)/float64(masked+truth-both))
	s.extra += float64(masked-both) / float64(truth)
	s.missed += float64(truth-both) / float64(truth)
}

func (s *sums) sequence(name string) (Sequence, error) {
	if len(s.j) == 0 {
		return Sequence{}, fmt.Errorf("foreground: %s: %w", name, errNoForeground)
	}
	n := float64(len(s.j))
	return Sequence{
		Name: name, J: stats.Mean(s.j), Later: stats.Mean(s.j[len(s.j)/2:]), Extra: s.extra / n, Missed: s.missed / n, Frames: len(s.j),
		Masks: s.masks, Straight: share(s.straight, s.masks), Truths: s.truths, TrueStraight: share(s.trueStraight, s.truths),
		Visible: s.visible, Estimated: share(s.estimated, s.visible),
	}, nil
}

var errNoForeground = errors.New("no frame has foreground; want 4 in 1000 of its pixels")

func share(part, of int) float64 { return float64(part) / float64(max(1, of)) }

// count counts a mask that is tall enough, and whether it has a straight side.
func count(all, straight *int, bits []uint8, width int) {
	if is, tall := HasStraightSide(bits, width, straightPart); tall {
		*all++
		if is {
			*straight++
		}
	}
}

// HasStraightSide tells whether the outermost pixels on the left or on the right lie in one column for that part of the mask's height, and
// whether the mask is tall enough to tell. A side on the picture's border is not counted: the picture is straight.
func HasStraightSide(bits []uint8, width int, part float64) (straight, tall bool) {
	top, bottom := -1, -1
	longest, run, last := [2]int{}, [2]int{}, [2]int{-1, -1}
	for y := range len(bits) / width {
		row := bits[y*width:][:width]
		sides := [2]int{-1, -1}
		for x, v := range row {
			if v != 0 {
				if sides[0] < 0 {
					sides[0] = x
				}
				sides[1] = x
			}
		}
		if sides[0] >= 0 {
			if bottom = y; top < 0 {
				top = y
			}
		}
		for k, x := range sides {
			switch border := x <= 0 || x == width-1; {
			case border:
				run[k] = 0
			case x == last[k]:
				run[k]++
			default:
				run[k] = 1
			}
			longest[k], last[k] = max(longest[k], run[k]), x
		}
	}
	height := bottom - top + 1
	tall = top >= 0 && height > leastHeight
	return tall && float64(max(longest[0], longest[1])) > part*float64(height), tall
}

// parts are the 4-connected parts of a mask.
func parts(bits []uint8, width int) (made [][]uint8) {
	seen := make([]bool, len(bits))
	for start, v := range bits {
		if v == 0 || seen[start] {
			continue
		}
		part, queue := make([]uint8, len(bits)), []int{start}
		seen[start] = true
		for len(queue) > 0 {
			at := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			part[at] = 1
			for _, next := range [4]int{at - width, at + width, at - 1, at + 1} {
				if next < 0 || next >= len(bits) || seen[next] || bits[next] == 0 || (next-at)*(next-at) == 1 && next/width != at/width {
					continue
				}
				seen[next] = true
				queue = append(queue, next)
			}
		}
		made = append(made, part)
	}
	return made
}
