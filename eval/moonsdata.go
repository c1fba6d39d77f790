package eval

import (
	"math"
	"math/rand/v2"

	"github.com/segd/segd/solver/clique"
)

// The paper's 4-moons experiment: samples, classes, cliques, their size, and how
// far a bound is from the true count.
const (
	moonsSamples = 600
	moonsClasses = 4
	moonsCliques = 25
	moonsSize    = 25
	moonsSlack   = 3
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
// true counts ± moonsSlack.
func newMoons(seed uint64) *moons {
	rng := rand.New(rand.NewPCG(seed, 0x6d6f6f6e73))
	m := &moons{}
	for c := range moonsClasses {
		for range moonsSamples / moonsClasses {
			angle := math.Pi * rng.Float64()
			x, y := math.Cos(angle), math.Sin(angle)
			if c%2 == 1 {
				y = 0.5 - y
			}
			m.x = append(m.x, x+moonsApart*float64(c)+moonsNoise*rng.NormFloat64(), y+moonsNoise*rng.NormFloat64())
			m.truth = append(m.truth, int32(c))
		}
	}
	for range moonsCliques {
		c := clique.Clique{Lo: make([]int, moonsClasses), Hi: make([]int, moonsClasses)}
		for _, i := range rng.Perm(moonsSamples)[:moonsSize] {
			c.Members = append(c.Members, int32(i))
			c.Lo[m.truth[i]]++
		}
		for l, count := range c.Lo {
			c.Lo[l], c.Hi[l] = max(0, count-moonsSlack), count+moonsSlack
		}
		m.cliques = append(m.cliques, c)
	}
	return m
}

// moonsNoise is the standard deviation of a sample from its moon.
const moonsNoise = 0.1

// moonsApart is how far neighbouring moons are shifted. Less lets the tips of
// every other one touch.
const moonsApart = 1.25
