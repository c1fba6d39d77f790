package mot

import (
	"image"
	"maps"
	"slices"

	"github.com/segd/segd/internal/assignment"
)

// The largest 1 − IoU at which a box is taken for a person's: followDistance where each is
// marked once, and trackDistance, MOTChallenge's, where all are found automatically.
const (
	followDistance = 0.7
	trackDistance  = 0.5
)

// Box is a rectangle in pixels; the picture's top-left corner is (0, 0).
type Box struct{ Left, Top, Width, Height float64 }

func boxOf(r image.Rectangle) Box {
	return Box{float64(r.Min.X), float64(r.Min.Y), float64(r.Dx()), float64(r.Dy())}
}

// intersect is what two boxes share; its sides are not above 0 if that is nothing.
func (b Box) intersect(c Box) Box {
	left, top := max(b.Left, c.Left), max(b.Top, c.Top)
	return Box{left, top, min(b.Left+b.Width, c.Left+c.Width) - left, min(b.Top+b.Height, c.Top+c.Height) - top}
}

// Distance is 1 − IoU.
func (b Box) Distance(c Box) float64 {
	both := b.intersect(c)
	if both.Width <= 0 || both.Height <= 0 {
		return 1
	}
	area := both.Width * both.Height
	return 1 - area/(b.Width*b.Height+c.Width*c.Height-area)
}

// right tells whether c is where a person followed in b is.
func (b Box) right(c Box) bool { return b.Distance(c) <= followDistance }

// named is whose a box is, or is said to be.
type named struct {
	id  int
	box Box
}

// frame is what there was to be found in a frame and what was found.
type frame struct{ truth, found []named }

// counts are what the figures are made of.
type counts struct {
	idtp, idfp, idfn         int
	matched                  int // true boxes, or found ones, of the matches frame by frame
	switches, fragmentations int
}

func (c counts) plus(d counts) counts {
	return counts{c.idtp + d.idtp, c.idfp + d.idfp, c.idfn + d.idfn, c.matched + d.matched, c.switches + d.switches, c.fragmentations + d.fragmentations}
}

// truth and found are the numbers of boxes.
func (c counts) truth() int { return c.idtp + c.idfn }
func (c counts) found() int { return c.idtp + c.idfp }

// share is a/b; nil, as py-motmetrics' NaN, if b is 0.
func share(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	return new(float64(a) / float64(b))
}

func (c counts) idf1() *float64      { return share(2*c.idtp, c.truth()+c.found()) }
func (c counts) idp() *float64       { return share(c.idtp, c.found()) }
func (c counts) idr() *float64       { return share(c.idtp, c.truth()) }
func (c counts) recall() *float64    { return share(c.matched, c.truth()) }
func (c counts) precision() *float64 { return share(c.matched, c.found()) }

// mota is 1 − (missed + false + switches) / true.
func (c counts) mota() *float64 {
	faults := share(c.truth()-c.matched+c.found()-c.matched+c.switches, c.truth())
	if faults == nil {
		return nil
	}
	return new(1 - *faults)
}

// score counts a video as py-motmetrics does, boxes being right up to a distance of most.
// No id is twice in a frame's truth, nor in what was found in it.
func score(frames []frame, most float64) counts {
	c := identities(frames, most)
	c.matched, c.switches, c.fragmentations = matches(frames, most)
	return c
}

// identities counts by the assignment of found identities to true ones that has the
// most boxes right over the whole video. Who is assigned to no one has none right.
func identities(frames []frame, most float64) counts {
	real, found, right := map[int]int{}, map[int]int{}, map[[2]int]int{}
	c := counts{}
	for _, f := range frames {
		for _, t := range f.truth {
			real[t.id]++
			for _, h := range f.found {
				if t.box.Distance(h.box) <= most {
					right[[2]int{t.id, h.id}]++
				}
			}
		}
		for _, h := range f.found {
			found[h.id]++
		}
		c.idfn += len(f.truth)
		c.idfp += len(f.found)
	}
	ts, hs := slices.Sorted(maps.Keys(real)), slices.Sorted(maps.Keys(found))
	for i, j := range new(assignment.Solver).Assign(len(ts), len(hs), func(i, j int) float64 { return -float64(right[[2]int{ts[i], hs[j]}]) }) {
		if j >= 0 {
			c.idtp += right[[2]int{ts[i], hs[j]}]
		}
	}
	c.idfn -= c.idtp
	c.idfp -= c.idtp
	return c
}

// pair returns which of found each of truth is matched to, or -1: as many as can be within
// a distance of most, at the least sum of distances.
func pair(truth, found []named, most float64) []int {
	// A pair that may not be is dearer than all that may.
	apart := 2*float64(min(len(truth), len(found))) + 1
	pairs := new(assignment.Solver).Assign(len(truth), len(found), func(i, j int) float64 {
		if d := truth[i].box.Distance(found[j].box); d <= most {
			return d
		}
		return apart
	})
	for i, j := range pairs {
		if j >= 0 && truth[i].box.Distance(found[j].box) > most {
			pairs[i] = -1
		}
	}
	return pairs
}

// matches counts as CLEAR-MOT does. In each frame a person who was matched to an identity that
// is still right keeps it; the rest are matched by pair. A switch is a match to another
// identity than the last time, however long ago; a fragmentation, that a person who was
// matched is not while there, and later is again.
func matches(frames []frame, most float64) (matched, switches, fragmentations int) {
	last, broken := map[int]int{}, map[int]bool{}
	for _, f := range frames {
		truth, found := slices.Clone(f.truth), slices.Clone(f.found)
		match := func(t, h int) {
			matched++
			if id, known := last[t]; known && id != h {
				switches++
			}
			if broken[t] {
				fragmentations++
			}
			last[t], broken[t] = h, false
		}
		truth = slices.DeleteFunc(truth, func(t named) bool {
			id, known := last[t.id]
			j := slices.IndexFunc(found, func(h named) bool { return h.id == id })
			if !known || j < 0 || t.box.Distance(found[j].box) > most {
				return false
			}
			match(t.id, id)
			found = slices.Delete(found, j, j+1)
			return true
		})
		for i, j := range pair(truth, found, most) {
			t := truth[i].id
			if j >= 0 {
				match(t, found[j].id)
			} else if _, known := last[t]; known {
				broken[t] = true
			}
		}
	}
	return matched, switches, fragmentations
}
