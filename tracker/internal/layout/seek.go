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

// seek returns where within radius of a point o, which is hidden, matches best, and makes it
// as large as it does there; ok is whether it can be anywhere.
func (f *Follower) seek(o *Object, px, py, radius float64) (bestX, bestY float64, ok bool) {
	best, wasW, wasH := math.Inf(-1), o.w, o.h
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
				if match := f.matchAt(o, x, y, w, h, 0) - cost; match > best {
					best, bestX, bestY, ok = match, x, y, true
					o.w, o.h = w, h
				}
			}
		}
	}
	return bestX, bestY, ok
}
