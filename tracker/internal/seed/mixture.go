package seed

import "math"

// Of a mixture of Gaussians of colours.
const (
	components = 5
	grain      = 3.0 // units of CIELAB that colours of one kind deviate by at least
	meanRounds = 8   // of k-means, with which a fit begins
	fitRounds  = 2
	never      = -1e9 // log of the share of a component that has no colours
)

// A colour is L, a and b.
type colour [3]float64

func (c colour) squared(o colour) float64 {
	return (c[0]-o[0])*(c[0]-o[0]) + (c[1]-o[1])*(c[1]-o[1]) + (c[2]-o[2])*(c[2]-o[2])
}

// mixture is a density of colours: Gaussians of full covariance, of which the one counts
// that a colour is the likeliest of, as in GrabCut (Rother, Kolmogorov, Blake 2004).
type mixture struct {
	mean    [components]colour
	inverse [components][6]float64 // of the covariance: upper triangle, row by row
	logDet  [components]float64    // of the covariance
	share   [components]float64    // log of it
}

// energy is −log of the density at c, but for a constant, and the component it is of.
func (m *mixture) energy(c colour) (least float64, of int) {
	least = math.Inf(1)
	for k := range m.mean {
		x, y, z := c[0]-m.mean[k][0], c[1]-m.mean[k][1], c[2]-m.mean[k][2]
		v := &m.inverse[k]
		e := 0.5*(x*x*v[0]+y*y*v[3]+z*z*v[5]+2*(x*y*v[1]+x*z*v[2]+y*z*v[4])+m.logDet[k]) - m.share[k]
		if e < least {
			least, of = e, k
		}
	}
	return least, of
}

// fit makes m the mixture of at least one colour, anew or, if refine, from what it is.
func (m *mixture) fit(colours []colour, refine bool) {
	of := make([]int8, len(colours))
	rounds := fitRounds
	if !refine {
		clusters(of, colours)
		m.estimate(colours, of)
		rounds--
	}
	for range rounds {
		for k, c := range colours {
			_, at := m.energy(c)
			of[k] = int8(at)
		}
		m.estimate(colours, of)
	}
}

// clusters assigns colours by k-means. Each centre is to begin with the mean of the colours
// that are far from those before it.
func clusters(of []int8, colours []colour) {
	const far = 0.7 // of the greatest squared distance
	var centres [components]colour
	away := make([]float64, len(colours))
	for n := range centres {
		farthest := 0.0
		for k, c := range colours {
			if d := c.squared(centres[max(0, n-1)]); n < 2 || d < away[k] {
				away[k] = d
			}
			farthest = max(farthest, away[k])
		}
		count := 0.0
		for k, c := range colours {
			if n == 0 || away[k] >= far*farthest {
				count++
				for d := range c {
					centres[n][d] += c[d]
				}
			}
		}
		for d := range centres[n] {
			centres[n][d] /= count
		}
	}
	for range meanRounds {
		var sum [components]colour
		var count [components]float64
		for k, c := range colours {
			least := math.Inf(1)
			for n, centre := range centres {
				if d := c.squared(centre); d < least {
					least, of[k] = d, int8(n)
				}
			}
			count[of[k]]++
			for d := range c {
				sum[of[k]][d] += c[d]
			}
		}
		for n, total := range count {
			for d := range centres[n] {
				if total > 0 {
					centres[n][d] = sum[n][d] / total
				}
			}
		}
	}
}

// estimate sets the components by the colours that are assigned to them.
func (m *mixture) estimate(colours []colour, of []int8) {
	var count [components]float64
	var cov [components][6]float64
	m.mean = [components]colour{}
	for k, c := range colours {
		count[of[k]]++
		for d := range c {
			m.mean[of[k]][d] += c[d]
		}
	}
	for n, total := range count {
		for d := range m.mean[n] {
			m.mean[n][d] /= math.Max(1, total)
		}
	}
	for k, c := range colours {
		mean, v := &m.mean[of[k]], &cov[of[k]]
		x, y, z := c[0]-mean[0], c[1]-mean[1], c[2]-mean[2]
		for d, s := range [...]float64{x * x, x * y, x * z, y * y, y * z, z * z} {
			v[d] += s
		}
	}
	for n, total := range count {
		m.share[n] = never
		v := &cov[n]
		if total > 0 {
			m.share[n] = math.Log(total / float64(len(colours)))
			for d := range v {
				v[d] /= total
			}
		}
		a, b, c, d, e, f := v[0]+grain*grain, v[1], v[2], v[3]+grain*grain, v[4], v[5]+grain*grain
		det := a*(d*f-e*e) - b*(b*f-c*e) + c*(b*e-c*d)
		m.inverse[n] = [6]float64{(d*f - e*e) / det, (c*e - b*f) / det, (b*e - c*d) / det, (a*f - c*c) / det, (b*c - a*e) / det, (a*d - b*b) / det}
		m.logDet[n] = math.Log(det)
	}
}
