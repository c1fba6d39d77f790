package seed

import (
	"context"
	"math"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/cosine"
)

// How strokes grow. Chosen by mean J on the first frames of eight DAVIS sequences
// (segd eval scribbles --seeds 3): 0.70, where a start without a guess had 0.59.
const (
	strokeLinks = 3   // most similar marked superpixels that likeness is the mean of
	strokeFar   = 1.0 // cosine that the picture's longer side counts as
	strokeSlope = 0.1 // cosine per unit of log odds
)

// growStrokes guesses where an object is that begins with strokes and writes it to
// w.q and w.y: a superpixel belongs to the side whose strokes it resembles more,
// where near ones count more, cut with smoothness. Without a stroke on anything
// else the object may be anywhere in the background.
func (w *work) growStrokes(ctx context.Context, label int) error {
	r := w.newRegion()
	var sides [2][]int // slots of the marked superpixels: others', the object's
	for slot, i := range w.Grid.Order {
		switch fixed := w.Fixed[i]; {
		case int(fixed) == label:
			r.object[i] = 1
			sides[1] = append(sides[1], slot)
		case fixed != annotation.Unmarked:
			sides[0] = append(sides[0], slot)
		default:
			r.free[i] = w.before[i] == 0 || int(w.before[i]) == label
		}
	}
	p := make([]float64, w.N)
	for slot, i := range w.Grid.Order {
		if !r.free[i] {
			continue
		}
		odds := 0.0
		if len(sides[0]) > 0 {
			odds = (w.resemblance(slot, sides[1]) - w.resemblance(slot, sides[0])) / strokeSlope
		}
		p[i] = 1 / (1 + math.Exp(-odds))
		r.give(int(i), label, p[i])
	}
	if err := r.cut(ctx, p); err != nil {
		return err
	}
	for i, free := range r.free {
		if free {
			w.y[i] = int32(label) * r.object[i]
		}
	}
	return nil
}

// resemblance is how much the superpixel in a slot of the grid is like the
// strokeLinks of the others that are the most like it, less for those far away.
func (w *work) resemblance(slot int, others []int) float64 {
	best := [strokeLinks]cosine.Match{}
	for k := range best {
		best[k].Cosine = -1 - strokeFar
	}
	i := w.Grid.Order[slot]
	for _, s := range others {
		j := w.Grid.Order[s]
		dx, dy := w.Centroid[2*i]-w.Centroid[2*j], w.Centroid[2*i+1]-w.Centroid[2*j+1]
		away := math.Hypot(float64(dx), float64(dy)) / w.Side()
		if c := cosine.Dot(w.UnitAt(slot), w.UnitAt(s)) - float32(strokeFar*away); c > best[strokeLinks-1].Cosine {
			cosine.Insert(best[:], cosine.Match{Cosine: c})
		}
	}
	sum := 0.0
	n := min(strokeLinks, len(others))
	for _, l := range best[:n] {
		sum += float64(l.Cosine)
	}
	return sum / math.Max(1, float64(n))
}
