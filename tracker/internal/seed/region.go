package seed

import (
	"context"
	"fmt"
	"math"

	"github.com/segd/segd/tracker/internal/scratch"
)

// region is a search for one object among the superpixels that are free to be it.
type region struct {
	*work
	free   []bool  // N
	object []int32 // N: 1 where the object is; this changes only where it is free
}

func (w *work) newRegion() region {
	return region{work: w, free: make([]bool, w.N), object: make([]int32, w.N)}
}

// give divides what other objects leave of superpixel i between the object, which has
// probability p, and the background.
func (r *region) give(i, label int, p float64) {
	row := r.q[i*r.labels : (i+1)*r.labels]
	rest := row[0] + row[label]
	row[label], row[0] = p*rest, (1-p)*rest
}

// cut labels the region by probabilities p of the object and smoothness.
func (r *region) cut(ctx context.Context, p []float64) error {
	r.unary = scratch.Grow(r.unary, 2*r.N)
	for i := range r.N {
		u := r.unary[2*i : 2*i+2]
		u[0], u[1] = p[i], 1-p[i]
		if !r.free[i] {
			u[r.object[i]], u[1-r.object[i]] = 0, math.Inf(1)
		}
	}
	if err := r.graph.Reset(r.N, 2, r.Edges); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	if err := r.graph.Label(ctx, r.object, r.unary); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	return nil
}
