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
