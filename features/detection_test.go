package features

import (
	"image"
	"slices"
	"testing"
)

func TestSuppress(t *testing.T) {
	at := func(x, side int, class string, score float64) Detection {
		return Detection{Box: image.Rect(x, 0, x+side, side), Class: class, Score: score}
	}
	for _, tt := range []struct {
		name  string
		found []Detection
		want  []Detection
	}{
		{"the best first", []Detection{at(0, 9, "a", 0.6), at(50, 9, "a", 0.7)}, []Detection{at(50, 9, "a", 0.7), at(0, 9, "a", 0.6)}},
		{"the same thing", []Detection{at(0, 12, "a", 0.6), at(3, 12, "a", 0.7)}, []Detection{at(3, 12, "a", 0.7)}},
		{"as two classes", []Detection{at(0, 12, "a", 0.6), at(1, 12, "b", 0.7)}, []Detection{at(1, 12, "b", 0.7)}},
		{"one on another", []Detection{at(0, 12, "a", 0.6), at(3, 12, "b", 0.7)}, []Detection{at(3, 12, "b", 0.7), at(0, 12, "a", 0.6)}},
		{"a van as a car and as a truck", []Detection{at(0, 12, "car", 0.6), at(3, 12, "truck", 0.7)}, []Detection{at(3, 12, "truck", 0.7)}},
		{"as good", []Detection{at(0, 9, "a", 0.6), at(50, 9, "b", 0.6)}, []Detection{at(0, 9, "a", 0.6), at(50, 9, "b", 0.6)}},
	} {
		if got := Suppress(tt.found, 0.5, 0.8); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	var many []Detection
	for i := range 500 {
		many = append(many, at(20*i, 9, "a", float64(i)/500))
	}
	if got := Suppress(many, 0.5, 0.8); len(got) != MaxFound || got[0].Score != 499./500 {
		t.Errorf("of 500 %d are left, the best %v", len(got), got[0])
	}
}
