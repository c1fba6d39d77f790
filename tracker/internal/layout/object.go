package layout

import (
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scratch"
)

const (
	layoutCells = 128 // of a layout, about
	fewestCells = 4   // along each of its sides
	mostCells   = 32

	present = 0.2 // occupancy from which on a cell counts
	shifted = 0.7 // what the colour of the next cell counts: limbs move
)

// Object is one object: its layout, where it is and how it moves. Of the zero value nothing
// is known.
type Object struct {
	// Found is whether it is found in the newest picture.
	Found bool

	seq uint64 // of the picture in which it was looked for last

	columns, rows int
	first, now    []colour  // rows×columns: its colours when it was marked, and lately
	occupied      []float32 // rows×columns: how likely it is there

	x, y, w, h float64 // middle and size of its box
	foundW     float64 // its size when it was found last
	foundH     float64
	vx, vy     float64 // motion in a frame of the camera

	match   float64 // share of it that the newest picture shows where it is
	typical float64 // running mean of that

	marked, lately features.Appearance // when it was marked, and since, while it was certain
	similarity     float64             // running mean of that of what is seen where it is, to them
	certain        bool                // it cannot be somebody else
	returned       bool                // it was hidden since it was certain
	apart          int                 // pictures since it was in contact with anything

	age    int  // pictures
	unseen int  // frames of the camera since it was found
	missed int  // of these, nobody looked
	left   bool // it was at the picture's border then
	hits   int  // pictures in a row in which it seemed to be back

	recalled bool // it was marked in a picture of another time, and not certainly found since
	stood    bool // it may stand there since before anybody saw what is behind it
}

// Recall makes o, which was marked in the picture last looked at, one that was seen there long
// ago, frames of the camera: it may be anywhere by now, and somebody else where it was.
func (o *Object) Recall(frames int) {
	if !o.Known() {
		return
	}
	o.Found, o.certain, o.left, o.recalled, o.stood = false, false, false, true, true
	o.unseen, o.hits, o.vx, o.vy = frames, 0, 0, 0
}

// Known tells whether anything is known of o.
func (o *Object) Known() bool { return o.rows > 0 }

// Forget makes o one of which nothing is known.
func (o *Object) Forget() {
	*o = Object{first: o.first[:0], now: o.now[:0], occupied: o.occupied[:0], marked: o.marked[:0], lately: o.lately[:0]}
}

// Clone shares nothing with o.
func (o *Object) Clone() *Object {
	c := *o
	c.first, c.now, c.occupied = slices.Clone(o.first), slices.Clone(o.now), slices.Clone(o.occupied)
	c.marked, c.lately = slices.Clone(o.marked), slices.Clone(o.lately)
	return &c
}

// place makes o one that was just found in a box, with a layout of the box's proportions.
func (o *Object) place(x, y, w, h float64) {
	o.Forget()
	o.Found = true
	o.x, o.y, o.w, o.h = x, y, max(w, 1), max(h, 1)
	o.foundW, o.foundH = o.w, o.h
	o.columns = min(max(int(math.Round(math.Sqrt(layoutCells*o.w/o.h))), fewestCells), mostCells)
	o.rows = min(max(layoutCells/o.columns, fewestCells), mostCells)
	n := o.columns * o.rows
	o.first, o.now, o.occupied = scratch.Zero(o.first, n), scratch.Zero(o.now, n), scratch.Zero(o.occupied, n)
}

// middle of layout cell k if the object is at x, y and as large as w×h.
func (o *Object) middle(k int, x, y, w, h float64) (cx, cy float64) {
	return x - w/2 + (float64(k%o.columns)+.5)*w/float64(o.columns), y - h/2 + (float64(k/o.columns)+.5)*h/float64(o.rows)
}

// cellAt is the layout's cell at a point or, if it lies outside, the nearest.
func (o *Object) cellAt(x, y float64) (k int, inside bool) {
	u, v := int(math.Floor(((x-o.x)/o.w+.5)*float64(o.columns))), int(math.Floor(((y-o.y)/o.h+.5)*float64(o.rows)))
	cu, cv := min(max(u, 0), o.columns-1), min(max(v, 0), o.rows-1)
	return cv*o.columns + cu, u == cu && v == cv
}

// fits is how likely the object is in cell k and has colour c there.
func (o *Object) fits(k int, c colour) float32 {
	if o.occupied[k] < present {
		return 0
	}
	return o.occupied[k] * max(alike(o.now[k], c), alike(o.first[k], c))
}

// fitsAbout is fits of cell k, or of one at most reach away that fits better.
func (o *Object) fitsAbout(k int, c colour, reach int) float32 {
	return o.most(k, reach, func(k int) float32 { return o.fits(k, c) })
}

// room is how likely the object is in cell k, or the next.
func (o *Object) room(k int) float32 {
	return o.most(k, 1, func(k int) float32 { return o.occupied[k] })
}

// part is how likely colour c is one of o's in cell k, known or not.
func (o *Object) part(k int, c colour) float32 { return o.fitsAbout(k, c, 1) + unknown*o.room(k) }

// most is the most that value is in cell k, or in one at most reach away, where it counts
// less.
func (o *Object) most(k, reach int, value func(k int) float32) float32 {
	most := value(k)
	if reach == 0 {
		return most
	}
	cx, cy := k%o.columns, k/o.columns
	for y := max(0, cy-reach); y <= min(o.rows-1, cy+reach); y++ {
		for x := max(0, cx-reach); x <= min(o.columns-1, cx+reach); x++ {
			if other := y*o.columns + x; other != k {
				most = max(most, shifted*value(other))
			}
		}
	}
	return most
}

// holds tells whether a point is in o's box.
func (o *Object) holds(x, y float64) bool {
	return math.Abs(x-o.x) <= o.w/2 && math.Abs(y-o.y) <= o.h/2
}
