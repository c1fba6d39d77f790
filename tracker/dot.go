package tracker

import "gonum.org/v1/gonum/blas/blas32"

// padded is the length of a row of d numbers that is filled with zeros up to a whole
// number of vectors, without which there is no vector code for it.
func padded(d int) int { return (d + 7) &^ 7 }

// unitDim is the length of the rows of frames' unit features.
func (t *Tracker) unitDim() int { return padded(t.projection.Dim()) }

// dots writes the scalar products of queries, m×d, with rows, n×d, to dst, m×n. Where
// there is vector code for it the sum's order, and with it the last bits, are others.
func dots(dst, queries, rows []float32, d int) {
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
		query := blas32.Vector{N: d, Inc: 1, Data: queries[q*d : (q+1)*d]}
		for i := whole; i < n; i++ {
			dst[q*n+i] = blas32.Dot(query, blas32.Vector{N: d, Inc: 1, Data: rows[i*d : (i+1)*d]})
		}
	}
}
