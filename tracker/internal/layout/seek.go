package layout

import "math"

const (
	// An object that is hidden for longer than seekAfter frames is looked for wherever
	// something covers the background, as far as it can have come.
	seekAfter = 10
	seekReach = 0.05 // of its sizes in a frame
	seekShare = 0.4  // of its box

	// Where one in glanced of its cells match by glanceLess less than the best match so far
	// the others are not asked.
	glanced    = 5
	glanceLess = 0.1

	// Its size may have changed by a factor of scale in scaleFrames, and by mostScales of
	// them; each costs scaleCost of its match.
	scale       = 1.25
	scaleFrames = 25
	mostScales  = 2
	scaleCost   = 0.05
)

// candidate is where an object that is sought may be, and how well it matches there.
type candidate struct{ x, y, w, h, match float64 }

// mostSought is how many of them are compared by what they look like.
const mostSought = 4

// seek returns where within radius of a point o, which is hidden, is most likely to be by how well it matches
// there and how much that looks like it, and makes it as large as it is there; ok is whether it can be anywhere.
func (f *Follower) seek(o *Object, px, py, radius float64) (bestX, bestY float64, ok bool) {
	best, wasW, wasH := math.Inf(-1), o.w, o.h
	f.sought = f.sought[:0]
	scales := min(o.unseen/scaleFrames, mostScales)
	for k := -scales; k <= scales; k++ {
		factor := math.Pow(scale, float64(k))
		w, h, cost := factor*wasW, factor*wasH, scaleCost*math.Abs(float64(k))
		for y := math.Max(py-radius, h/2); y <= math.Min(py+radius, float64(f.grid.height)-h/2); y += h / 8 {
			for x := math.Max(px-radius, w/2); x <= math.Min(px+radius, float64(f.grid.width)-w/2); x += w / 4 {
				if f.foregroundIn(x, y, w, h) < seekShare*w*h {
					continue
				}
				if f.matchOf(o, x, y, w, h, 0, glanced)-cost < best-glanceLess {
					continue
				}
				match := f.matchAt(o, x, y, w, h, 0) - cost
				f.consider(candidate{x, y, w, h, match})
				best = max(best, match)
			}
		}
	}
	most := 0.0
	for _, c := range f.sought {
		if v := c.match * f.similarityAt(o, c.x, c.y, c.w, c.h); v > most {
			most, bestX, bestY, ok = v, c.x, c.y, true
			o.w, o.h = c.w, c.h
		}
	}
	return bestX, bestY, ok
}

// consider takes c in if it is among the best, of those that overlap the best alone.
func (f *Follower) consider(c candidate) {
	worst := -1
	for i, other := range f.sought {
		if math.Abs(c.x-other.x) < (c.w+other.w)/2 && math.Abs(c.y-other.y) < (c.h+other.h)/2 {
			if c.match > other.match {
				f.sought[i] = c
			}
			return
		}
		if worst < 0 || other.match < f.sought[worst].match {
			worst = i
		}
	}
	switch {
	case len(f.sought) < mostSought:
		f.sought = append(f.sought, c)
	case c.match > f.sought[worst].match:
		f.sought[worst] = c
	}
}
