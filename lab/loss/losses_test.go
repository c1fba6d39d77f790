package loss

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/solver/loss"
)

// proximal is what every loss offers.
type proximal interface {
	Table(u, t, omega []float64, labels int, rho float64) error
	Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error
	Value(beta, omega []float64, y []int32, labels int) (float64, error)
}

var (
	all = []proximal{loss.Hinge{}, CrammerSinger{}, Softmax{}}
	// Those that see scores only by their differences.
	multiclass = []proximal{CrammerSinger{}, Softmax{}}
)

// sample is one prox: target t, weight w, label y.
type sample struct {
	t      []float64
	y      int
	w, rho float64
}

func (c sample) String() string {
	return fmt.Sprintf("t=%v y=%d ω=%g ρ=%g", c.t, c.y, c.w, c.rho)
}

func (c sample) prox(l proximal) []float64 {
	dst := make([]float64, len(c.t))
	l.Prox(dst, c.t, []float64{c.w}, []int32{int32(c.y)}, len(c.t), c.rho)
	return dst
}

// table is u with a weight, so that the loss, not its default, is under test.
func (c sample) table(l proximal) []float64 {
	u := make([]float64, len(c.t))
	l.Table(u, c.t, []float64{c.w}, len(c.t), c.rho)
	return u
}

// value is l's of what fits.
func value(l proximal, beta, omega []float64, y []int32, labels int) float64 {
	v, err := l.Value(beta, omega, y, labels)
	if err != nil {
		panic(err)
	}
	return v
}

func TestRefuses(t *testing.T) {
	two, four := make([]float64, 2), make([]float64, 4)
	for _, l := range []proximal{CrammerSinger{}, Softmax{}} {
		for _, tt := range []struct {
			name string
			do   func() error
			says string
		}{
			{"one label", func() error { return l.Table(two, two, nil, 1, 1) }, "1 labels; want at least 2"},
			{"half a sample", func() error { return l.Table(four, four, nil, 3, 1) }, "4 and 4 numbers"},
			{"short table", func() error { return l.Table(two, four, nil, 2, 1) }, "2 and 4 numbers"},
			{"few weights", func() error { return l.Table(four, four, []float64{1}, 2, 1) }, "1 weights"},
			{"no labels for scores", func() error { return l.Prox(four, four, nil, nil, 2, 1) }, "labels of 0 samples for 2"},
			{"label that there is not", func() error { return l.Prox(four, four, nil, []int32{0, 2}, 2, 1) }, "sample 1 has label 2"},
			{"negative label", func() error { _, err := l.Value(four, nil, []int32{-1, 0}, 2); return err }, "sample 0 has label -1"},
			{"value of one label", func() error { _, err := l.Value(two, nil, []int32{0, 0}, 1); return err }, "1 labels"},
		} {
			if err := tt.do(); !errors.Is(err, loss.ErrInput) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%T, %s: error %v; want ErrInput with %q", l, tt.name, err, tt.says)
			}
		}
	}
}

func (c sample) objective(l proximal, beta []float64) float64 {
	v := value(l, beta, []float64{c.w}, []int32{int32(c.y)}, len(c.t))
	for k, b := range beta {
		v += c.rho / 2 * (b - c.t[k]) * (b - c.t[k])
	}
	return v
}

// coarseness bounds what rounding β, a number near |t|, can do to the objective
// and to ρ(β − t).
func (c sample) coarseness() float64 {
	top := 1.0
	for _, v := range c.t {
		top = max(top, math.Abs(v))
	}
	return 0x1p-50 * (top + float64(len(c.t)))
}

