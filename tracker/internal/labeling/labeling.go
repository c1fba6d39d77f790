// Package labeling is about what a superpixel is: label 0 is the background, label l > 0
// an object. Labels of n superpixels are n numbers; scores, probabilities and the like
// for each of L labels are n×L, row-major.
package labeling

import "math"

// Argmax is the label with the largest value in a row, the first of several.
func Argmax(row []float64) int32 {
	best, most := 0, math.Inf(-1)
	for l, v := range row {
		if v > most {
			best, most = l, v
		}
	}
	return int32(best)
}

// Drop makes a label of y background and closes the gap that it leaves: higher labels
// move down by one. Negative numbers stay.
func Drop[T int32 | uint8](y []T, label int32) {
	for i, l := range y {
		if int32(l) == label {
			y[i] = 0
		} else if int32(l) > label {
			y[i] = l - 1
		}
	}
}

// Widen returns m, n×from, as n×to, with zeros for the new labels.
func Widen[T any](m []T, from, to int) []T {
	n := len(m) / from
	wide := make([]T, n*to)
	for i := range n {
		copy(wide[i*to:], m[i*from:(i+1)*from])
	}
	return wide
}

// DropColumn returns m, n×labels, without a label's column, in m's memory.
func DropColumn[T any](m []T, label, labels int) []T {
	to := m[:0]
	for i := 0; i < len(m); i += labels {
		row := m[i : i+labels]
		to = append(append(to, row[:label]...), row[label+1:]...)
	}
	return to
}

// FoldColumn is DropColumn of probabilities: what the label had is the background's.
func FoldColumn(m []float64, label, labels int) []float64 {
	for i := 0; i < len(m); i += labels {
		m[i] += m[i+label]
	}
	return DropColumn(m, label, labels)
}
