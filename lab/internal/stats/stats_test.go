package stats

import (
	"math"
	"testing"
)

func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		v                       []float64
		mean, median, deviation float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"one", []float64{3}, 3, 3, 0},
		{"an odd number", []float64{9, 1, 2}, 4, 2, math.Sqrt(19)},
		{"an even number", []float64{8, 1, 2, 5}, 4, 3.5, math.Sqrt(10)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if mean, median, sd := Mean(tt.v), Median(tt.v), Deviation(tt.v); mean != tt.mean || median != tt.median || sd != tt.deviation {
				t.Errorf("mean %v, median %v, standard deviation %v; want %v, %v and %v", mean, median, sd, tt.mean, tt.median, tt.deviation)
			}
		})
	}
}

func TestExponent(t *testing.T) {
	x := []float64{10, 20, 50, 400}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = 3 * math.Pow(v, 1.7)
	}
	if got := Exponent(x, y); math.Abs(got-1.7) > 1e-12 {
		t.Errorf("exponent %g; want 1.7", got)
	}
	if got := Exponent(x[:1], y[:1]); got != 0 {
		t.Errorf("exponent %g of one point; want 0", got)
	}
	if got, want := FigureOf([]float64{1, 2, 3}).Format(1), "2.0 ± 1.0"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}
