package belief

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

const (
	// The odds that what is in a box is what the box is round: exp(silhouetteMiddle − silhouetteFall·r²), r from
	// its middle, in half of its sides.
	silhouetteMiddle = 1.6
	silhouetteFall   = 2.2
	// Below that it is not worth a thought.
	leastShown = 0.02
	// Votes of the boxes, of as many superpixels that are quite alike.
	extentVotes = 4
)

// silhouette is how likely a pixel shows what a box is round.
func silhouette(box image.Rectangle, x, y float32) float64 {
	u := (2*float64(x) - float64(box.Min.X+box.Max.X)) / float64(box.Dx())
	v := (2*float64(y) - float64(box.Min.Y+box.Max.Y)) / float64(box.Dy())
	return 1 / (1 + math.Exp(silhouetteFall*(u*u+v*v)-silhouetteMiddle))
}

// extents is what the objects' tracks say: a reference that knows these objects, and the background, by their
// boxes alone.
type extents struct {
	Reference
	order []int // objects with a box, from the front
}

// lay makes e that of the objects in p. Of boxes that overlap the one with the lower foot is in front: what it does
// not fill shows the others.
func (e *extents) lay(p *picture.Picture, objects []Object) {
	labels := 1 + len(objects)
	e.order, e.Observed = e.order[:0], append(e.Observed[:0], true)
	for k, o := range objects {
		e.Observed = append(e.Observed, o.Tracked)
		if !o.Extent.Empty() {
			e.order = append(e.order, k)
		}
	}
	slices.SortStableFunc(e.order, func(i, j int) int {
		return cmp.Compare(objects[j].Extent.Max.Y, objects[i].Extent.Max.Y)
	})
	e.Soft = scratch.Zero(e.Soft, p.N*labels)
	for i := range p.N {
		row, rest := e.Soft[i*labels:(i+1)*labels], 1.0
		for _, k := range e.order {
			row[k+1] = rest * silhouette(objects[k].Extent, p.Centroid[2*i], p.Centroid[2*i+1])
			rest -= row[k+1]
		}
		row[0] = rest
	}
}

// vote adds extentVotes for each superpixel that can be one of the objects.
func (e *extents) vote(v votes, asked []bool) {
	for i := range asked {
		row, shown := v.q[i*v.labels:(i+1)*v.labels], e.Soft[i*v.labels:(i+1)*v.labels]
		rest, any := 1.0, false
		for _, k := range e.order {
			if v.candidate[i*v.labels+k+1] {
				any = true
				rest -= shown[k+1]
				row[k+1] += extentVotes * shown[k+1]
			}
		}
		if any {
			v.support[i] += extentVotes
			v.reliable[i] += extentVotes
			e.divide(row, extentVotes*rest)
		}
	}
}
