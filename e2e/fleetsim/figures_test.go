package fleetsim

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	if s := spreadOf([]float64{4, 1, 3, 2}); s != (spread{2.5, 2, 4, 4}) {
		t.Errorf("%+v", s)
	}
	if s := spreadOf(nil); s != (spread{}) {
		t.Errorf("%+v", s)
	}
}

func TestExponent(t *testing.T) {
	x, y := []float64{100, 300, 1000}, make([]float64, 3)
	for i := range x {
		y[i] = 7 * math.Pow(x[i], 1.5)
	}
	if b := exponent(x, y); math.Abs(b-1.5) > 1e-9 {
		t.Errorf("%v; want 1.5", b)
	}
}

func TestFaults(t *testing.T) {
	good := figures{Placed: true, Imbalance: spread{Max: 0.1}, MovesPerCrash: spread{Max: 1.2}}
	if list := good.faults(); len(list) > 0 {
		t.Error(list)
	}
	bad := figures{DoubleHeld: 1, TokensFell: 1, Imbalance: spread{Max: 0.11}, MovesPerCrash: spread{Max: 1.3}}
	if list := bad.faults(); len(list) != 5 {
		t.Error(list)
	}
}
