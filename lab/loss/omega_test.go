package loss

import (
	"math"
	"testing"
)

// w + log w = x has one root; its residual, over the slope 1 + 1/w, is the error.
func TestOmegaSolvesItsEquation(t *testing.T) {
	check := func(x float64) {
		w := omega(x)
		if !(w > 0) || math.IsInf(w, 0) {
			t.Fatalf("omega(%g) = %g", x, w)
		}
		residual := math.Abs(w + math.Log(w) - x)
		if relative := residual / (1 + w); relative > 4e-16*(1+math.Abs(x)/(1+w)) {
			t.Fatalf("omega(%.17g) = %.17g: relative error %g", x, w, relative)
		}
	}
	for x := -700.0; x < 700; x += 0.00731 {
		check(x)
	}
	for e := -10.0; e < 300; e += 0.37 {
		check(math.Pow(10, e))
	}
	for _, seam := range []float64{-6.5, -2, 5, 1e20} {
		check(math.Nextafter(seam, math.Inf(-1)))
		check(seam)
		check(math.Nextafter(seam, math.Inf(1)))
	}
}

func TestRoughOmega(t *testing.T) {
	for x := -100.0; x < 100; x += 0.00731 {
		if w, rough := omega(x), roughOmega(x); math.Abs(w-rough) > 2e-4*w {
			t.Fatalf("roughOmega(%g) = %g; omega is %g", x, rough, w)
		}
	}
}

func TestOmegaKnownValues(t *testing.T) {
	for _, c := range []struct{ x, w float64 }{
		{1, 1},
		{0, 0.56714329040978387300}, // the omega constant
		{math.E + 1, math.E},
		{-700, math.Exp(-700)},
		{-1000, 0},
	} {
		if got := omega(c.x); math.Abs(got-c.w) > 4e-16*c.w {
			t.Errorf("omega(%g) = %.17g; want %.17g", c.x, got, c.w)
		}
	}
}

func BenchmarkOmega(b *testing.B) {
	xs := make([]float64, 1024)
	for i := range xs {
		xs[i] = -20 + 40*float64(i)/1024
	}
	i, sum := 0, 0.0
	for b.Loop() {
		sum += omega(xs[i&1023])
		i++
	}
	_ = sum
}
