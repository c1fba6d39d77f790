// Package stats sums up figures.
package stats

import (
	"fmt"
	"math"
	"slices"
)

// Mean is 0 of nothing.
func Mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / math.Max(1, float64(len(v)))
}

// Median is the middle value, or the mean of the middle two; 0 of nothing.
func Median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Deviation is the sample standard deviation, with n−1 below; 0 of less than two.
func Deviation(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	mean, sum := Mean(v), 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(v)-1))
}

// Figure sums up what repeats give.
type Figure struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // Deviation
}

// FigureOf is the figure of some repeats.
func FigureOf(v []float64) Figure { return Figure{Mean(v), Deviation(v)} }

// Format gives the mean and its deviation so many decimals.
func (f Figure) Format(decimals int) string {
	return fmt.Sprintf("%.*f ± %.*f", decimals, f.Mean, decimals, f.SD)
}

// Exponent is the power of x by which y grows, by least squares of the logarithms; 0 of fewer than two different x. All are > 0.
func Exponent(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		u, v := math.Log(x[i]), math.Log(y[i])
		n, sx, sy, sxx, sxy = n+1, sx+u, sy+v, sxx+u*u, sxy+u*v
	}
	d := n*sxx - sx*sx
	if d < 1e-9 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}
