//go:build !amd64 || noasm

package kernel

const vector = false

func outerVector(acc []float64, as int, x []float64, xs int, r []float64, rs, na, cols, rows int) {
	outerGo(acc, as, x, xs, r, rs, na, cols, rows)
}

func dotsVector([]float64, int, []float64, int, []float64, int, int) int { return 0 }
