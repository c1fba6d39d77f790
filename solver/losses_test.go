package solver_test

import (
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/solvertest"
)

func TestLosses(t *testing.T) {
	solvertest.Losses(t, func(l solver.Loss, beta []float64, y int32) (g []float64) {
		if _, ok := l.(squares); ok { // β − s
			for k, b := range beta {
				g = append(g, b-sign(k, y))
			}
		}
		return g
	}, loss.Hinge{}, squares{})
}

// squares is Σ_l (β_l − s_l)²/2 with s_l = +1 if l = y, else −1: a loss that has a gradient.
type squares struct{}

func sign(l int, y int32) float64 {
	if int32(l) == y {
		return 1
	}
	return -1
}

func weightOf(omega []float64, i int) float64 {
	if omega == nil {
		return 1
	}
	return omega[i]
}

func (squares) Table(u, t, omega []float64, labels int, rho float64) error {
	for i := range t {
		w := weightOf(omega, i/labels)
		u[i] = 0
		for l, v := range t[i/labels*labels:][:labels] {
			d := v - sign(l, int32(i%labels))
			u[i] += w * rho / (w + rho) / 2 * d * d
		}
	}
	return nil
}

func (squares) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error {
	for i, v := range t {
		w := weightOf(omega, i/labels)
		dst[i] = (w*sign(i%labels, y[i/labels]) + rho*v) / (w + rho)
	}
	return nil
}

func (squares) Value(beta, omega []float64, y []int32, labels int) (sum float64, _ error) {
	for i, b := range beta {
		d := b - sign(i%labels, y[i/labels])
		sum += weightOf(omega, i/labels) / 2 * d * d
	}
	return sum, nil
}
