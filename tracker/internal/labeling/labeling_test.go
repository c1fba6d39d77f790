package labeling

import (
	"slices"
	"testing"
)

func TestArgmax(t *testing.T) {
	for _, tt := range []struct {
		row  []float64
		want int32
	}{
		{[]float64{0.2, 0.7, 0.1}, 1},
		{[]float64{0.4, 0.2, 0.4}, 0},
		{[]float64{-3, -2, -2}, 1},
	} {
		if got := Argmax(tt.row); got != tt.want {
			t.Errorf("Argmax(%v) = %d; want %d", tt.row, got, tt.want)
		}
	}
}

// An object comes, and another goes.
func TestWidenAndDrop(t *testing.T) {
	y := []int32{0, 1, 2, 3, -1, -2, 2}
	if Drop(y, 2); !slices.Equal(y, []int32{0, 1, 0, 2, -1, -2, 0}) {
		t.Errorf("without label 2: %v", y)
	}
	m := Widen([]float64{1, 2, 3, 4}, 2, 3)
	if !slices.Equal(m, []float64{1, 2, 0, 3, 4, 0}) {
		t.Errorf("widened: %v", m)
	}
	if got := DropColumn(slices.Clone(m), 1, 3); !slices.Equal(got, []float64{1, 0, 3, 0}) {
		t.Errorf("without column 1: %v", got)
	}
	if got := FoldColumn(slices.Clone(m), 1, 3); !slices.Equal(got, []float64{3, 0, 7, 0}) {
		t.Errorf("column 1 folded: %v", got)
	}
	if got := DropColumn([]bool{}, 0, 1); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
