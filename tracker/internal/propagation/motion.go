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
	by     [][2]float32 // L, pixels
	of     []int32      // labels of the reference's superpixels
	dx, dy []float32    // of the label that is being estimated
}

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
	for l := range labels {
		m.dx, m.dy = m.dx[:0], m.dy[:0]
		for i := range p.N {
			likest := matches[i*k]
			if likest.To < 0 || float64(likest.Cosine) < least || m.of[likest.To] != int32(l) {
				continue
			}
			m.dx = append(m.dx, p.Centroid[2*i]-r.Centroid[2*likest.To])
			m.dy = append(m.dy, p.Centroid[2*i+1]-r.Centroid[2*likest.To+1])
		}
		if len(m.dx) < fewest {
			m.by[l] = m.by[0]
			continue
		}
		slices.Sort(m.dx)
		slices.Sort(m.dy)
		m.by[l] = [2]float32{m.dx[len(m.dx)/2], m.dy[len(m.dy)/2]}
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
