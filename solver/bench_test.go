package solver_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/solver/solvertest"
)

// slidingWindow is five frames of 100×60 samples with an object that drifts
// through them. The classes overlap; the first frame's labels are known, the
// others have a weak and often wrong hint. Each sample has 3 spatial edges, and 4
// to the frame before. The state returned is the start of a window that has just
// slid: all frames under the classifier of the first four, the problem's offset.
func slidingWindow(tb testing.TB) (p *solver.Problem, warm *solver.State, reset func()) {
	const frames, cols, rows, d, labels = 5, 100, 60, 64, 2
	const n = cols * rows
	rng := rand.New(rand.NewPCG(1, 2))
	truth := make([]int32, frames*n)
	unary := make([]float64, frames*n*labels)
	var blocks []*kernel.Block
	var edges []mrf.Edge
	join := func(f, x, y, g, u, v int, w float64) {
		if u >= 0 && u < cols && v >= 0 && v < rows {
			edges = append(edges, mrf.Edge{I: int32(f*n + y*cols + x), J: int32(g*n + v*cols + u), W: w * rng.Float64()})
		}
	}
	for f := range frames {
		x := make([]float64, n*d)
		for i := range n {
			at := f*n + i
			if math.Hypot(float64(i%cols-40-2*f), float64(i/cols-30)) < 14 {
				truth[at] = 1
			}
			for k := range d {
				x[i*d+k] = rng.NormFloat64()
			}
			for k := range 8 {
				x[i*d+k] += 0.6 * float64(2*truth[at]-1)
			}
			hint := 0.5 + 0.3*float64(2*truth[at]-1) + 0.3*rng.NormFloat64()
			hint = math.Max(0, math.Min(1, hint))
			unary[at*labels], unary[at*labels+1] = hint, 1-hint
			if f == 0 {
				unary[at*labels+1-int(truth[at])] = math.Inf(1)
			}
			col, row := i%cols, i/cols
			join(f, col, row, f, col+1, row, 0.5)
			join(f, col, row, f, col, row+1, 0.5)
			join(f, col, row, f, col+1, row+1, 0.5)
			if f > 0 {
				join(f, col, row, f-1, col-2, row, 0.5)
				join(f, col, row, f-1, col-1, row, 0.5)
				join(f, col, row, f-1, col-2, row+1, 0.5)
				join(f, col, row, f-1, col-3, row, 0.5)
			}
		}
		blocks = append(blocks, solvertest.Block(x, n, d))
	}

	// The first four frames from cold, then the newest joins them.
	const before = (frames - 1) * n
	var early []mrf.Edge
	for _, e := range edges {
		if e.I < before && e.J < before {
			early = append(early, e)
		}
	}
	var k kernel.Linear
	var potts mrf.Potts
	k.Reset(blocks[:frames-1], 1)
	potts.Reset(before, labels, early)
	first := solvertest.Cold(before, labels)
	copy(first.Y, truth[:n])
	p = &solver.Problem{Labels: labels, Loss: loss.Hinge{}, Kernel: &k, MRF: &potts, Unary: unary[:before*labels], Nu: 5}
	var ws solver.Workspace
	if _, err := solver.Solve(tb.Context(), &ws, p, first, solver.Options{MaxIter: 200, Rho: 1, RhoMax: 10}); err != nil {
		tb.Fatal(err)
	}
	alpha, w := make([]float64, before*labels), make([]float64, labels*d)
	first.Alpha(alpha, p.Nu)
	k.Weights(w, alpha, labels)

	k.Reset(blocks, 1)
	warm = solvertest.Cold(frames*n, labels)
	k.Scores(warm.Scores, w, labels)
	p.Offset = slices.Clone(warm.Scores)
	copy(warm.Y, first.Y)
	for i := before; i < frames*n; i++ {
		if warm.Scores[i*labels+1] > warm.Scores[i*labels] {
			warm.Y[i] = 1
		}
	}
	p.Unary = unary
	reset = func() {
		k.Reset(blocks, 1)
		potts.Reset(frames*n, labels, edges)
	}
	return p, warm, reset
}

// BenchmarkWindow is the solve of one frame step: 30,000 samples of 64 features,
// two labels, 7 edges a sample, 10 iterations from the warm start.
func BenchmarkWindow(b *testing.B) {
	p, warm, reset := slidingWindow(b)
	s := solvertest.Cold(len(warm.Y), p.Labels)
	var ws solver.Workspace
	var res solver.Result
	start := func() {
		reset()
		copy(s.Scores, warm.Scores)
		copy(s.Lambda, warm.Lambda)
		copy(s.Y, warm.Y)
	}
	ctx := b.Context()
	solve := func() {
		var err error
		if res, err = solver.Solve(ctx, &ws, p, s, solver.Options{MaxIter: 10, Rho: 1, RhoMax: 10, Tol: 1e-12, Consistent: true}); err != nil {
			b.Fatal(err)
		}
	}
	start()
	solve() // all memory is taken
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		start()
		b.StartTimer()
		solve()
	}
	b.ReportMetric(float64(res.Flips)/float64(res.Iterations), "flips/iteration")
}
