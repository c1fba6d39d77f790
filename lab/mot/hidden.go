package mot

import (
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/privacy/hider"
)

// Hiding says what is hidden of what a detector finds.
type Hiding struct {
	Detector Detector // nil: the model's heads detect
	Every    int      // frames from one look at all of a picture to the next
	Marking  marking.Config
	Privacy  privacy.Config // its Every is not looked at
}

// HiddenReport is the outcome, in the stable form `segd eval privacy --json` prints.
type HiddenReport struct {
	FirstFrame int `json:"first_frame"`
	LastFrame  int `json:"last_frame"`
	// Persons is the foreground in true boxes, Masks what has a mask, or has had one less than a second ago and is out of
	// sight: its extent then.
	Persons Hidden `json:"persons"`
	Masks   Hidden `json:"masks"`
	// Elsewhere are the pixels outside of all true boxes.
	Elsewhere    Hidden         `json:"elsewhere"`
	WholeFrames  int            `json:"whole_frames"` // in which all of the picture was hidden
	PerPerson    []HiddenPerson `json:"per_person"`
	Milliseconds float64        `json:"hide_ms_per_frame"` // of hiding alone; the mean
}

// Hidden counts pixels, of all frames together.
type Hidden struct {
	Pixels int     `json:"pixels"`
	Hidden int     `json:"hidden"`
	Share  float64 `json:"share"` // 1 without pixels
}

// HiddenPerson is the foreground in a person's true boxes.
type HiddenPerson struct {
	ID int `json:"id"`
	Hidden
}

func (h *Hidden) count(hidden bool) {
	h.Pixels++
	if hidden {
		h.Hidden++
	}
}

func (h *Hidden) conclude() {
	if h.Share = 1; h.Pixels > 0 {
		h.Share = float64(h.Hidden) / float64(h.Pixels)
	}
}

// foregroundFrom is by how much, of 255, some channel of a pixel differs from the background where it is not that: more
// than what noise and compression make of it.
const foregroundFrom = 30

// maxBackground bounds the pictures that the background is the median of.
const maxBackground = 64

// RunHidden counts what a camera would hide of the true persons: of the pixels in their boxes those that differ from the
// median of the video's pictures. Opt's Follow, Mark and Boxes are not looked at.
func RunHidden(ctx context.Context, opt Options, hide Hiding) (*HiddenReport, error) {
	if err := opt.frames(); err != nil {
		return nil, err
	}
	if hide.Every < 1 {
		return nil, fmt.Errorf("mot: a look every %d frames; want 1 or more", hide.Every)
	}
	r := &hidingRun{
		opt: &opt, every: hide.Every, last: map[uint32]time.Duration{}, persons: map[int]*Hidden{},
		report: &HiddenReport{FirstFrame: opt.First, LastFrame: opt.Last},
	}
	var interval time.Duration
	var err error
	if r.background, interval, err = background(ctx, opt.Video); err != nil {
		return nil, fmt.Errorf("mot: %w", err)
	}
	hide.Privacy.Every = time.Duration(hide.Every) * interval
	r.hider = hider.New(hide.Privacy)
	if r.camera, err = offline.NewCamera(opt.Model, opt.Features, opt.Tracker, hide.Marking, hide.Detector); err != nil {
		return nil, err
	}
	if err := opt.play(ctx, r.show); err != nil {
		return nil, err
	}
	for _, id := range opt.Truth.IDs() {
		if h := r.persons[id]; h != nil {
			h.conclude()
			r.report.PerPerson = append(r.report.PerPerson, HiddenPerson{id, *h})
		}
	}
	for _, h := range []*Hidden{&r.report.Persons, &r.report.Masks, &r.report.Elsewhere} {
		h.conclude()
	}
	r.report.Milliseconds = float64(r.took.Microseconds()) / 1000 / float64(opt.Last-opt.First+1)
	return r.report, nil
}