// samples are ordinary, tied and extreme ones for every size up to 8 and beyond.
func samples() []sample {
	rng := rand.New(rand.NewPCG(11, 12))
	var cs []sample
	for _, labels := range []int{2, 3, 4, 5, 6, 7, 8, 33} {
		for range 150 {
			c := sample{t: make([]float64, labels), y: rng.IntN(labels)}
			scale := math.Pow(10, 7*rng.Float64()-3)
			for l := range c.t {
				c.t[l] = scale * rng.NormFloat64()
			}
			switch rng.IntN(4) {
			case 0: // ties
				for l := range c.t {
					c.t[l] = float64(rng.IntN(3))
				}
			case 1: // one shift for all
				shift := 1e4 * (2*rng.Float64() - 1)
				for l := range c.t {
					c.t[l] += shift
				}
			}
			c.w, c.rho = math.Pow(10, 8*rng.Float64()-4), math.Pow(10, 8*rng.Float64()-4)
			cs = append(cs, c)
		}
	}
	for _, t := range [][]float64{
		{0, 0}, {0, 0, 0}, {1, 0}, {0, 1}, {1, 1, 1, 1}, {2, 1, 0}, {0, 1, 2}, {1, 0, 0}, {0, 1, 1},
		{1e4, -1e4}, {-1e4, 1e4}, {1e4, -1e4, 0}, {-1e4, 1e4, 1e4}, {1e4, 1e4, 1e4}, {-1e4, -1e4, 1e4, 9999},
		{1e-300, 0, -1e-300}, {40, 0, 0}, {-40, 0, 0}, {750, 0, 1}, {-750, 0, 1},
	} {
		for y := range t {
			for _, w := range []float64{0, 1e-12, 1, 1e12} {
				for _, rho := range []float64{1e-9, 1, 1e9} {
					cs = append(cs, sample{t, y, w, rho})
				}
			}
		}
	}
	return cs
}

// The table is the objective at the prox, for every label.
func TestTableIsTheObjectiveAtTheProx(t *testing.T) {
	for _, l := range all {
		for _, c := range samples() {
			u := c.table(l)
			for c.y = range c.t {
				want := c.objective(l, c.prox(l))
				// A loss near 0 is the difference of rounded β: no closer than coarse.
				coarse := c.w * c.coarseness()
				if _, ok := l.(Softmax); ok {
					coarse *= 1 / (1 + math.Exp(min(700, c.lead(c.prox(l))))) * 4
				}
				if got := u[c.y]; !(math.Abs(got-want) <= 1e-9*want+coarse) {
					t.Fatalf("%T %s: table %g, objective at the prox %g", l, c, got, want)
				}
			}
		}
	}
}

// lead is by how much β_y is ahead of the others.
func (c sample) lead(beta []float64) float64 { return beta[c.y] - beta[rival(beta, c.y)] }

// softmaxGradient writes ω∇ℓ(y; β) of Softmax to dst: ω times the softmax of β, less
// ω at y, where nothing may cancel.
func (c sample) softmaxGradient(dst, beta []float64) {
	top, others := slices.Max(beta), 0.0
	for k, b := range beta {
		if dst[k] = math.Exp(b - top); k != c.y {
			others += dst[k]
		}
	}
	scale := c.w / (dst[c.y] + others)
	for k := range dst {
		dst[k] *= scale
	}
	dst[c.y] = -scale * others
}

// Optimality: ω∂ℓ(β) + ρ(β − t) ∋ 0, with p = ω e_y + ρ(t − β) the dual variable.
func optimality(l proximal, c sample, beta []float64) error {
	tol := 1e-8*c.w + c.rho*c.coarseness()
	p, sum := make([]float64, len(beta)), 0.0
	for k := range p {
		p[k] = c.rho * (c.t[k] - beta[k])
		if k == c.y {
			p[k] += c.w
		}
		sum += p[k]
	}
	switch l.(type) {
	case CrammerSinger:
		// p lies in the simplex of size ω and weighs only where
		// β_l + [l≠y] is largest.
		top := math.Inf(-1)
		score := func(k int) float64 {
			if k == c.y {
				return beta[k]
			}
			return beta[k] + 1
		}
		for k := range beta {
			top = max(top, score(k))
		}
		for k, pk := range p {
			if !(pk >= -tol) {
				return fmt.Errorf("p[%d] = %g is negative", k, pk)
			}
			if pk > tol && !(score(k) >= top-1e-8-c.coarseness()) {
				return fmt.Errorf("p[%d] = %g where the margin is %g below the largest", k, pk, top-score(k))
			}
		}
		if !(math.Abs(sum-c.w) <= float64(len(p))*tol) {
			return fmt.Errorf("Σp = %g; want ω = %g", sum, c.w)
		}
	case Softmax:
		g := make([]float64, len(beta))
		c.softmaxGradient(g, beta)
		for k, gk := range g {
			if r := gk + c.rho*(beta[k]-c.t[k]); !(math.Abs(r) <= tol) {
				return fmt.Errorf("ω∇ℓ + ρ(β−t) is %g at label %d; want 0 within %g", r, k, tol)
			}
		}
	}
	return nil
}

