// Package assignment pairs the rows of a matrix with its columns at the least cost.
package assignment

import "math"

// A Solver is what one goroutine pairs with, time and again in the same memory. It uses the Hungarian method by shortest
// augmenting paths. Neither the standard library nor gonum has one.
type Solver struct {
	columns               []int
	rowPrice, columnPrice []float64
	slack                 []float64
	rowOf, before         []int
	reached               []bool
}

// Assign pairs n rows with m columns, each at most once and as many as there are of
// the fewer, at the least total cost, and returns each row's column, or -1, until the next call. It costs O(n²m) for n ≤ m.
// Costs are finite.
func (s *Solver) Assign(n, m int, cost func(i, j int) float64) []int {
	s.columns = cleared(s.columns, n)
	if n <= m {
		s.solve(n, m, cost, false)
		for j, i := range s.rowOf[1:] {
			if i > 0 {
				s.columns[i-1] = j
			}
		}
		return s.columns
	}
	for i := range s.columns {
		s.columns[i] = -1
	}
	s.solve(m, n, cost, true)
	for i, j := range s.rowOf[1:] {
		if j > 0 {
			s.columns[i] = j - 1
		}
	}
	return s.columns
}

// solve leaves in rowOf the row of each of m columns, n ≤ m, 0 where it has none. Rows and
// columns count from 1; column 0 holds the row that looks for its own.
func (s *Solver) solve(n, m int, cost func(i, j int) float64, turned bool) {
	s.rowPrice, s.columnPrice = cleared(s.rowPrice, n+1), cleared(s.columnPrice, m+1)
	s.rowOf, s.before = cleared(s.rowOf, m+1), cleared(s.before, m+1)
	for i := 1; i <= n; i++ {
		s.slack, s.reached = cleared(s.slack, m+1), cleared(s.reached, m+1)
		for j := range s.slack {
			s.slack[j] = math.Inf(1)
		}
		s.rowOf[0] = i
		at := 0
		for s.rowOf[at] != 0 {
			s.reached[at] = true
			row, next, least := s.rowOf[at], 0, math.Inf(1)
			for j := 1; j <= m; j++ {
				if s.reached[j] {
					continue
				}
				a, b := row-1, j-1
				if turned {
					a, b = b, a
				}
				if c := cost(a, b) - s.rowPrice[row] - s.columnPrice[j]; c < s.slack[j] {
					s.slack[j], s.before[j] = c, at
				}
				if s.slack[j] < least {
					least, next = s.slack[j], j
				}
			}
			for j := range s.reached {
				if s.reached[j] {
					s.rowPrice[s.rowOf[j]] += least
					s.columnPrice[j] -= least
				} else {
					s.slack[j] -= least
				}
			}
			at = next
		}
		for at != 0 { // turn the path over
			s.rowOf[at] = s.rowOf[s.before[at]]
			at = s.before[at]
		}
	}
}

// cleared is s with n zeros.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
