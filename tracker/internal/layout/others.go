package layout

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/scratch"
)

const (
	maxOthers   = 12
	otherLeast  = 0.2 // of the smallest object's box must have changed
	otherMost   = 4   // times that box the other's may be
	otherUnseen = 10  // frames of the camera after which one that is hidden is forgotten
	restPlaces  = 2   // cells within which one rests
	restFor     = 20  // pictures after which one that rests is background
	coarse      = 2   // cells of the grid along one of those in which changes are looked for
)

// other is somebody whom nobody marked.
type other struct {
	Object
	restX, restY float64
	rest         int // pictures
}

func (f *Follower) dropAll() {
	f.spare = append(f.spare, f.others...)
	f.others = f.others[:0]
}

// drop forgets the others for which gone holds.
func (f *Follower) drop(gone func(o *other) bool) {
	f.others = slices.DeleteFunc(f.others, func(o *other) bool {
		if !gone(o) {
			return false
		}
		f.spare = append(f.spare, o)
		return true
	})
}

// dropAt forgets others in a box: it was marked.
func (f *Follower) dropAt(x, y, w, h float64) {
	box := Object{x: x, y: y, w: w, h: h}
	f.drop(func(o *other) bool { return box.holds(o.x, o.y) || o.holds(x, y) })
	f.all = slices.DeleteFunc(f.all, func(o *Object) bool { return !o.marked && (box.holds(o.x, o.y) || o.holds(x, y)) })
}

// dropGone forgets others that are gone, or do not move any more: these are background.
func (f *Follower) dropGone() {
	f.drop(func(o *other) bool {
		if math.Hypot(o.x-o.restX, o.y-o.restY) > restPlaces {
			o.restX, o.restY, o.rest = o.x, o.y, 0
		}
		o.rest++
		if o.rest > restFor {
			f.grid.within(o.x, o.y, o.w, o.h, func(gx, gy int) {
				if i := gy*f.grid.width + gx; !f.covered[i] {
					f.background.colour[i] = f.grid.at(gx, gy)
				}
			})
		}
		inside := o.x >= 0 && o.y >= 0 && o.x < float64(f.grid.width) && o.y < float64(f.grid.height)
		return !inside || o.unseen > otherUnseen || o.rest > restFor
	})
}

// meetOthers follows what has changed in the picture and is nobody who is followed already.
// What comes to light near a hidden object may be that.
func (f *Follower) meetOthers() {
	size, tall := math.Inf(1), 0.0
	for _, o := range f.all {
		if o.marked {
			size, tall = min(size, o.w*o.h), max(tall, o.h)
		}
	}
	if math.IsInf(size, 1) {
		return
	}
	wide, high := f.grid.width/coarse, f.grid.height/coarse
	f.findChanges(wide, high)
	for i := range f.moving {
		if f.moving[i] == 0 {
			continue
		}
		x, y, w, h, cells := f.changedPiece(i, wide, high)
		if len(f.others) == maxOthers || cells < otherLeast*size || w*h > otherMost*size {
			continue
		}
		if slices.ContainsFunc(f.all, func(o *Object) bool {
			return o.marked && !o.Found && math.Hypot(x-o.x, y-o.y) < tall
		}) {
			continue
		}
		o := &other{}
		if n := len(f.spare); n > 0 {
			o, f.spare = f.spare[n-1], f.spare[:n-1]
		}
		o.rest = 0
		f.begin(&o.Object, x, y, w, h)
		f.others, f.all = append(f.others, o), append(f.all, &o.Object)
	}
}

// findChanges sets f.moving, wide×high: what has changed, and is not near anybody.
func (f *Follower) findChanges(wide, high int) {
	f.moving = scratch.Zero(f.moving, wide*high)
	for y := range high {
		for x := range wide {
			i := (y*coarse+coarse/2)*f.grid.width + x*coarse + coarse/2
			if f.background.seen[i] > 1 && alike(f.background.colour[i], f.grid.mean(x*coarse, y*coarse, (x+1)*coarse, (y+1)*coarse)) < changed {
				f.moving[y*wide+x] = 1
			}
		}
	}
	for _, o := range f.all {
		mx, my := coverBox/2*o.w+2, coverBox/2*o.h+2
		for y := max(0, int(o.y-my)/coarse); y <= min(high-1, int(o.y+my)/coarse); y++ {
			for x := max(0, int(o.x-mx)/coarse); x <= min(wide-1, int(o.x+mx)/coarse); x++ {
				f.moving[y*wide+x] = 0
			}
		}
	}
}

// changedPiece takes the 8-connected piece of f.moving that cell i is of out of it: the middle
// and size of its box, and its area, in cells of the grid.
func (f *Follower) changedPiece(i, wide, high int) (x, y, w, h, cells float64) {
	left, top, right, bottom, n := wide, high, 0, 0, 0
	f.moving[i] = 0
	for f.stack = append(f.stack[:0], int32(i)); len(f.stack) > 0; n++ {
		at := int(f.stack[len(f.stack)-1])
		f.stack = f.stack[:len(f.stack)-1]
		cx, cy := at%wide, at/wide
		left, top, right, bottom = min(left, cx), min(top, cy), max(right, cx+1), max(bottom, cy+1)
		for v := max(0, cy-1); v <= min(high-1, cy+1); v++ {
			for u := max(0, cx-1); u <= min(wide-1, cx+1); u++ {
				if next := v*wide + u; f.moving[next] == 1 {
					f.moving[next] = 0
					f.stack = append(f.stack, int32(next))
				}
			}
		}
	}
	w, h = float64(coarse*(right-left)), float64(coarse*(bottom-top))
	return float64(coarse*left) + w/2, float64(coarse*top) + h/2, w, h, float64(coarse * coarse * n)
}
