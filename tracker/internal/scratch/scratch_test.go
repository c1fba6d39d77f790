package scratch

import (
	"slices"
	"testing"
)

func TestGrow(t *testing.T) {
	s := []int{1, 2, 3}
	for _, n := range []int{0, 2, 3, 5} {
		if got := Grow(s, n); len(got) != n || n > 0 && n <= 3 && &got[0] != &s[0] {
			t.Errorf("Grow to %d: %d values, or memory that was not reused", n, len(got))
		}
		if got := Zero(slices.Clone(s), n); !slices.Equal(got, make([]int, n)) {
			t.Errorf("Zero to %d: %v", n, got)
		}
	}
}