func TestProxMeetsTheOptimalityConditions(t *testing.T) {
	for _, l := range multiclass {
		for _, c := range samples() {
			require.NoError(t, optimality(l, c, c.prox(l)), "%T %s", l, c)
		}
	}
}

// enumerate is the Crammer–Singer prox by trying every set of labels that could
// be cut, with label y's step full or not; the smallest objective wins.
func enumerate(c sample) float64 {
	s, best := c.w/c.rho, math.Inf(1)
	for set := range 1 << len(c.t) {
		if set>>c.y&1 == 1 {
			continue
		}
		sum, k := 0.0, 0.0
		for l, tl := range c.t {
			if set>>l&1 == 1 {
				sum += 1 + tl
				k++
			}
		}
		heights := []float64{(sum + c.t[c.y]) / (k + 1)} // β_y is at the height too
		if k > 0 {
			heights = append(heights, (sum-s)/k) // β_y = t_y + s is below it
		}
		for _, h := range heights {
			beta := append([]float64(nil), c.t...)
			for l := range beta {
				if set>>l&1 == 1 {
					beta[l] = h - 1
				}
			}
			beta[c.y] = c.t[c.y] + min(s, h-c.t[c.y])
			best = min(best, c.objective(CrammerSinger{}, beta))
		}
	}
	return best
}

func TestCrammerSingerAgainstEveryActiveSet(t *testing.T) {
	for _, c := range samples() {
		if len(c.t) > 8 {
			continue
		}
		u := c.table(CrammerSinger{})
		for c.y = range c.t {
			want := enumerate(c)
			if got := u[c.y]; !(math.Abs(got-want) <= 1e-9*want+c.w*c.coarseness()) {
				t.Fatalf("%s: table %g; the best active set gives %g", c, got, want)
			}
		}
	}
}

// descend is the softmax prox in the primal: Newton's method in all L scores with
// step halving, from t. The Hessian is ω(diag p − ppᵀ) + ρI, inverted by
// Sherman–Morrison.
func descend(c sample) float64 {
	l, beta := Softmax{}, append([]float64(nil), c.t...)
	g, p, h := make([]float64, len(beta)), make([]float64, len(beta)), make([]float64, len(beta))
	next, value := make([]float64, len(beta)), c.objective(l, beta)
	for range 500 {
		c.softmaxGradient(g, beta)
		// H = D − ωppᵀ; step = D⁻¹g + ω D⁻¹p (pᵀD⁻¹g)/(1 − ω pᵀD⁻¹p), and as
		// Σp = 1 the denominator is Σ pρ/(ωp+ρ), without cancellation.
		pg, den := 0.0, 0.0
		for k := range beta {
			p[k] = g[k] / c.w
			if k == c.y {
				p[k]++
			}
			h[k] = c.w*p[k] + c.rho
			g[k] += c.rho * (beta[k] - c.t[k])
			pg += p[k] * g[k] / h[k]
			den += p[k] * c.rho / h[k]
		}
		moved := false
		for scale := 1.0; scale > 1e-12; scale /= 2 {
			for k := range beta {
				next[k] = beta[k] - scale*(g[k]+c.w*p[k]*pg/den)/h[k]
			}
			if v := c.objective(l, next); v < value {
				value, moved = v, true
				copy(beta, next)
				break
			}
		}
		if !moved {
			break
		}
	}
	return value
}

func TestSoftmaxAgainstNewtonInThePrimal(t *testing.T) {
	compared := 0
	for _, c := range samples() {
		if s := c.w / c.rho; c.w == 0 || s > 1e5 || s < 1e-7 {
			continue // the primal method's own rounding is too coarse there
		}
		u := c.table(Softmax{})
		for c.y = range c.t {
			want := descend(c)
			if got := u[c.y]; !(math.Abs(got-want) <= 1e-9*want+4*c.w*c.coarseness()) {
				t.Fatalf("%s: table %g; Newton in the primal finds %g", c, got, want)
			}
			compared++
		}
	}
	if compared < 2000 {
		t.Fatalf("only %d compared", compared)
	}
}

