package perceptron

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestOdds(t *testing.T) {
	p := &Perceptron{Mean: []float32{1, 0}, Scale: []float32{2, 1}, Layers: []Layer{
		{2, []float32{1, 0, 0, 0, 1, -1}}, // 2·(x−1) and y − 1
		{2, []float32{1, 1, 0}},
		{1, []float32{3, 0.5}},
	}}
	for _, tt := range []struct{ x, y, want float64 }{
		{2, 3, 3*(2+2) + 0.5},
		{2, 0, 3*(2-Leak) + 0.5},
		{0, 0, 3*Leak*Leak*(-2-1) + 0.5},
		{100, 1, 3*extreme + 0.5},
	} {
		if got := p.Odds([]float64{tt.x, tt.y}); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("odds %g of %g, %g; want %g", got, tt.x, tt.y, tt.want)
		}
	}
}

// What is written is read again, and nothing else.
func TestRead(t *testing.T) {
	units := []int{3, 4, 1}
	p := random(units)
	data := p.Append(nil)
	if n := 4 * (3 + 3 + 4*4 + 5); len(data) != n {
		t.Errorf("%d bytes; want %d", len(data), n)
	}
	got, err := Read(data, units...)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%v, %v; want %v", got, err, p)
	}
	for _, wrong := range [][]byte{nil, data[1:], append(slices.Clone(data), 0)} {
		if _, err := Read(wrong, units...); err == nil || !strings.Contains(err.Error(), "want 108") {
			t.Errorf("%d bytes: %v", len(wrong), err)
		}
	}
}

func random(units []int) *Perceptron {
	r := rand.New(rand.NewPCG(3, 3))
	p := New(units)
	for _, values := range p.values() {
		for k := range values {
			values[k] = float32(r.NormFloat64())
		}
	}
	return p
}
