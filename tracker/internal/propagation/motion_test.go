package propagation

import (
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// moved is p with superpixel i at where it was plus by(i), and its colours still.
func moved(p *picture.Picture, by func(i int) (dx, dy float32)) *picture.Picture {
	q := *p
	q.Centroid = append([]float32(nil), p.Centroid...)
	for i := range p.N {
		dx, dy := by(i)
		q.Centroid[2*i] += dx
		q.Centroid[2*i+1] += dy
	}
	return &q
}

func TestMotion(t *testing.T) {
	const k = 2
	p := made(t, 1)[0]
	r := source(p, 3).Reference
	q := moved(p, func(i int) (dx, dy float32) {
		if r.Soft[3*i+1] == 1 {
			return -6, 0
		}
		return 4, -2
	})
	matches := make([]cosine.Match, 0, p.N*k)
	for i := range int32(p.N) {
		likest := cosine.Match{To: i, Cosine: 1}
		if i%5 == 0 {
			likest = cosine.Match{To: (i + 37) % int32(p.N), Cosine: 0.4} // resembles nothing
		}
		matches = append(matches, likest, cosine.Match{To: (i + 1) % int32(p.N), Cosine: 0.3})
	}
	var m motion
	m.estimate(matches, k, q, r, 3, 0.5)
	want := [][2]float32{{4, -2}, {-6, 0}, {4, -2}} // nothing is label 2: it moves with the background
	for l, v := range m.by {
		if math.Hypot(float64(v[0]-want[l][0]), float64(v[1]-want[l][1])) > 1e-4 {
			t.Errorf("label %d moved by %v; want %v", l, v, want[l])
		}
	}
	weights := make([]float64, len(matches))
	for c := range weights {
		weights[c] = 3
	}
	const sigma = 5
	m.discount(weights, matches, k, q, r, slices.Repeat([]float64{sigma / motionSpread}, p.N))
	for i := range p.N {
		if got := weights[i*k]; i%5 > 0 && math.Abs(got-3) > 1e-4 {
			t.Errorf("superpixel %d has moved with its label, its vote weighs %g; want 3", i, got)
		}
		// The other match is one place to the right, but for the ends of rows and labels.
		if x, y := i%cols, i/cols; i%5 > 0 && y < 4 && x < cols-1 {
			dx := float64(p.Centroid[2*i] - p.Centroid[2*i+2])
			dy := float64(p.Centroid[2*i+1] - p.Centroid[2*i+3])
			if got, want := weights[i*k+1], 3*math.Exp(-(dx*dx+dy*dy)/(2*sigma*sigma)); math.Abs(got-want) > 1e-4 {
				t.Errorf("superpixel %d: a vote from beside it weighs %g; want %g", i, got, want)
			}
		}
	}
}

// Part of an object that moves looks like something that does not. Each keeps its label,
// because it has moved as the rest of its label has.
func TestMotionTellsApart(t *testing.T) {
	const step = 3 * scenetest.Side
	s := scenetest.Squares(1, cols, rows, nil)
	object := func(i int) bool { return i%cols >= 3 && i%cols < 6 && i/cols >= 4 && i/cols < 7 } // as source has it
	twin := func(i int) bool { return object(i+3) && i%cols == 2 }                               // of places 5
	for i := range s.N {
		if twin(i) {
			copy(s.X[i*s.D:(i+1)*s.D], s.X[(i+3)*s.D:])
		}
	}
	projection, err := features.FitProjection(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	src := source(pool.Make(s, projection, 0.25), 2)
	for i := range s.N {
		if object(i) {
			s.Centroid[2*i] += step
		}
	}
	p := pool.Make(s, projection, 0.25)
	a := Affinity{Radius: 0.6}
	var b Belief
	b.Reset(p.N, 2)
	a.Propagate(&b, p, 1, []Source{src}, objects(p, 1))
	for i := range p.N {
		if q := b.Q[2*i+1]; object(i) != (q > 0.6) || twin(i) && q > 0.4 {
			t.Errorf("place %d, %d is the object with %.2f; want %t", i%cols, i/cols, q, object(i))
		}
	}
}
