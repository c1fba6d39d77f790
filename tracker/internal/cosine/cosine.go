package cosine

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// Padded is the length of a row of d numbers that is filled with zeros up to a whole
// number of vectors, without which there is no vector code for it.
func Padded(d int) int { return (d + 7) &^ 7 }

// Products writes the scalar products of queries, m×d, with rows, n×d, to dst, m×n.
// Where there is vector code for it the sum's order, and with it the last bits, are
// others than those of Dot.
func Products(dst, queries, rows []float32, d int) {
	m, n := len(queries)/d, len(rows)/d
	whole := 0 // of the rows, those that vector code does
	if vector && d%8 == 0 {
		whole = n &^ 3
	}
	for q := 0; whole > 0 && q < m; q += 2 {
		if q+1 == m {
			dots1x4(&dst[q*n], &queries[q*d], &rows[0], whole/4, d/8)
		} else {
			dots2x4(&dst[q*n], &queries[q*d], &rows[0], n, whole/4, d/8)
		}
	}
	if whole == n {
		return
	}
	for q := range m {
		query := queries[q*d : (q+1)*d]
		for i := whole; i < n; i++ {
			dst[q*n+i] = Dot(query, rows[i*d:(i+1)*d])
		}
	}
}

// Dot is the scalar product of two rows of one length.
func Dot(a, b []float32) float32 {
	return blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
}

// Match is a row, by its number or whatever else identifies it, and its cosine to
// what it was compared with.
type Match struct {
	To     int32
	Cosine float32
}

// None is the Match of a place that was not filled: below every cosine, and To is −1.
var None = Match{To: -1, Cosine: -2}

// Weight is how much a match counts, 1 at a cosine of 1: exp((cosine − 1)/temperature).
func (m Match) Weight(temperature float64) float64 { return Weight(float64(m.Cosine), temperature) }

// Weight is that of a match of the given cosine.
func Weight(cosine, temperature float64) float64 { return math.Exp((cosine - 1) / temperature) }

// Insert puts m into best, sorted by falling cosine, and drops the last, which has to
// be the lesser one. Of equal cosines the earlier comes first.
func Insert(best []Match, m Match) {
	at := len(best) - 1
	for at > 0 && best[at-1].Cosine < m.Cosine {
		best[at] = best[at-1]
		at--
	}
	best[at] = m
}
