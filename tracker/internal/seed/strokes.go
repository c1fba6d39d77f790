package seed

import (
	"context"
	"image"
	"math"

	"github.com/segd/segd/tracker/internal/cosine"
)

// How strokes grow. Chosen by mean J on the first frames of eight DAVIS sequences (segd eval scribbles --seeds 3), with
// strokes on the background and without: 0.76 and 0.73. Before there was a reach it was 0.74, and the whole picture.
const (
	strokeLinks = 3    // most similar marked superpixels that likeness is the mean of
	strokeFar   = 1.0  // cosine that the picture's longer side counts as
	strokeSlope = 0.1  // cosine per unit of log odds
	strokeReach = 1.5  // how far an object may be from its strokes, in their longer side
	strokeLeast = 0.05 // or, of dots, in the picture's
	strokeOther = 0.3  // resemblance that any superpixel has to something else
)

// growStrokes guesses where an object is that begins with strokes and writes it to
// w.q and w.y: a superpixel belongs to the side whose strokes it resembles more,
// where near ones count more, cut with smoothness. box is round the strokes. What is out of the strokes' reach, or another
// object, is as good as marked: the object is none of it, and is told from it.
func (w *work) growStrokes(ctx context.Context, label int, box image.Rectangle) error {
	r := w.newRegion()
	var sides [2][]int // slots of superpixels: others', the object's that are marked
	for slot, i := range w.Grid.Order {
		if int(w.Fixed[i]) == label {
			r.object[i] = 1
			sides[1] = append(sides[1], slot)
		}
	}
	reach := max(strokeLeast*w.Side(), strokeReach*float64(max(box.Dx(), box.Dy())))
	near := box.Inset(-int(reach))
	for slot, i := range w.Grid.Order {
		if r.object[i] > 0 {
			continue
		}
		open := w.Free(int(i)) && (w.before[i] == 0 || int(w.before[i]) == label)
		if r.free[i] = open && image.Pt(int(w.Centroid[2*i]), int(w.Centroid[2*i+1])).In(near); r.free[i] {
			continue
		}
		sides[0] = append(sides[0], slot)
		if open {
			r.give(int(i), label, 0)
			w.y[i] = 0
		}
	}
	p := make([]float64, w.N)
	for slot, i := range w.Grid.Order {
		if r.free[i] {
			odds := w.resemblance(slot, sides[1]) - max(strokeOther, w.resemblance(slot, sides[0]))
			p[i] = 1 / (1 + math.Exp(-odds/strokeSlope))
			r.give(int(i), label, p[i])
		}
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
