package mot

import "math"

// Assign pairs n rows with m columns, each at most once and as many as there are of
// the fewer, at the least total cost, and returns each row's column, or -1. It is the
// Hungarian method by shortest augmenting paths, O(n²m) for n ≤ m. Costs are finite.
//
// Neither the standard library nor gonum has one.
func Assign(n, m int, cost func(i, j int) float64) []int {
	if n > m {
		rows := Assign(m, n, func(i, j int) float64 { return cost(j, i) })
		columns := make([]int, n)
		for i := range columns {
			columns[i] = -1
		}
		for j, i := range rows {
			columns[i] = j
		}
		return columns
	}
	// Rows and columns count from 1 here: column 0 holds the row that looks for its own.
	rowPrice, columnPrice := make([]float64, n+1), make([]float64, m+1)
	rowOf, before := make([]int, m+1), make([]int, m+1)
	for i := 1; i <= n; i++ {
		slack, reached := make([]float64, m+1), make([]bool, m+1)
		for j := range slack {
			slack[j] = math.Inf(1)
		}
		rowOf[0] = i
		at := 0
		for rowOf[at] != 0 {
			reached[at] = true
			row, next, least := rowOf[at], 0, math.Inf(1)
			for j := 1; j <= m; j++ {
				if reached[j] {
					continue
				}
				if c := cost(row-1, j-1) - rowPrice[row] - columnPrice[j]; c < slack[j] {
					slack[j], before[j] = c, at
				}
				if slack[j] < least {
					least, next = slack[j], j
				}
			}
			for j := range reached {
				if reached[j] {
					rowPrice[rowOf[j]] += least
					columnPrice[j] -= least
				} else {
					slack[j] -= least
				}
			}
			at = next
		}
		for at != 0 { // turn the path over
			rowOf[at] = rowOf[before[at]]
			at = before[at]
		}
	}
	columns := make([]int, n)
	for j, i := range rowOf[1:] {
		if i > 0 {
			columns[i-1] = j
		}
	}
	return columns
}
