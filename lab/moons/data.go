package moons

import (
	"math"
	"math/rand/v2"

	"github.com/segd/segd/lab/clique"
)

// The paper's 4-moons experiment: samples, classes, cliques, their size, and how
// far a bound is from the true count.
const (
	sampleCount = 600
	classes     = 4
	cliqueCount = 25
	cliqueSize  = 25
	slack       = 3
)

// moons is one instance.
type moons struct {
	x       []float64 // n×2
	truth   []int32
	cliques []clique.Clique
}

// newMoons draws an instance: four half circles of radius 1, each the mirror
// image of its neighbour and shifted so that the tips interlock, with Gaussian
// noise; then cliques of samples drawn without replacement, each bounded by its
// true counts ± slack.
func newMoons(seed uint64) *moons {
	rng := rand.New(rand.NewPCG(seed, 0x6d6f6f6e73))
	m := &moons{}
	for c := range classes {
		for range sampleCount / classes {
			angle := math.Pi * rng.Float64()
			x, y := math.Cos(angle), math.Sin(angle)
			if c%2 == 1 {
				y = 0.5 - y
			}
			m.x = append(m.x, x+apart*float64(c)+noise*rng.NormFloat64(), y+noise*rng.NormFloat64())
			m.truth = append(m.truth, int32(c))
		}
	}
	for range cliqueCount {
		c := clique.Clique{Lo: make([]int, classes), Hi: make([]int, classes)}
		for _, i := range rng.Perm(sampleCount)[:cliqueSize] {
			c.Members = append(c.Members, int32(i))
			c.Lo[m.truth[i]]++
		}
		for l, count := range c.Lo {
			c.Lo[l], c.Hi[l] = max(0, count-slack), count+slack
		}
		m.cliques = append(m.cliques, c)
	}
	return m
}

// noise is the standard deviation of a sample from its moon.
const noise = 0.1

// apart is how far neighbouring moons are shifted. Less lets the tips of
// every other one touch.
const apart = 1.25
