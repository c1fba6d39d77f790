package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Sizes of windows: a frame's few thousand samples, the 30,000 of a long window,
// and the shape of a semi-supervised benchmark (few samples, many columns).
var sizes = []struct {
	n, d, labels, frames int
	mirrored             bool
}{
	{2000, 64, 2, 1, true},
	{30000, 64, 2, 5, true},
	{30000, 64, 2, 5, false},
	{30000, 67, 4, 5, false},
	{1500, 241, 2, 1, true},
}

func benchmarkInput(n, d, labels, frames int, mirror bool) (blocks []*Block, r []float64) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range frames {
		blocks = append(blocks, newBlock(randomMatrix(rng, n/frames*d), n/frames, d))
	}
	r = randomMatrix(rng, n*labels)
	if mirror {
		for i := 0; i < len(r); i += 2 {
			r[i+1] = -r[i]
		}
	}
	return blocks, r
}

func BenchmarkLinearSolve(b *testing.B) {
	for _, s := range sizes {
		blocks, r := benchmarkInput(s.n, s.d, s.labels, s.frames, s.mirrored)
		alpha := make([]float64, len(r))
		name := fmt.Sprintf("n=%d/d=%d/L=%d/mirrored=%t", s.n, s.d, s.labels, s.mirrored)
		b.Run(name+"/reference", func(b *testing.B) {
			k := newReference(blocks, 1)
			k.Factor(0.5, 1)
			for b.Loop() {
				k.Solve(alpha, r, s.labels)
			}
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				var k Linear
				k.Reset(blocks, 1)
				k.SetWorkers(workers)
				if err := k.Factor(0.5, 1); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					k.Solve(alpha, r, s.labels)
				}
			})
		}
	}
}

func BenchmarkGram(b *testing.B) {
	for _, s := range []struct{ n, d int }{{2000, 64}, {6000, 67}, {1500, 241}} {
		x := randomMatrix(rand.New(rand.NewPCG(2, 2)), s.n*s.d)
		b.Run(fmt.Sprintf("n=%d/d=%d/reference", s.n, s.d), func(b *testing.B) {
			g := make([]float64, s.d*s.d)
			for b.Loop() {
				referenceGram(g, x, s.n, s.d, 0)
			}
		})
		b.Run(fmt.Sprintf("n=%d/d=%d/block", s.n, s.d), func(b *testing.B) {
			var block Block
			b.ReportAllocs()
			for b.Loop() {
				block.Reset(x, s.n, s.d)
			}
		})
	}
}

// BenchmarkFactor changes ρ each time; the eigenvectors take over after a while.
func BenchmarkFactor(b *testing.B) {
	for _, d := range []int{64, 128, 241} {
		blocks, _ := benchmarkInput(2*d, d, 1, 1, false)
		var k Linear
		factor := func(b *testing.B, rho float64) {
			if err := k.Factor(0.5, rho); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("d=%d/cholesky", d), func(b *testing.B) {
			k.Reset(blocks, 1)
			for i := 0; b.Loop(); i++ {
				k.factored = 0
				factor(b, 1+float64(i%16))
			}
		})
		b.Run(fmt.Sprintf("d=%d/diagonalise", d), func(b *testing.B) {
			for b.Loop() {
				k.spectrum.of(k.gram, d)
			}
		})
		b.Run(fmt.Sprintf("d=%d/eigenvectors", d), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				factor(b, 1+float64(i%16))
			}
		})
	}
}
