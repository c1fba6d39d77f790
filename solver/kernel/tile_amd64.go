//go:build !noasm

package kernel

// vector tells whether the processor has AVX and the system saves its registers.
// A variable, so that tests can compare the twins.
var vector = avx()

// avx asks CPUID leaf 1 for OSXSAVE and AVX and XCR0 for the states of XMM and YMM
// (Intel SDM vol. 1, 14.3 "Detection of Intel AVX Instructions").
func avx() bool {
	const osxsave, avxBit, states = 1 << 27, 1 << 28, 1<<1 | 1<<2
	if c := cpuid1(); c&osxsave == 0 || c&avxBit == 0 {
		return false
	}
	return xgetbv0()&states == states
}

// wide tells whether the processor has AVX-512F too.
var wide = vector && avx512()

// avx512 asks CPUID leaf 7 for AVX512F and XCR0 for the states of the opmask and
// ZMM registers (Intel SDM vol. 1, 15.2).
func avx512() bool {
	const foundation, states = 1 << 16, 1<<1 | 1<<2 | 7<<5
	return cpuid7()&foundation != 0 && xgetbv0()&states == states
}

// cpuid7 returns EBX of CPUID leaf 7, subleaf 0.
func cpuid7() (ebx uint32)

// cpuid1 returns ECX of CPUID leaf 1.
func cpuid1() (ecx uint32)

// xgetbv0 returns the low half of XCR0. Only with OSXSAVE.
func xgetbv0() (eax uint32)

// Each adds r's columns times rows of x to the 1, 2 or 4 rows of acc, of the width
// in its name; those of width 4 leave out the columns that mask leaves out.
// Strides are in numbers, rows ≥ 1.

//go:noescape
func outer1x32(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)

//go:noescape
func outer1x16(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)

//go:noescape
func outer2x16(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)

//go:noescape
func outer4x8(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)

// outer8x8 does eight rows of acc. Only where wide.
//
//go:noescape
func outer8x8(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int)

//go:noescape
func outer1x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)

//go:noescape
func outer2x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)

//go:noescape
func outer4x4(acc *float64, as int, x *float64, xs int, r *float64, rs, rows int, mask *[4]int64)

// Each takes 4·quads rows of d = 4·fours (plus what mask has) numbers times one or
// two vectors of d.

//go:noescape
func dots4x1(s *float64, ss int, x *float64, d int, v *float64, quads, fours int, mask *[4]int64)

//go:noescape
func dots4x2(s *float64, ss int, x *float64, d int, v *float64, quads, fours int, mask *[4]int64)

// masks[m] lets the first m of four numbers through.
var masks = [5][4]int64{{}, {-1}, {-1, -1}, {-1, -1, -1}, {-1, -1, -1, -1}}

func outerVector(acc []float64, as int, x []float64, xs int, r []float64, rs, na, cols, rows int) {
	// The assembly is not bounds-checked: these are its last reads and writes.
	_ = acc[(na-1)*as+cols-1]
	_ = x[(rows-1)*xs+cols-1]
	_ = r[(rows-1)*rs+na-1]
	a := 0
	for ; na-a >= 4; a += 4 {
		j := 0
		for ; cols-j >= 8; j += 8 {
			outer4x8(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows)
		}
		for ; j < cols; j += 4 {
			outer4x4(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows, &masks[min(4, cols-j)])
		}
	}
	if na-a >= 2 {
		j := 0
		for ; cols-j >= 16; j += 16 {
			outer2x16(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows)
		}
		for ; j < cols; j += 4 {
			outer2x4(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows, &masks[min(4, cols-j)])
		}
		a += 2
	}
	if na-a >= 1 {
		j := 0
		for ; cols-j >= 32; j += 32 {
			outer1x32(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows)
		}
		if cols-j >= 16 {
			outer1x16(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows)
			j += 16
		}
		for ; j < cols; j += 4 {
			outer1x4(&acc[a*as+j], as, &x[j], xs, &r[a], rs, rows, &masks[min(4, cols-j)])
		}
	}
}

// outerSquare adds r's 8 columns times 8 columns of x to 8 rows of acc, as outer
// does.
func outerSquare(acc []float64, as int, x []float64, xs int, r []float64, rs, rows int) {
	if wide && rows > 0 {
		_, _, _ = acc[7*as+7], x[(rows-1)*xs+7], r[(rows-1)*rs+7]
		outer8x8(&acc[0], as, &x[0], xs, &r[0], rs, rows)
		return
	}
	outer(acc, as, x, xs, r, rs, 4, 8, rows)
	outer(acc[4*as:], as, x, xs, r[4:], rs, 4, 8, rows)
}

// dotsVector does the first rows of dots, four at a time, and returns how many.
func dotsVector(s []float64, ss int, x []float64, d int, v []float64, nv, rows int) int {
	rows &^= 3
	if rows == 0 || d == 0 {
		return 0
	}
	_ = s[(nv-1)*ss+rows-1]
	_ = x[rows*d-1]
	_ = v[nv*d-1]
	if nv == 2 {
		dots4x2(&s[0], ss, &x[0], d, &v[0], rows/4, d/4, &masks[d%4])
	} else {
		dots4x1(&s[0], ss, &x[0], d, &v[0], rows/4, d/4, &masks[d%4])
	}
	return rows
}

// widen8 writes 8·eights numbers.
//
//go:noescape
func widen8(dst *float64, x *float32, eights int)

// widenVector does the first numbers of widen and returns how many.
func widenVector(dst []float64, x []float32) int {
	eights := len(x) / 8
	if !vector || eights == 0 {
		return 0
	}
	_ = dst[8*eights-1]
	widen8(&dst[0], &x[0], eights)
	return 8 * eights
}
