package mot

import (
	"maps"
	"slices"
)

// maxDistance is the largest 1 − IoU at which a box is taken for a person's.
const maxDistance = 0.7

// Box is a rectangle in pixels; the picture's top-left corner is (0, 0).
type Box struct{ Left, Top, Width, Height float64 }

// distance is 1 − IoU.
func (b Box) distance(c Box) float64 {
	w := min(b.Left+b.Width, c.Left+c.Width) - max(b.Left, c.Left)
	h := min(b.Top+b.Height, c.Top+c.Height) - max(b.Top, c.Top)
	if w <= 0 || h <= 0 {
		return 1
	}
	return 1 - w*h/(b.Width*b.Height+c.Width*c.Height-w*h)
}

// right tells whether c is where b is.
func (b Box) right(c Box) bool { return b.distance(c) <= maxDistance }

// named is whose a box is, or is said to be.
type named struct {
	id  int
	box Box
}

// frame is what there was to be found in a frame and what was found.
type frame struct{ truth, found []named }

// counts are what the figures are made of.
type counts struct {
	idtp, idfp, idfn int
	switches         int
}

func (c counts) plus(d counts) counts {
	return counts{c.idtp + d.idtp, c.idfp + d.idfp, c.idfn + d.idfn, c.switches + d.switches}
}

// share is a/b; nil, as py-motmetrics' NaN, if b is 0.
func share(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	return new(float64(a) / float64(b))
}

func (c counts) idf1() *float64 { return share(2*c.idtp, 2*c.idtp+c.idfp+c.idfn) }
func (c counts) idp() *float64  { return share(c.idtp, c.idtp+c.idfp) }
func (c counts) idr() *float64  { return share(c.idtp, c.idtp+c.idfn) }

// score counts a video as py-motmetrics does. No id is twice in a frame's truth, nor
// in what was found in it.
func score(frames []frame) counts {
	c := identities(frames)
	c.switches = switches(frames)
	return c
}

// identities counts by the assignment of found identities to true ones that has the
// most boxes right over the whole video. Who is assigned to nobody has none right.
func identities(frames []frame) counts {
	real, found, right := map[int]int{}, map[int]int{}, map[[2]int]int{}
	c := counts{}
	for _, f := range frames {
		for _, t := range f.truth {
			real[t.id]++
			for _, h := range f.found {
				if t.box.right(h.box) {
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
	for i, j := range assign(len(ts), len(hs), func(i, j int) float64 { return -float64(right[[2]int{ts[i], hs[j]}]) }) {
		if j >= 0 {
			c.idtp += right[[2]int{ts[i], hs[j]}]
		}
	}
	c.idfn -= c.idtp
	c.idfp -= c.idtp
	return c
}

// switches counts how often a person is matched to another identity than the last
// time, however long ago. In each frame whoever was matched to an identity that is
// still right keeps it; the rest are matched, as many as can be, at the least sum of
// distances.
func switches(frames []frame) (n int) {
	last := map[int]int{}
	for _, f := range frames {
		truth, found := slices.Clone(f.truth), slices.Clone(f.found)
		truth = slices.DeleteFunc(truth, func(t named) bool {
			id, known := last[t.id]
			j := slices.IndexFunc(found, func(h named) bool { return h.id == id })
			if !known || j < 0 || !t.box.right(found[j].box) {
				return false
			}
			found = slices.Delete(found, j, j+1)
			return true
		})
		// A pair that may not be is dearer than all that may.
		apart := 2*float64(min(len(truth), len(found))) + 1
		pairs := assign(len(truth), len(found), func(i, j int) float64 {
			if d := truth[i].box.distance(found[j].box); d <= maxDistance {
				return d
			}
			return apart
		})
		for i, j := range pairs {
			if j < 0 || !truth[i].box.right(found[j].box) {
				continue
			}
			if id, known := last[truth[i].id]; known && id != found[j].id {
				n++
			}
			last[truth[i].id] = found[j].id
		}
	}
	return n
}
