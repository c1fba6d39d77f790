package hider

import (
	"cmp"
	"image"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/tracker"
)

const (
	// objectFor and sightFor are how long the last place of an object, or of what was detected and is none, is hidden at
	// least.
	objectFor = 2 * time.Second
	sightFor  = time.Second
	// staleLooks is after how many looks that did not come it is not known what is in the picture.
	staleLooks = 3
	// walk is how far a person walks in a second, in heights: 1.4 m of 1.75.
	walk = 0.8
	// sameIoU is that of two boxes of one thing.
	sameIoU = 0.5
	// maxPlaces bounds what is remembered; beyond it all of the picture is hidden.
	maxPlaces = 256
)

// A Frame is what is known of one.
type Frame struct {
	Time   time.Duration // of the stream
	Result *tracker.Result
	Table  objects.Table // with what Result says of them
	Found  []features.Detection
	Looked []image.Rectangle // where all is found
}

// A Hider says what is to be hidden in a camera's frames, one after the other.
type Hider struct {
	cfg    privacy.Config
	size   image.Point
	looked bool // all of a picture was looked at, the last time at
	at     time.Duration
	places []place
	// Of the frame in hand:
	known []known // objects that need no place of their detection's
	pairs []pair
	taken []bool // by detection: it is of an object that is known
}

// place is where something is, or was.
type place struct {
	object  uint32 // 0: it was detected, and is none
	box     image.Rectangle
	seen    time.Duration // there
	checked time.Duration // that it was looked for there
	fill    bool
	masked  bool // a mask hides it in the frame in hand
}

// known is where an object is that is hidden or, but for an exception, would be.
type known struct {
	box   image.Rectangle
	class string // of what it is detected as
	taken bool   // its detection was found
}

// pair is a known object and a detection that may be of it.
type pair struct {
	known, found int
	iou          float64
}

// New returns one that has seen no frame.
func New(c privacy.Config) *Hider { return &Hider{cfg: c} }

// Step takes the next frame.
func (h *Hider) Step(f *Frame) *privacy.Cover {
	size := image.Pt(f.Result.Width, f.Result.Height)
	if size != h.size {
		*h = Hider{cfg: h.cfg, size: size}
	}
	// What is large is looked for in the frame after a look.
	whole := !h.looked || f.Time-h.at > staleLooks*h.cfg.Every
	all := image.Rectangle{Max: size}
	if slices.ContainsFunc(f.Looked, all.In) {
		h.looked, h.at = true, f.Time
	}
	c := &privacy.Cover{Size: size, Operators: h.cfg.Operators}
	h.known = h.known[:0]
	for i := range h.places {
		h.places[i].masked = false
	}
	for _, o := range f.Table.All() {
		h.object(c, f, &o)
	}
	h.detections(f)
	h.forget(f)
	if whole || h.cfg.Every == 0 || len(h.places) > maxPlaces {
		return h.cfg.Cover(size.X, size.Y)
	}
	for _, p := range h.places {
		if !p.masked {
			box := p.box.Inset(-int(math.Ceil(walk * float64(p.box.Dy()) * (f.Time - p.checked).Seconds())))
			c.Parts = append(c.Parts, h.part(privacy.Part{Box: box, Fill: p.fill}, p.box))
		}
	}
	return c
}

// part is p of something that is all in a box.
func (h *Hider) part(p privacy.Part, box image.Rectangle) privacy.Part {
	p.Side = max(box.Dx(), box.Dy())
	p.Margin = int(math.Ceil(h.cfg.Margin * float64(p.Side)))
	return p
}

// style is how a thing of these names is hidden, if it is.
func (h *Hider) style(names ...string) (fill, hidden bool) {
	for _, n := range names {
		fill = fill || slices.Contains(h.cfg.Fill, n)
		hidden = hidden || fill || slices.Contains(h.cfg.Blur, n)
	}
	return fill, hidden
}

// object hides an object, if it is to be hidden.
func (h *Hider) object(c *privacy.Cover, f *Frame, o *objects.Object) {
	var r tracker.Object
	if k := slices.IndexFunc(f.Result.Objects, func(r tracker.Object) bool { return r.ID == o.ID }); k >= 0 {
		r = f.Result.Objects[k]
	}
	fill, hidden := h.style(o.Class, o.Label)
	except := h.cfg.ExceptKept && !o.Automatic()
	seen, box := r.Area > 0, r.Extent.Union(r.Box)
	if seen && hidden {
		class := o.Class
		if class == "" {
			class = o.Label
		}
		h.known = append(h.known, known{box: box, class: class})
	}
	if (!hidden || box.Empty()) && !except { // of one that is lost its last place is hidden
		return
	}
	h.places = slices.DeleteFunc(h.places, func(p place) bool { return p.object == o.ID })
	if except {
		return
	}
	h.places = append(h.places, place{object: o.ID, box: box, seen: f.Time, checked: f.Time, fill: fill, masked: seen})
	if seen {
		c.Parts = append(c.Parts, h.part(privacy.Part{Mask: r.Mask, Box: r.Box, Fill: fill}, box))
	}
}

// detections hides what was detected and is no object.
func (h *Hider) detections(f *Frame) {
	h.match(f.Found)
	for i := range f.Found {
		d := &f.Found[i]
		fill, hidden := h.style(d.Class)
		if !hidden || h.taken[i] {
			continue
		}
		was, most := -1, sameIoU
		for k, p := range h.places {
			if iou := features.IoU(p.box, d.Box); p.object == 0 && p.seen < f.Time && iou >= most {
				was, most = k, iou
			}
		}
		now := place{box: d.Box, seen: f.Time, checked: f.Time, fill: fill}
		if was >= 0 {
			h.places[was] = now
		} else {
			h.places = append(h.places, now)
		}
	}
}

// match marks the detections as taken that are of objects which are known: each of one of its class, those first that fit
// best.
func (h *Hider) match(found []features.Detection) {
	h.taken = slices.Grow(h.taken[:0], len(found))[:len(found)]
	clear(h.taken)
	h.pairs = h.pairs[:0]
	for k, known := range h.known {
		for i, d := range found {
			if iou := features.IoU(known.box, d.Box); known.class == d.Class && iou >= sameIoU {
				h.pairs = append(h.pairs, pair{k, i, iou})
			}
		}
	}
	slices.SortStableFunc(h.pairs, func(a, b pair) int { return cmp.Compare(b.iou, a.iou) })
	for _, p := range h.pairs {
		if k := &h.known[p.known]; !k.taken && !h.taken[p.found] {
			k.taken, h.taken[p.found] = true, true
		}
	}
}

// forget notes what was looked at, and forgets what has been hidden for long enough.
func (h *Hider) forget(f *Frame) {
	all := image.Rectangle{Max: h.size}
	h.places = slices.DeleteFunc(h.places, func(p place) bool { return p.box.Intersect(all).Empty() })
	for i := range h.places {
		if p := &h.places[i]; slices.ContainsFunc(f.Looked, p.box.Intersect(all).In) {
			p.checked = f.Time
		}
	}
	h.places = slices.DeleteFunc(h.places, func(p place) bool {
		least := sightFor
		if p.object != 0 {
			least = objectFor
		}
		return f.Time-p.seen > least && p.checked > p.seen
	})
}
