package features

import (
	"math"
	"testing"
)

func TestPotts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edges []Edge
		want  []float64
	}{
		{"one colour", []Edge{{Length: 2}, {Length: 6}, {Length: 4}}, []float64{1.5, 4.5, 3}},
		// l̄ is 4 and σ² (0 + 9 + 9 + 36)/4 = 13.5.
		{"contrasts", []Edge{{Length: 4}, {Length: 4, Contrast: 3}, {Length: 2, Contrast: 3}, {Length: 6, Contrast: 6}},
			[]float64{3, 3 * math.Exp(-9/27.), 1.5 * math.Exp(-9/27.), 4.5 * math.Exp(-36/27.)}},
		{"one edge", []Edge{{Length: 7, Contrast: 50}}, []float64{3 * math.Exp(-0.5)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPotts(tt.edges, 3)
			for i, e := range tt.edges {
				if got := p.Weight(e); math.Abs(got-tt.want[i]) > 1e-12 {
					t.Errorf("edge %d weighs %v; want %v", i, got, tt.want[i])
				}
			}
		})
	}
	NewPotts(nil, 3) // a scene of one superpixel
	edges := make([]Edge, 100)
	sum := 0.0
	if n := testing.AllocsPerRun(10, func() {
		p := NewPotts(edges, 3)
		for _, e := range edges {
			sum += p.Weight(e)
		}
	}); n != 0 {
		t.Errorf("%v allocations; want none", n)
	}
}
