// Package stats sums up figures.
package stats

import (
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
