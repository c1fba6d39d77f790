//go:build !amd64 || noasm

package kernel

const vector = false

func outerVector(acc []float64, as int, x []float64, xs int, r []float64, rs, na, cols, rows int) {
	outerGo(acc, as, x, xs, r, rs, na, cols, rows)
}

func dotsVector([]float64, int, []float64, int, []float64, int, int) int { return 0 }

func outerSquare(acc []float64, as int, x []float64, xs int, r []float64, rs, rows int) {
	outer(acc, as, x, xs, r, rs, 4, 8, rows)
	outer(acc[4*as:], as, x, xs, r[4:], rs, 4, 8, rows)
}

func widenVector([]float64, []float32) int { return 0 }
