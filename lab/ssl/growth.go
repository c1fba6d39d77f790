package ssl

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/segd/segd/internal/resident"
	"github.com/segd/segd/lab/clique"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
)

// GrowthSizes are the numbers of samples that Growth takes when none are given.
var GrowthSizes = []int{60, 200, 600, 2000, 6000}

// Growth is what a solve costs by the number of its samples.
type Growth struct {
	Setting Setting   `json:"setting"`
	Columns int       `json:"columns"` // d
	Samples []int     `json:"samples"` // n
	Seconds []float64 `json:"seconds"` // of processor time, the median of some runs
	// Bytes are those that a run allocates, rows, kernel and workspace with it. Nothing of it is given back before the end, so it is
	// the peak.
	Bytes []float64 `json:"bytes"`
	// By which powers of n these grow.
	SecondsExponent float64 `json:"seconds_exponent"`
	BytesExponent   float64 `json:"bytes_exponent"`
}

// growthColumns is d of the samples, as most of the benchmark's have it.
const growthColumns = 241

// growthRuns is how many times each size is run.
const growthRuns = 3

// MeasureGrowth runs the setting of the linear kernel, all its iterations, on two classes of Gaussian samples, as g241c is, of the
// given sizes.
func MeasureGrowth(ctx context.Context, sizes []int, progress func(done, total int)) (*Growth, error) {
	setting := Settings()[0]
	g := &Growth{Setting: setting, Columns: growthColumns, Samples: sizes}
	for i, n := range sizes {
		var seconds, bytes []float64
		for run := range growthRuns {
			s, b, err := setting.cost(ctx, n)
			if err != nil {
				return nil, err
			}
			seconds, bytes = append(seconds, s), append(bytes, b)
			if progress != nil {
				progress(i*growthRuns+run+1, len(sizes)*growthRuns)
			}
		}
		g.Seconds, g.Bytes = append(g.Seconds, stats.Median(seconds)), append(g.Bytes, stats.Median(bytes))
	}
	x := make([]float64, len(sizes))
	for i, n := range sizes {
		x[i] = float64(n)
	}
	g.SecondsExponent, g.BytesExponent = stats.Exponent(x, g.Seconds), stats.Exponent(x, g.Bytes)
	return g, nil
}

// cost runs n samples, of which every tenth is labeled, once.
func (c Setting) cost(ctx context.Context, n int) (seconds, bytes float64, err error) {
	const labels = 2
	rng := rand.New(rand.NewPCG(uint64(n), 0x67726f77))
	rows, unary := make([]float32, n*growthColumns), make([]float64, n*labels)
	y := make([]int32, n)
	for i := range n {
		side := int32(i % labels)
		for k := range growthColumns {
			rows[i*growthColumns+k] = float32(rng.NormFloat64())
		}
		rows[i*growthColumns] += 2.5 * float32(2*side-1)
		if i%10 < labels {
			unary[i*labels+1-int(side)], y[i] = math.Inf(1), side
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := resident.CPUTime()
	block, err := kernel.NewBlock(standardise(rows, n, growthColumns), n, growthColumns)
	if err != nil {
		return 0, 0, err
	}
	var k kernel.Linear
	k.SetWorkers(1)
	if err := k.Reset([]*kernel.Block{block}, c.Gamma); err != nil {
		return 0, 0, err
	}
	half := n / labels
	p := &solver.Problem{
		Labels: labels, Loss: c.Loss, Kernel: &k, Unary: unary, Nu: c.Nu,
		MRF: clique.NewBalance([]int{half * 8 / 10, half * 8 / 10}, []int{n - half*8/10, n - half*8/10}),
	}
	s := &solver.State{Scores: make([]float64, n*labels), Lambda: make([]float64, n*labels), Y: y}
	opt := solver.Options{MaxIter: c.Iterations, Rho: c.Rho, Tau: c.Tau, Tol: math.SmallestNonzeroFloat64, Workers: 1}
	if _, err := solver.Solve(ctx, new(solver.Workspace), p, s, opt); err != nil {
		return 0, 0, err
	}
	seconds = (resident.CPUTime() - began).Seconds()
	runtime.ReadMemStats(&after)
	return seconds, float64(after.TotalAlloc - before.TotalAlloc), ctx.Err()
}
