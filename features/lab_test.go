package features

import (
	"math"
	"math/rand/v2"
	"testing"
)

// labOracle is the textbook: gamma, matrix, cube root, in float64.
func labOracle(b, g, r byte) [3]float64 {
	linear := func(v byte) float64 {
		c := float64(v) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	lr, lg, lb := linear(r), linear(g), linear(b)
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	fx := f((0.4124564*lr + 0.3575761*lg + 0.1804375*lb) / 0.95047)
	fy := f(0.2126729*lr + 0.7151522*lg + 0.0721750*lb)
	fz := f((0.0193339*lr + 0.1191920*lg + 0.9503041*lb) / 1.08883)
	return [3]float64{116*fy - 16, 500 * (fx - fy), 200 * (fy - fz)}
}

func TestLabAgainstOracle(t *testing.T) {
	// Half a unit of the integers plus the table's 0.01.
	const tolerance = 0.5/LabUnit + 0.011
	check := func(b, g, r byte) {
		t.Helper()
		want := labOracle(b, g, r)
		l, a, bb := lab.at(b, g, r)
		for i, got := range []int16{l, a, bb} {
			if v := float64(got) / LabUnit; math.Abs(v-want[i]) > tolerance {
				t.Errorf("BGR %d %d %d: Lab[%d] = %.4f, want %.4f", b, g, r, i, v, want[i])
			}
		}
	}
	for v := range 256 {
		check(byte(v), byte(v), byte(v))
		check(byte(v), 0, 0)
		check(0, byte(v), 0)
		check(0, 0, byte(v))
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		check(byte(rnd.IntN(256)), byte(rnd.IntN(256)), byte(rnd.IntN(256)))
	}
}

// Vector code makes the same of a row.
func TestLabRow(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		for n := range 40 {
			bgr := noiseImage(n, 1, uint64(n))
			dst, pixels := make([]int16, 3*n+1), make([]pixel, n+1)
			dst[3*n], pixels[n] = 42, 42
			lab.row(dst, pixels[:n], bgr)
			for i := range n {
				l, a, b := lab.at(bgr[3*i], bgr[3*i+1], bgr[3*i+2])
				if got := [3]int16(dst[3*i:]); got != [3]int16{l, a, b} || pixels[i] != makePixel(l, a, b, unseen) {
					t.Fatalf("pixel %d of %d is %d, %x; want %d %d %d", i, n, got, pixels[i], l, a, b)
				}
			}
			if dst[3*n] != 42 || pixels[n] != 42 {
				t.Fatalf("%d pixels: wrote beyond the end", n)
			}
		}
	})
}

func TestLabKnownColours(t *testing.T) {
	tests := []struct {
		name    string
		b, g, r byte
		want    [3]float64 // Lindbloom's calculator
	}{
		{"black", 0, 0, 0, [3]float64{0, 0, 0}},
		{"white", 255, 255, 255, [3]float64{100, 0, 0}},
		{"red", 0, 0, 255, [3]float64{53.24, 80.09, 67.20}},
		{"green", 0, 255, 0, [3]float64{87.73, -86.18, 83.18}},
		{"blue", 255, 0, 0, [3]float64{32.30, 79.19, -107.86}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, a, b := lab.at(tt.b, tt.g, tt.r)
			for i, got := range []int16{l, a, b} {
				if v := float64(got) / LabUnit; math.Abs(v-tt.want[i]) > 0.03 {
					t.Errorf("Lab[%d] = %.3f, want %.2f", i, v, tt.want[i])
				}
			}
		})
	}
}