// background is the median of a video's pictures, or of some spread over it, and the mean time from one to the next.
func background(ctx context.Context, video Video) (median []byte, interval time.Duration, err error) {
	var kept [][]byte
	step, n := 1, 0
	err = video(ctx, func(p *Picture) error {
		if n > 0 {
			interval = p.Time / time.Duration(n)
		}
		if n++; (n-1)%step != 0 {
			return ctx.Err()
		}
		if len(kept) > 0 && len(p.BGR) != len(kept[0]) {
			return fmt.Errorf("frame %d has %d bytes; want %d as before", n, len(p.BGR), len(kept[0]))
		}
		if kept = append(kept, slices.Clone(p.BGR)); len(kept) > maxBackground {
			step *= 2
			for i := range (len(kept) + 1) / 2 {
				kept[i] = kept[2*i]
			}
			kept = kept[:(len(kept)+1)/2]
		}
		return ctx.Err()
	})
	if err != nil || len(kept) == 0 {
		return nil, 0, err
	}
	median = make([]byte, len(kept[0]))
	values := make([]byte, len(kept))
	for i := range median {
		for k := range kept {
			values[k] = kept[k][i]
		}
		slices.Sort(values)
		median[i] = values[len(values)/2]
	}
	return median, interval, nil
}

// hidingRun is one pass over the video.
type hidingRun struct {
	opt        *Options
	every      int
	background []byte
	camera     *offline.Camera
	hider      *hider.Hider
	took       time.Duration
	last       map[uint32]time.Duration // by object: when it had a mask
	persons    map[int]*Hidden
	report     *HiddenReport

	hidden, bits, scratch []uint8
}

// show takes the next frame.
func (r *hidingRun) show(ctx context.Context, frame int, p *Picture) error {
	if len(p.BGR) != len(r.background) {
		return fmt.Errorf("it has %d×%d pixels; want the background's", p.Width, p.Height)
	}
	res, err := r.camera.Step(ctx, frame-1, p, nil, (frame-r.opt.First)%r.every == 0)
	if err != nil {
		return err
	}
	r.count(frame, p, &res)
	return nil
}

// count hides in a frame, and counts what is.
func (r *hidingRun) count(frame int, p *Picture, res *offline.Followed) {
	start := time.Now()
	cover := r.hider.Step(&hider.Frame{Time: p.Time, Result: res.Result, Table: res.Table, Found: res.Found, Looked: res.Looked})
	privacy.NewPicture(p.BGR, cover, &r.scratch).BGR(false)
	r.took += time.Since(start)
	if cover.Whole {
		r.report.WholeFrames++
	}
	r.hidden = append(r.hidden[:0], make([]uint8, p.Width*p.Height)...)
	cover.Bits(r.hidden)
	all := image.Rect(0, 0, p.Width, p.Height)

	for _, o := range res.Objects {
		switch {
		case o.Area > 0:
			r.last[o.ID] = p.Time
			r.bits = o.Mask.Decode(r.bits)
			for i, b := range r.bits {
				if b != 0 {
					r.report.Masks.count(r.hidden[i] != 0)
				}
			}
		case p.Time-r.last[o.ID] <= time.Second:
			each(o.Extent.Intersect(all), p.Width, func(i int) { r.report.Masks.count(r.hidden[i] != 0) })
		}
	}
	const inside, counted = 1, 2 // boxes overlap
	r.bits = append(r.bits[:0], make([]uint8, p.Width*p.Height)...)
	for _, id := range r.opt.Truth.IDs() {
		e, there := r.opt.Truth.boxes[id][frame]
		if !there {
			continue
		}
		box := image.Rect(int(e.box.Left), int(e.box.Top), int(e.box.Left+e.box.Width), int(e.box.Top+e.box.Height)).Intersect(all)
		person := r.persons[id]
		if person == nil {
			person = new(Hidden)
			r.persons[id] = person
		}
		each(box, p.Width, func(i int) {
			r.bits[i] = max(r.bits[i], inside)
			if e.ignored || !differs(p.BGR[3*i:3*i+3], r.background[3*i:3*i+3]) {
				return
			}
			person.count(r.hidden[i] != 0)
			if r.bits[i] != counted {
				r.bits[i] = counted
				r.report.Persons.count(r.hidden[i] != 0)
			}
		})
	}
	for i, in := range r.bits {
		if in == 0 {
			r.report.Elsewhere.count(r.hidden[i] != 0)
		}
	}
}

// each calls f with each pixel of a box.
func each(box image.Rectangle, width int, f func(i int)) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			f(y*width + x)
		}
	}
}

func differs(a, b []byte) bool {
	for i := range a {
		if d := int(a[i]) - int(b[i]); d >= foregroundFrom || d <= -foregroundFrom {
			return true
		}
	}
	return false
}
