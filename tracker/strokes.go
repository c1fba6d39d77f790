package tracker

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
// f.belief.Q and f.y: a superpixel belongs to the side whose strokes it resembles more,
// where near ones count more, cut with smoothness. Without a stroke on anything
// else the object may be anywhere in the background.
func (t *Tracker) growStrokes(ctx context.Context, f *frame, label int) error {
	labels := t.labels()
	b := &boxed{t: t, f: f, y: make([]int32, f.N), free: make([]bool, f.N)}
	var sides [2][]int // slots of the marked superpixels: others', the object's
	for slot, i := range f.Grid.Order {
		switch fixed := f.fixed[i]; {
		case int(fixed) == label:
			b.y[i] = 1
			sides[1] = append(sides[1], slot)
		case fixed != annotation.Unmarked:
			sides[0] = append(sides[0], slot)
		default:
			b.free[i] = t.before[i] == 0 || int(t.before[i]) == label
		}
	}
	p := make([]float64, f.N)
	for slot, i := range f.Grid.Order {
		if !b.free[i] {
			continue
		}
		odds := 0.0
		if len(sides[0]) > 0 {
			odds = (t.resemblance(f, slot, sides[1]) - t.resemblance(f, slot, sides[0])) / strokeSlope
		}
		p[i] = 1 / (1 + math.Exp(-odds))
		row := f.belief.Q[int(i)*labels : int(i+1)*labels]
		rest := row[0] + row[label] // what other objects leave
		row[label], row[0] = p[i]*rest, (1-p[i])*rest
	}
	if err := b.cut(ctx, p); err != nil {
		return err
	}
	for i, free := range b.free {
		if free {
			f.y[i] = int32(label) * b.y[i]
		}
	}
	return nil
}

// resemblance is how much the superpixel in a slot of f's grid is like the
// strokeLinks of the others that are the most like it, less for those far away.
func (t *Tracker) resemblance(f *frame, slot int, others []int) float64 {
	best := [strokeLinks]cosine.Match{}
	for k := range best {
		best[k].Cosine = -1 - strokeFar
	}
	i := f.Grid.Order[slot]
	for _, s := range others {
		j := f.Grid.Order[s]
		dx, dy := f.Centroid[2*i]-f.Centroid[2*j], f.Centroid[2*i+1]-f.Centroid[2*j+1]
		away := math.Hypot(float64(dx), float64(dy)) / float64(max(f.Width, f.Height))
		if c := cosine.Dot(f.UnitAt(slot), f.UnitAt(s)) - float32(strokeFar*away); c > best[strokeLinks-1].Cosine {
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
