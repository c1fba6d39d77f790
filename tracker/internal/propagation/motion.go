package propagation

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// motion is how far each label has moved from a reference to a picture: one translation a
// label, as in layered motion (Wang and Adelson, IEEE Trans. Image Processing 1994).
type motion struct {
	by   [][2]float32 // L, pixels
	of   []int32      // labels of the reference's superpixels
	ways []ways       // L
}

// ways are those of a label's superpixels.
type ways struct{ dx, dy []float32 }

// fewest superpixels of which a median tells how their label moves.
const fewest = 3

// estimate sets each label's motion from r to p: the medians of the way to the likest
// superpixels, of those that resemble one of r by a cosine of at least least. A label
// that hardly any resembles is taken to move as the background does.
func (m *motion) estimate(matches []cosine.Match, k int, p *picture.Picture, r *Reference, labels int, least float64) {
	m.of = scratch.Grow(m.of, r.N)
	for j := range m.of {
		m.of[j] = labeling.Argmax(r.Soft[j*labels : (j+1)*labels])
	}
	m.by = scratch.Zero(m.by, labels)
	for len(m.ways) < labels {
		m.ways = append(m.ways, ways{})
	}
	for l := range m.ways {
		m.ways[l].dx, m.ways[l].dy = m.ways[l].dx[:0], m.ways[l].dy[:0]
	}
	for i := range p.N {
		if likest := matches[i*k]; likest.To >= 0 && float64(likest.Cosine) >= least {
			w := &m.ways[m.of[likest.To]]
			w.dx = append(w.dx, p.Centroid[2*i]-r.Centroid[2*likest.To])
			w.dy = append(w.dy, p.Centroid[2*i+1]-r.Centroid[2*likest.To+1])
		}
	}
	for l := range labels {
		w := &m.ways[l]
		if len(w.dx) < fewest {
			m.by[l] = m.by[0]
			continue
		}
		slices.Sort(w.dx)
		slices.Sort(w.dy)
		m.by[l] = [2]float32{w.dx[len(w.dx)/2], w.dy[len(w.dy)/2]}
	}
}

// discount multiplies the weights of matches by how well each fits the motion of the label
// that it leads to: exp(−d²/2σ²), d in pixels, σ motionSpread of the radius of the search, N
// of them.
func (m *motion) discount(weights []float64, matches []cosine.Match, k int, p *picture.Picture, r *Reference, radii []float64) {
	for c, match := range matches {
		if match.To < 0 {
			continue
		}
		i, by := c/k, m.by[m.of[match.To]]
		x := float64(p.Centroid[2*i] - r.Centroid[2*match.To] - by[0])
		y := float64(p.Centroid[2*i+1] - r.Centroid[2*match.To+1] - by[1])
		sigma := motionSpread * radii[i]
		weights[c] *= math.Exp(-(x*x + y*y) / (2 * sigma * sigma))
	}
}
