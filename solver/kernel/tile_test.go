package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// canary is beyond what a tile may write.
const canary = 12345.678

// checkOuter compares outer with the definition, in the order of the rows, to the
// bit.
func checkOuter(t *testing.T, rng *rand.Rand, na, cols, rows, pad int) {
	t.Helper()
	as, xs, rs := cols+pad, cols+pad, na+pad
	x, r := randomMatrix(rng, rows*xs+1), randomMatrix(rng, rows*rs+1)
	acc := randomMatrix(rng, na*as+8)
	for i := range acc {
		if i >= na*as || i%as >= cols {
			acc[i] = canary
		}
	}
	want, twin := append([]float64(nil), acc...), append([]float64(nil), acc...)
	for a := range na {
		for j := range cols {
			for i := range rows {
				want[a*as+j] += float64(r[i*rs+a] * x[i*xs+j])
			}
		}
	}
	outer(acc, as, x[:max(0, (rows-1)*xs+cols)], xs, r, rs, na, cols, rows)
	sameBits(t, "outer", acc, want)
	outerGo(twin, as, x, xs, r, rs, na, cols, rows)
	sameBits(t, "outerGo", twin, want)
}

// checkDots compares dots with its Go twin to the bit, and that with a plain sum.
func checkDots(t *testing.T, rng *rand.Rand, nv, d, rows int) {
	t.Helper()
	x, v := randomMatrix(rng, rows*d), randomMatrix(rng, nv*d)
	ss := rows + 3
	s, want := make([]float64, 2*ss), make([]float64, 2*ss)
	for i := range s {
		s[i], want[i] = canary, canary
	}
	for b := range nv {
		for i := range rows {
			want[b*ss+i] = dotGo(x[i*d:(i+1)*d], v[b*d:(b+1)*d])
			plain := 0.0
			for j := range d {
				plain += x[i*d+j] * v[b*d+j]
			}
			if math.Abs(plain-want[b*ss+i]) > 1e-12*float64(d) {
				t.Fatalf("dotGo is %g; want %g (d=%d)", want[b*ss+i], plain, d)
			}
		}
	}
	dots(s, ss, x, d, v, nv, rows)
	sameBits(t, "dots", s, want)
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers; want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s[%d] = %v; want the bits of %v", what, i, got[i], want[i])
		}
	}
}

func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for cols := range 75 {
		for _, rows := range []int{0, 1, 3, 4, 9, 32} {
			for na := 1; na <= 4; na++ {
				checkOuter(t, rng, na, cols, rows, cols%3)
			}
			checkDots(t, rng, 1, cols, rows)
			checkDots(t, rng, 2, cols, rows)
		}
	}
}

func FuzzTiles(f *testing.F) {
	f.Add(uint64(1), uint8(1), uint8(64), uint8(32), uint8(0))
	f.Add(uint64(2), uint8(2), uint8(67), uint8(5), uint8(3))
	f.Add(uint64(3), uint8(4), uint8(3), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, na, cols, rows, pad uint8) {
		rng := rand.New(rand.NewPCG(seed, 9))
		checkOuter(t, rng, 1+int(na)%4, int(cols), int(rows), int(pad)%8)
		checkDots(t, rng, 1+int(na)%2, int(cols), int(rows))
	})
}

// A row that holds infinities does not leak into its neighbours' sums: what a masked
// read leaves out counts as nothing, not as 0 times what is there.
func TestDotsReadsOneRowOnly(t *testing.T) {
	for d := 1; d < 9; d++ {
		x := make([]float64, 8*d)
		for i := range x {
			x[i] = 1
			if i/d%2 == 1 {
				x[i] = math.Inf(1)
			}
		}
		v, s := make([]float64, d), make([]float64, 8)
		for i := range v {
			v[i] = 1
		}
		dots(s, 8, x, d, v, 1, 8)
		for i := range s {
			if want := float64(d); i%2 == 0 && s[i] != want {
				t.Errorf("d=%d: row %d gives %g; want %g", d, i, s[i], want)
			}
		}
	}
}