// Two labels leave one unknown; a grid around the prox finds nothing lower.
func TestNoGridPointIsLower(t *testing.T) {
	for _, l := range multiclass {
		for _, c := range samples() {
			if len(c.t) != 2 {
				continue
			}
			beta, value := c.prox(l), c.table(l)[c.y]
			trial := make([]float64, 2)
			for k := -300; k <= 300; k++ {
				r := (c.w/c.rho + 1) * float64(k) / 200
				trial[c.y], trial[1-c.y] = c.t[c.y]+r, c.t[1-c.y]-r
				if v := c.objective(l, trial); v < value*(1-1e-9)-4*c.w*c.coarseness() {
					t.Fatalf("%T %s: %g at %v; the prox %v has %g", l, c, v, trial, beta, value)
				}
			}
		}
	}
}

// The loss of a certain label is tiny, not 0, and the table knows how tiny.
func TestSoftmaxKeepsSmallLosses(t *testing.T) {
	for _, gap := range []float64{20, 36, 37, 100, 600} {
		want := math.Exp(-gap)
		v := value(Softmax{}, []float64{gap, 0}, nil, []int32{0}, 2)
		if math.Abs(v-want) > 1e-8*want { // exp(−z) − exp(−2z)/2 at z = 20
			t.Errorf("loss at margin %g is %g; want %g", gap, v, want)
		}
		// With ρ large the prox stays at t; with s = 1 it gains exp(−2·gap).
		for _, labels := range []int{2, 3} {
			target, u := make([]float64, labels), make([]float64, labels)
			target[0] = gap
			Softmax{}.Table(u, target, nil, labels, 1)
			if want := float64(labels-1) * math.Exp(-gap); math.Abs(u[0]-want) > 1e-8*want {
				t.Errorf("L=%d: table at margin %g is %g; want %g", labels, gap, u[0], want)
			}
		}
	}
}

func TestNoWeightNoPull(t *testing.T) {
	target := []float64{3, -1, 2, 2.5}
	for _, l := range all {
		c := sample{t: target, y: 1, rho: 0.7}
		for y, u := range c.table(l) {
			if u != 0 {
				t.Errorf("%T: table is %g for label %d of a sample without weight", l, u, y)
			}
		}
		if got := c.prox(l); !slices.Equal(got, target) {
			t.Errorf("%T: prox of a sample without weight is %v; want its target", l, got)
		}
		assert.EqualValues(t, 0, value(l, target, []float64{0}, []int32{1}, 4), "%T: value of a sample without weight is", l)
	}
}

// Adding a constant to all scores of a sample changes no table and moves the prox
// along.
func TestShiftOfAllScores(t *testing.T) {
	for _, l := range multiclass {
		for _, c := range samples() {
			moved := c
			moved.t = append([]float64(nil), c.t...)
			const shift = 12.5
			for k := range moved.t {
				moved.t[k] += shift
			}
			u, v := c.table(l), moved.table(l)
			for y := range u {
				if coarse := c.w * moved.coarseness(); !(math.Abs(u[y]-v[y]) <= 1e-9*u[y]+4*coarse) {
					t.Fatalf("%T %s: table %g at label %d; shifted %g", l, c, u[y], y, v[y])
				}
			}
			a, b := c.prox(l), moved.prox(l)
			for k := range a {
				if !(math.Abs(a[k]+shift-b[k]) <= 1e-9*(1+math.Abs(b[k]))) {
					t.Fatalf("%T %s: prox %v; shifted %v", l, c, a, b)
				}
			}
		}
	}
}

func TestPermutedLabelsPermuteTheAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, l := range all {
		for _, c := range samples() {
			perm := rng.Perm(len(c.t))
			other := c
			other.t = make([]float64, len(c.t))
			for k, to := range perm {
				other.t[to] = c.t[k]
			}
			other.y = perm[c.y]
			u, v, a, b := c.table(l), other.table(l), c.prox(l), other.prox(l)
			for k, to := range perm {
				if !(math.Abs(u[k]-v[to]) <= 1e-9*u[k]+c.w*c.coarseness()) {
					t.Fatalf("%T %s: table %g at label %d; permuted %g", l, c, u[k], k, v[to])
				}
				if !(math.Abs(a[k]-b[to]) <= 1e-9*math.Abs(a[k])+c.coarseness()) {
					t.Fatalf("%T %s: prox %g at label %d; permuted %g", l, c, a[k], k, b[to])
				}
			}
		}
	}
}

