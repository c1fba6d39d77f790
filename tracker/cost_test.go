package tracker

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// cost is what one object takes of a frame, on average: pixels that the network sees, superpixels, and those of them that are
// looked up and estimated as the object.
type cost struct{ pixels, superpixels, near float64 }

const costWidth, costHeight = 768, 432

// costOf follows n balls, far from each other.
func costOf(t *testing.T, n int) (c cost) {
	t.Helper()
	const width, height, radius, frames = costWidth, costHeight, 14, freshPictures + 8
	floor := make([]byte, 3*width*height)
	for p := range floor {
		floor[p] = uint8(110 + 40*math.Sin(float64(p/3%width)/9)*math.Cos(float64(p/3/width)/13) + 10*float64(p%3))
	}
	ex, err := features.New(features.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracker(t, Config{})
	for i := range frames {
		ann := &annotation.Annotation{Width: width, Height: height}
		var extents []Extent
		pix := slices.Clone(floor)
		for k := range n {
			at := image.Pt(80+170*(k%4)+2*i, 110+200*(k/4))
			box := image.Rectangle{at, at}.Inset(-radius)
			for y := box.Min.Y; y < box.Max.Y; y++ {
				for x := box.Min.X; x < box.Max.X; x++ {
					if d := image.Pt(x, y).Sub(at); d.X*d.X+d.Y*d.Y < radius*radius {
						copy(pix[3*(y*width+x):], []byte{40, 40, 200})
					}
				}
			}
			id := uint32(k + 1)
			extents = append(extents, Extent{ID: id, Box: box, Detected: box})
			ann.Objects = append(ann.Objects, annotation.Object{ID: id, Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}})
		}
		plan := tr.Plan(features.Plan{})
		if i == 0 {
			plan = PlanFor(plan, ann)
		} else {
			ann = nil
		}
		s := &features.Scene{Seq: uint64(i)}
		if err := ex.Extract(s, pix, width, height, plan); err != nil {
			t.Fatal(err)
		}
		res, err := tr.Step(t.Context(), s, nil, ann, extents)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Objects {
			if o.State != Visible {
				t.Fatalf("frame %d of %d objects: %d is %v", i, n, o.ID, o.State)
			}
		}
		if i <= freshPictures {
			continue
		}
		share := 1 / float64(n*(frames-1-freshPictures))
		for _, p := range s.Patches {
			seen := features.Crop{Rectangle: p.Rectangle, Zoom: p.Zoom}.Seen(image.Pt(width, height), 1)
			c.pixels += share * float64(seen.Dx()*seen.Dy())
		}
		c.superpixels += share * float64(s.N)
		newest := tr.frames.recent[len(tr.frames.recent)-1]
		for at, near := range newest.Belief.Near {
			if near && at%(n+1) > 0 {
				c.near += share
			}
		}
	}
	return c
}

// What an object costs does not grow with the number of the others.
func TestCostFollowsTheObjects(t *testing.T) {
	const grown = 1.1 // objects are not quite alike
	one, eight := costOf(t, 1), costOf(t, 8)
	if one.near == 0 || one.pixels > costWidth*costHeight/20 || eight.pixels > grown*one.pixels || eight.superpixels > grown*one.superpixels || eight.near > grown*one.near {
		t.Errorf("an object among eight costs %+v, one alone %+v; want no more, and the alone one a twentieth of the picture at most", eight, one)
	}
}
