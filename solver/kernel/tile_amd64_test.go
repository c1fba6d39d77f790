//go:build !noasm

package kernel

import (
	"math/rand/v2"
	"testing"
)

// A whole solve without AVX-512, or any AVX, has the bits of one with it.
func TestSolveWithoutAVX(t *testing.T) {
	if !wide {
		t.Logf("this processor has AVX: %t, AVX-512: %t; what it has not is not compared", vector, wide)
	}
	defer func(v, w bool) { vector, wide = v, w }(vector, wide)
	solve := func() []float64 {
		blocks, _ := randomBlocks(rand.New(rand.NewPCG(3, 3)), 67, 400, 129)
		var k Linear
		k.Reset(blocks, 0.5)
		if err := k.Factor(0.5, 2); err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 529*7)
		k.Solve(out, randomMatrix(rand.New(rand.NewPCG(4, 4)), 529*7), 7)
		return out
	}
	with := solve()
	wide = false
	sameBits(t, "α without AVX-512", solve(), with)
	vector = false
	sameBits(t, "α without AVX", solve(), with)
}