// A convex function lies below its chords.
func TestConvex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, l := range all {
		for range 3000 {
			labels := 2 + rng.IntN(7)
			beta, other, mid := make([]float64, labels), make([]float64, labels), make([]float64, labels)
			part, kinks := rng.Float64(), rng.IntN(2) == 0
			for k := range beta {
				beta[k], other[k] = 3*rng.NormFloat64(), 3*rng.NormFloat64()
				if kinks {
					beta[k] = math.Round(beta[k])
				}
				mid[k] = part*beta[k] + (1-part)*other[k]
			}
			y, w := []int32{int32(rng.IntN(labels))}, []float64{3 * rng.Float64()}
			at, to := value(l, beta, w, y, labels), value(l, other, w, y, labels)
			if m := value(l, mid, w, y, labels); m > part*at+(1-part)*to+1e-12*(1+at+to) {
				t.Fatalf("%T: %g between %v and %v is above the chord %g", l, m, beta, other, part*at+(1-part)*to)
			}
		}
	}
}

// Several samples, with weights and in place, are the samples one by one.
func TestRowsAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, l := range all {
		for _, labels := range []int{2, 3, 7, 40} {
			const n, rho = 23, 0.8
			target, w, y := make([]float64, n*labels), make([]float64, n), make([]int32, n)
			for i := range target {
				target[i] = 3 * rng.NormFloat64()
			}
			for i := range w {
				w[i], y[i] = float64(rng.IntN(3)), int32(rng.IntN(labels))
			}
			u := make([]float64, n*labels)
			l.Table(u, target, w, labels, rho)
			beta := append([]float64(nil), target...)
			l.Prox(beta, beta, w, y, labels, rho)
			sum := 0.0
			for i := range n {
				c := sample{t: target[i*labels : (i+1)*labels], y: int(y[i]), w: w[i], rho: rho}
				row := beta[i*labels : (i+1)*labels]
				if !slices.Equal(c.prox(l), row) || !slices.Equal(c.table(l), u[i*labels:(i+1)*labels]) {
					t.Fatalf("%T L=%d: sample %d depends on the others", l, labels, i)
				}
				sum += value(l, row, w[i:i+1], y[i:i+1], labels)
			}
			if v := value(l, beta, w, y, labels); math.Abs(v-sum) > 1e-12*(1+sum) {
				t.Errorf("%T L=%d: value %g; the samples' sum is %g", l, labels, v, sum)
			}
			ones := slices.Repeat([]float64{1}, n)
			l.Table(u, target, ones, labels, rho)
			without := make([]float64, n*labels)
			if l.Table(without, target, nil, labels, rho); !slices.Equal(u, without) {
				t.Errorf("%T L=%d: no weights are not weights of 1", l, labels)
			}
		}
	}
}

