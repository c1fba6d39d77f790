package tracker

import "gonum.org/v1/gonum/blas/blas32"

// dots writes the scalar products of query, of length d, with the rows of n×d to
// dst, n. Where there is vector code for it the sum's order, and with it the last
// bits, are others.
func dots(dst, query, rows []float32) {
	d := len(query)
	if whole := len(dst) &^ 3; vector && d%8 == 0 && whole > 0 {
		dots4(&dst[0], &query[0], &rows[0], whole/4, d/8)
		dst, rows = dst[whole:], rows[whole*d:]
	}
	q := blas32.Vector{N: d, Inc: 1, Data: query}
	for i := range dst {
		dst[i] = blas32.Dot(q, blas32.Vector{N: d, Inc: 1, Data: rows[i*d : (i+1)*d]})
	}
}
