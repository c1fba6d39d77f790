package kernel

import "math"

// panelRows is how many rows cholesky eliminates at a time.
const panelRows = 8

// cholesky replaces the upper triangle of a, d×d, by the U of a = UᵀU and the lower
// one by Uᵀ, and says whether a was positive definite. scratch has panelRows·d
// numbers. Cost d³/3 multiplications, most of them in outer: a panel of rows is
// made, then its products are taken off everything below it.
func cholesky(a []float64, d int, scratch []float64) bool {
	for k := 0; k < d; k += panelRows {
		m := min(panelRows, d-k)
		for i := k; i < k+m; i++ {
			row := a[i*d : (i+1)*d]
			pivot := row[i]
			if !(pivot > 0) || math.IsInf(pivot, 1) {
				return false
			}
			scale := 1 / math.Sqrt(pivot)
			for j := i; j < d; j++ {
				row[j] *= scale
			}
			for b := i + 1; b < k+m; b++ {
				r := [1]float64{-row[b]}
				outer(a[b*d+b:], d, row[b:], d, r[:], 1, 1, d-b, 1)
			}
		}
		rest := d - k - m
		if rest == 0 {
			break
		}
		minus := scratch[:m*rest]
		for i := range m {
			for j, v := range a[(k+i)*d+k+m : (k+i+1)*d] {
				minus[i*rest+j] = -v
			}
		}
		for i := 0; i < rest; i += 4 {
			at := k + m + i
			outer(a[at*d+at:], d, a[k*d+at:], d, minus[i:], rest, min(4, rest-i), rest-i, m)
		}
	}
	mirror(a, d)
	return true
}

// mirror copies the upper triangle of a, d×d, to the lower one, in squares that
// stay in the cache.
func mirror(a []float64, d int) {
	const square = 16
	for i0 := 0; i0 < d; i0 += square {
		for j0 := i0; j0 < d; j0 += square {
			for i := i0; i < min(i0+square, d); i++ {
				for j := max(j0, i+1); j < min(j0+square, d); j++ {
					a[j*d+i] = a[i*d+j]
				}
			}
		}
	}
}

// substitute replaces v by (UᵀU)⁻¹v, with U the upper triangle of c, d×d, and Uᵀ
// the lower one. Both substitutions go by columns, four at a time, so that what
// they read is a row of c.
func substitute(v, c []float64, d int) {
	var r [4]float64
	for i := 0; i < d; i += 4 {
		m := min(4, d-i)
		for a := range m {
			x := v[i+a]
			for b := range a {
				x -= float64(c[(i+b)*d+i+a] * v[i+b])
			}
			v[i+a] = x / c[(i+a)*d+i+a]
			r[a] = -v[i+a]
		}
		if rest := d - i - m; rest > 0 {
			outer(v[i+m:], d, c[i*d+i+m:], d, r[:], 1, 1, rest, m)
		}
	}
	for end := d; end > 0; {
		m := 1 + (end-1)%4
		i := end - m
		for a := m - 1; a >= 0; a-- {
			x := v[i+a]
			for b := a + 1; b < m; b++ {
				x -= float64(c[(i+a)*d+i+b] * v[i+b])
			}
			v[i+a] = x / c[(i+a)*d+i+a]
			r[a] = -v[i+a]
		}
		if i > 0 {
			outer(v, d, c[i*d:], d, r[:], 1, 1, i, m)
		}
		end = i
	}
}