// A NaN must reach the solver's check, wherever it stands. (The hinge's prox does
// not pass it on, its table does.)
func TestNaNShowsInTheTable(t *testing.T) {
	for _, l := range all {
		for _, labels := range []int{2, 3, 5, 40} {
			for k := range labels {
				target, u := make([]float64, labels), make([]float64, labels)
				target[k] = math.NaN()
				l.Table(u, target, nil, labels, 1)
				if !slices.ContainsFunc(u, math.IsNaN) {
					t.Errorf("%T L=%d: NaN target of label %d gives the table %v", l, labels, k, u)
				}
				beta := make([]float64, labels)
				l.Prox(beta, target, nil, []int32{0}, labels, 1)
				if _, ok := l.(loss.Hinge); !ok && !math.IsNaN(beta[k]) {
					t.Errorf("%T L=%d: NaN target of label %d gives the prox %v", l, labels, k, beta)
				}
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for _, l := range all {
		for _, labels := range []int{2, 3, 8, stackLabels, stackLabels + 1} {
			const n = 50
			target, dst, y := make([]float64, n*labels), make([]float64, n*labels), make([]int32, n)
			for i := range target {
				target[i] = math.Sin(float64(i))
			}
			allowed := 0.0
			if _, ok := l.(CrammerSinger); ok && labels > stackLabels {
				allowed = 1
			}
			if got := testing.AllocsPerRun(20, func() {
				l.Table(dst, target, nil, labels, 1)
				l.Prox(dst, target, nil, y, labels, 1)
				l.Value(target, nil, y, labels)
			}); got > allowed {
				t.Errorf("%T L=%d: %g allocations; want at most %g", l, labels, got, allowed)
			}
		}
	}
}

// bounded maps any float to ±limit, and what is no number to 0.
func bounded(v, limit float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return max(-limit, min(limit, v))
}

func fuzz(f *testing.F, l proximal) {
	f.Add(0.0, 0.0, 0.0, 0.0, uint8(4), uint8(0), 1.0, 1.0)
	f.Add(1e4, -1e4, 0.0, 1.0, uint8(3), uint8(1), 1e6, 1e-6)
	f.Add(1.0, 0.0, -1.0, 1e-9, uint8(2), uint8(1), 0.0, 3.0)
	f.Add(-23.7, -7495.0, -87.7, 37.0, uint8(2), uint8(1), 15060.0, 3.0)
	f.Add(87.2, -4536.0, -87.7, -14.0, uint8(2), uint8(1), 7533.0, 3.0)
	f.Add(2.0, 2.0, 3.0, 3.0, uint8(4), uint8(3), 1e-6, 1e6)
	f.Fuzz(func(t *testing.T, t0, t1, t2, t3 float64, labels, y uint8, w, rho float64) {
		n := 2 + int(labels)%3
		c := sample{t: []float64{t0, t1, t2, t3}[:n], y: int(y) % n, w: math.Abs(bounded(w, 1e9)), rho: 1e-9 + math.Abs(bounded(rho, 1e9))}
		for k, v := range c.t {
			c.t[k] = bounded(v, 1e4)
		}
		beta := c.prox(l)
		require.NoError(t, optimality(l, c, beta), "%s", c)
		got, want := c.table(l)[c.y], c.objective(l, beta)
		if !(math.Abs(got-want) <= 1e-9*want+4*c.w*c.coarseness()) {
			t.Fatalf("%s: table %g, objective at the prox %g", c, got, want)
		}
	})
}

func FuzzCrammerSinger(f *testing.F) { fuzz(f, CrammerSinger{}) }
func FuzzSoftmax(f *testing.F)       { fuzz(f, Softmax{}) }

// BenchmarkLosses is table and prox by loss, samples and labels, on targets like
// those of a running solve: most margins near 1, some wrong.
func BenchmarkLosses(b *testing.B) {
	for _, l := range all {
		for _, size := range []struct{ n, labels int }{{2000, 2}, {30000, 2}, {30000, 3}, {30000, 8}, {2000, 32}, {2000, 128}} {
			rng := rand.New(rand.NewPCG(17, 18))
			target, dst, y := make([]float64, size.n*size.labels), make([]float64, size.n*size.labels), make([]int32, size.n)
			for i := range y {
				y[i] = int32(rng.IntN(size.labels))
				for k := range size.labels {
					target[i*size.labels+k] = rng.NormFloat64() - 1
				}
				target[i*size.labels+int(y[i])] += 2
			}
			name := fmt.Sprintf("%T/n=%d/L=%d", l, size.n, size.labels)
			b.Run("table/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					l.Table(dst, target, nil, size.labels, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(target)), "ns/entry")
			})
			b.Run("prox/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					l.Prox(dst, target, nil, y, size.labels, 1)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(target)), "ns/entry")
			})
		}
	}
}

func ExampleSoftmax() {
	// The prox pulls the scores towards label 2; its gain and the others' losses
	// add up to 0.
	target := []float64{0, 0, 0}
	beta := make([]float64, 3)
	Softmax{}.Prox(beta, target, nil, []int32{2}, 3, 1)
	fmt.Printf("%.4f\n", beta)
	// Output: [-0.2448 -0.2448 0.4897]
}

func ExampleCrammerSinger() {
	// Labels 0 and 1 are cut off at the same height, for label 2.
	beta := make([]float64, 3)
	CrammerSinger{}.Prox(beta, []float64{1, 1, 0}, nil, []int32{2}, 3, 1)
	fmt.Println(beta)
	// Output: [0.5 0.5 1]
}
