package features

import "math"

// Potts is the contrast-sensitive Potts model of Boykov and Jolly (ICCV 2001) over
// a scene's adjacency.
type Potts struct{ smooth, length, contrast float64 }

// NewPotts takes the scale from the edges of a scene, or of several: an edge of their
// mean length between sides of one colour weighs smooth.
func NewPotts(edges []Edge, smooth float64) Potts {
	p := Potts{smooth: smooth}
	for _, e := range edges {
		p.length += float64(e.Length)
		p.contrast += float64(e.Contrast) * float64(e.Contrast)
	}
	p.length /= math.Max(1, float64(len(edges)))
	p.contrast /= math.Max(1, float64(len(edges)))
	return p
}

// Weight is what labels that differ across e cost: smooth · l/l̄ · exp(−c²/2σ²) for
// a border of length l and contrast c, with l̄ the mean length and σ² the mean of
// the squared contrasts.
func (p Potts) Weight(e Edge) float64 {
	c := float64(e.Contrast)
	return p.smooth * float64(e.Length) / p.length * math.Exp(-c*c/(2*math.Max(p.contrast, 1e-9)))
}
