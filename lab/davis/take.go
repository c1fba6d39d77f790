package davis

import (
	"fmt"
	"image"
	"math/rand/v2"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
)

// take is a clip as one run plays it.
type take struct {
	*clip.Clip
	change *change     // nil leaves the pictures as they are
	cut    image.Point // what is left of them then, from the upper left corner; zero: all
	still  *still      // what is shown instead of them; nil: they are
	inset  *inset      // they are put into; nil: none
	mark   *Mark       // of the first frame; nil: the true mask
}

// annotation marks the object in p, the take's first frame.
func (t *take) annotation(p *offline.Picture) (*annotation.Annotation, error) {
	if !slices.Contains(p.Truth, 1) {
		return nil, fmt.Errorf("%s marks no object", t.Truths[0])
	}
	if t.mark != nil {
		return t.mark.annotation(p), nil
	}
	return annotation.FromMask(p.Truth, p.Width, p.Height, objectID, t.Name)
}

// maxCut is how many rows or columns a change cuts off at most.
const maxCut = 4

// change is one of the tiny changes of a clip that should not matter.
type change struct {
	side    int // that pixels are cut off: left, right, top, bottom
	pixels  int // 1 to maxCut
	quality int // of the JPEG that the picture is coded as once more
	start   int // frames left out at the beginning
}

// drawChange draws a repeat's change. Others can draw the same: the order of the
// draws is part of what a seed means.
func drawChange(seed uint64, repeat int, c *clip.Clip) *change {
	rng := rand.New(rand.NewPCG(seed+uint64(repeat)<<32, c.Hash()))
	ch := &change{}
	ch.side = rng.IntN(4)
	ch.pixels = 1 + rng.IntN(maxCut)
	ch.quality = 90 + rng.IntN(8)
	ch.start = rng.IntN(3)
	return ch
}

// kept is what is left of a picture.
func (ch *change) kept(width, height int) image.Rectangle {
	r := image.Rect(0, 0, width, height)
	switch ch.side {
	case 0:
		r.Min.X += ch.pixels
	case 1:
		r.Max.X -= ch.pixels
	case 2:
		r.Min.Y += ch.pixels
	default:
		r.Max.Y -= ch.pixels
	}
	return r
}

// Read reads frame i, puts its object before the still picture, makes the change, and shrinks or cuts.
func (t *take) Read(i int) (*offline.Picture, error) {
	p, err := t.cropped(i)
	if err == nil && t.still != nil {
		p = t.still.apply(i, p)
	}
	if err == nil && t.change != nil {
		err = clip.Recode(p, t.change.quality)
	}
	if err != nil {
		return nil, err
	}
	if t.inset != nil {
		p = t.inset.apply(p)
	}
	if t.cut == (image.Point{}) {
		return p, nil
	}
	if p.Width < t.cut.X || p.Height < t.cut.Y {
		return nil, fmt.Errorf("%s is %d×%d; want %d×%d as the frames before it", t.Images[i], p.Width, p.Height, t.cut.X, t.cut.Y)
	}
	clip.Crop(p, image.Rectangle{Max: t.cut})
	return p, nil
}

func (t *take) cropped(i int) (*offline.Picture, error) {
	p, err := t.Clip.Read(i)
	if err != nil || t.change == nil {
		return p, err
	}
	r := t.change.kept(p.Width, p.Height)
	if r.Empty() {
		return nil, fmt.Errorf("%d×%d pixels; want more than the %d that are cut off", p.Width, p.Height, t.change.pixels)
	}
	clip.Crop(p, r)
	return p, nil
}

// from is the take from frame i on.
func (t *take) from(i int) *take { return t.frames(i, len(t.Images)) }

// frames is the take from frame i to the one before end.
func (t *take) frames(i, end int) *take {
	out := *t
	out.Clip = &clip.Clip{Name: t.Name, Images: t.Images[i:end], Truths: t.Truths[i:end]}
	if t.still != nil {
		out.still = &still{plate: t.still.plate, poses: t.still.poses[i:end]}
	}
	return &out
}

// take returns a clip as the given repeat plays it. That a first frame is empty is
// for follow to say, if the sequence is played as it is.
func (opt *Options) take(c *clip.Clip, repeat int) (*take, error) {
	t := &take{Clip: c}
	if opt.Repeat == 0 && !opt.Backwards {
		return t, nil
	}
	if opt.Backwards {
		t.Clip = &clip.Clip{Name: c.Name, Images: slices.Clone(c.Images), Truths: slices.Clone(c.Truths)}
		slices.Reverse(t.Images)
		slices.Reverse(t.Truths)
	}
	if opt.Repeat > 0 {
		t.change = drawChange(opt.Seed, repeat, c)
		t = t.from(min(t.change.start, len(t.Images)))
	}
	for i := range t.Images {
		p, err := t.cropped(i)
		if err != nil {
			return nil, err
		}
		if slices.Contains(p.Truth, 1) {
			return t.from(i), nil
		}
	}
	return t.from(len(t.Images)), nil
}

// open returns the takes of the wanted sequences, as takes does.
func (opt *Options) open() (all [][]*take, skipped []Skipped, err error) {
	if opt.Repeat < 0 {
		return nil, nil, fmt.Errorf("davis: %d repeats; want 1 or more, or 0 for a single run of the frames as they are", opt.Repeat)
	}
	if opt.Inset.X < 0 || opt.Inset.Y < 0 || (opt.Inset.X == 0) != (opt.Inset.Y == 0) {
		return nil, nil, fmt.Errorf("davis: inset %d×%d; want a frame of at least 1×1, or 0×0 for none", opt.Inset.X, opt.Inset.Y)
	}
	clips, err := clip.Open(opt.Root, opt.Sequences)
	if err != nil {
		return nil, nil, err
	}
	return opt.takes(clips)
}

// reach is how far outlines may be apart in pictures as t reads them: as far as in the sequence
// before anything was put around it.
func (t *take) reach(p *offline.Picture) int {
	if t.inset != nil {
		return boundaryReach(t.inset.at.Dx(), t.inset.at.Dy())
	}
	return boundaryReach(p.Width, p.Height)
}

// takes returns the takes of each sequence, one for each repeat, and the sequences of
// which one is too short.
func (opt *Options) takes(clips []*clip.Clip) (all [][]*take, skipped []Skipped, err error) {
	for _, c := range clips {
		var takes []*take
		reason := ""
		for repeat := range max(1, opt.Repeat) {
			t, err := opt.take(c, repeat)
			if err != nil {
				return nil, nil, fmt.Errorf("davis: %s: %w", c.Name, err)
			}
			if reason = opt.Perturb.tooShort(len(t.Images)); reason != "" {
				break
			}
			if opt.Stabilise {
				if t.still, err = newStill(t); err != nil {
					return nil, nil, fmt.Errorf("davis: %s: %w", c.Name, err)
				}
			}
			if opt.Inset != (image.Point{}) {
				if t.inset, err = newInset(t, opt.Inset); err != nil {
					return nil, nil, fmt.Errorf("davis: %s: %w", c.Name, err)
				}
			}
			takes = append(takes, t)
		}
		if reason != "" {
			skipped = append(skipped, Skipped{c.Name, reason})
		} else {
			all = append(all, takes)
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("davis: no sequence is long enough: %s has %s", skipped[0].Name, skipped[0].Reason)
	}
	return all, skipped, nil
}
