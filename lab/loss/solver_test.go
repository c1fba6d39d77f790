package loss_test

import (
	"math"
	"testing"

	"github.com/segd/segd/lab/loss"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/solvertest"
)

// What package solver promises holds for these losses too.
func TestLossesWithTheSolver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 s: many problems solved")
	}
	solvertest.Losses(t, func(l solver.Loss, beta []float64, y int32) (g []float64) {
		if _, ok := l.(loss.Softmax); !ok {
			return nil
		}
		sum := 0.0
		for _, b := range beta {
			sum += math.Exp(b)
		}
		for k, b := range beta { // softmax(β) − e_y
			g = append(g, math.Exp(b)/sum)
			if k == int(y) {
				g[k]--
			}
		}
		return g
	}, loss.CrammerSinger{}, loss.Softmax{})
}
