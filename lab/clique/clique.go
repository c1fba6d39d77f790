package clique

import (
	"errors"
	"fmt"
	"math"
)

// Penalty is what a labeling costs for each sample too many or too few of a
// label in a clique. It stands for the paper's +∞.
const Penalty = 1e7

// ErrInfeasible says that no labeling obeys the bounds and the forbidden labels,
// or that the unaries hold a NaN or −Inf.
var ErrInfeasible = errors.New("clique: no labeling within the bounds")

// Clique bounds how often each label may occur among some samples.
type Clique struct {
	Members []int32 // samples, each at most once
	Lo, Hi  []int   // by label
}

// Violations sums over the labels by how many samples y leaves the bounds.
func (c Clique) Violations(y []int32) int {
	sum := 0
	for l := range c.Lo {
		count := 0
		for _, i := range c.Members {
			if int(y[i]) == l {
				count++
			}
		}
		sum += outside(count, c.Lo[l], c.Hi[l])
	}
	return sum
}

// outside is the distance of count from [lo, hi].
func outside(count, lo, hi int) int {
	return max(0, lo-count, count-hi)
}

func (c Clique) check(n, labels int) {
	if len(c.Lo) != labels || len(c.Hi) != labels {
		panic(fmt.Sprintf("clique: %d lower and %d upper bounds for %d labels", len(c.Lo), len(c.Hi), labels))
	}
	seen := make(map[int32]bool, len(c.Members))
	for _, i := range c.Members {
		if i < 0 || int(i) >= n || seen[i] {
			panic(fmt.Sprintf("clique: member %d is out of range or named twice; want distinct samples of [0,%d)", i, n))
		}
		seen[i] = true
	}
}

// cheapest gives every sample its cheapest label, the first of equals.
func cheapest(y []int32, u []float64, labels int) error {
	for i := range y {
		best := math.Inf(1)
		for l, v := range u[i*labels : (i+1)*labels] {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return fmt.Errorf("%w: sample %d costs %g under label %d", ErrInfeasible, i, v, l)
			}
			if v < best {
				best, y[i] = v, int32(l)
			}
		}
		if math.IsInf(best, 1) {
			return fmt.Errorf("%w: every label of sample %d is forbidden", ErrInfeasible, i)
		}
	}
	return nil
}

func cost(y []int32, u []float64, labels int) float64 {
	sum := 0.0
	for i, l := range y {
		sum += u[i*labels+int(l)]
	}
	return sum
}
