package kernel

// The two inner loops of every product here, on a tile of rows of a row-major
// matrix: outer accumulates Xᵀr, dots takes Xv. The assembly twins in
// tile_amd64.s do the same operations in the same order, no multiply and add
// fused, so both give the same bits on every machine; the explicit float64
// conversions keep the compiler from fusing where it could (Go specification,
// "Floating-point operators").

// outer adds Σ_i r[i·rs+a]·x[i·xs+j] to acc[a·as+j] for a < na ≤ 4, j < cols and
// i < rows, the sum of each element in the order of i.
func outer(acc []float64, as int, x []float64, xs int, r []float64, rs, na, cols, rows int) {
	if rows == 0 || cols == 0 {
		return
	}
	if vector {
		outerVector(acc, as, x, xs, r, rs, na, cols, rows)
		return
	}
	outerGo(acc, as, x, xs, r, rs, na, cols, rows)
}

func outerGo(acc []float64, as int, x []float64, xs int, r []float64, rs, na, cols, rows int) {
	i := 0
	for ; i+4 <= rows; i += 4 {
		x0, x1 := x[i*xs:i*xs+cols], x[(i+1)*xs:(i+1)*xs+cols]
		x2, x3 := x[(i+2)*xs:(i+2)*xs+cols], x[(i+3)*xs:(i+3)*xs+cols]
		for a := range na {
			r0, r1, r2, r3 := r[i*rs+a], r[(i+1)*rs+a], r[(i+2)*rs+a], r[(i+3)*rs+a]
			sum := acc[a*as : a*as+cols]
			for j, s := range sum {
				s += float64(r0 * x0[j])
				s += float64(r1 * x1[j])
				s += float64(r2 * x2[j])
				s += float64(r3 * x3[j])
				sum[j] = s
			}
		}
	}
	for ; i < rows; i++ {
		row := x[i*xs : i*xs+cols]
		for a := range na {
			ra, sum := r[i*rs+a], acc[a*as:a*as+cols]
			for j, v := range row {
				sum[j] += float64(ra * v)
			}
		}
	}
}

// dots writes the products of rows rows of x, d wide, with the nv ≤ 2 vectors
// v[:d] and v[d:2d] to s[:rows] and s[ss:ss+rows]. A product is summed in four
// lanes, j mod 4, which are then added as (0+2)+(1+3).
func dots(s []float64, ss int, x []float64, d int, v []float64, nv, rows int) {
	done := 0
	if vector {
		done = dotsVector(s, ss, x, d, v, nv, rows)
	}
	for i := done; i < rows; i++ {
		for b := range nv {
			s[b*ss+i] = dotGo(x[i*d:(i+1)*d], v[b*d:(b+1)*d])
		}
	}
}

func dotGo(x, v []float64) float64 {
	var s0, s1, s2, s3 float64
	v = v[:len(x)]
	for len(x) >= 4 && len(v) >= 4 {
		s0 += float64(x[0] * v[0])
		s1 += float64(x[1] * v[1])
		s2 += float64(x[2] * v[2])
		s3 += float64(x[3] * v[3])
		x, v = x[4:], v[4:]
	}
	switch len(x) {
	case 3:
		s2 += float64(x[2] * v[2])
		fallthrough
	case 2:
		s1 += float64(x[1] * v[1])
		fallthrough
	case 1:
		s0 += float64(x[0] * v[0])
	}
	return (s0 + s2) + (s1 + s3)
}

// tileNumbers of a tile's rows fit half of a 32 KiB first-level cache.
const (
	tileNumbers = 2048
	tileMax     = 256
)

// tileRows is the height of a tile of rows of d numbers. It changes no result:
// outer carries its sums from tile to tile.
func tileRows(d int) int {
	return max(8, min(tileMax, tileNumbers/max(d, 1)&^3))
}

// roomFor returns room for a tile of rows of d numbers, that given if it is large
// enough.
func roomFor(room []float64, d int) []float64 {
	if n := tileRows(d) * d; n > len(room) {
		return make([]float64, n)
	}
	return room
}

// widen writes x to dst, which is as long.
func widen(dst []float64, x []float32) {
	done := widenVector(dst, x)
	for i, v := range x[done:] {
		dst[done+i] = float64(v)
	}
}
