package stats

import "testing"

func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		name         string
		v            []float64
		mean, median float64
	}{
		{"nothing", nil, 0, 0},
		{"one", []float64{3}, 3, 3},
		{"an odd number", []float64{9, 1, 2}, 4, 2},
		{"an even number", []float64{8, 1, 2, 5}, 4, 3.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if mean, median := Mean(tt.v), Median(tt.v); mean != tt.mean || median != tt.median {
				t.Errorf("mean %v, median %v; want %v and %v", mean, median, tt.mean, tt.median)
			}
		})
	}
}
