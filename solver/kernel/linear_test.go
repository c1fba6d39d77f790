package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func randomBlocks(rng *rand.Rand, d int, sizes ...int) ([]*Block, *mat.Dense) {
	var blocks []*Block
	var all []float64
	n := 0
	for _, size := range sizes {
		x := make([]float64, size*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		blocks = append(blocks, newBlock(x, size, d))
		all = append(all, x...)
		n += size
	}
	return blocks, mat.NewDense(n, d, all)
}

// dense forms K = XXᵀ + γI, the oracle.
func dense(x *mat.Dense, gamma float64) *mat.Dense {
	n, _ := x.Dims()
	k := mat.NewDense(n, n, nil)
	k.Mul(x, x.T())
	for i := range n {
		k.Set(i, i, k.At(i, i)+gamma)
	}
	return k
}

func randomMatrix(rng *rand.Rand, n int) []float64 {
	m := make([]float64, n)
	for i := range m {
		m[i] = rng.NormFloat64()
	}
	return m
}

func TestLinearAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		name   string
		d      int
		sizes  []int
		labels int
	}{
		{"one block", 3, []int{20}, 2},
		{"fewer samples than columns", 9, []int{4}, 2},
		{"many blocks, one empty", 5, []int{7, 0, 12, 1}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const gamma, nu, rho = 0.3, 0.5, 0.2
			blocks, x := randomBlocks(rng, tt.d, tt.sizes...)
			var k Linear
			k.Reset(blocks, gamma)
			n := k.Len()
			want := dense(x, gamma)
			a := randomMatrix(rng, n*tt.labels)

			got := make([]float64, n*tt.labels)
			if err := k.Factor(nu, rho); err != nil {
				t.Fatal(err)
			}
			k.Solve(got, a, tt.labels)
			want.Scale(rho, want)
			for i := range n {
				want.Set(i, i, want.At(i, i)+2*nu)
			}
			var back mat.Dense
			back.Mul(want, mat.NewDense(n, tt.labels, got))
			near(t, "(2νI+ρK)·Solve(R)", back.RawMatrix().Data, a)

			w := make([]float64, tt.labels*tt.d)
			k.Weights(w, a, tt.labels)
			var xa mat.Dense
			xa.Mul(mat.NewDense(n, tt.labels, a).T(), x)
			near(t, "Xᵀα", w, xa.RawMatrix().Data)

			for i := range got {
				got[i] = math.NaN() // what is there does not count
			}
			k.Scores(got, w, tt.labels)
			var xw mat.Dense
			xw.Mul(x, xa.T())
			near(t, "XW", got, xw.RawMatrix().Data)
		})
	}
}

// In the metric of Whiten it is K = τX(XᵀX + εI)⁻¹Xᵀ + γI, whose eigenvalues are all close, until the next Reset.
func TestWhitenedAgainstDense(t *testing.T) {
	const d, labels, gamma, tau, eps, nu, rho = 6, 3, 0.3, 0.8, 0.5, 0.5, 0.2
	rng := rand.New(rand.NewPCG(5, 6))
	_, x := randomBlocks(rng, d, 31)
	for i := range d { // of sizes that differ by powers of ten
		for r := range 31 {
			x.Set(r, i, x.At(r, i)*math.Pow(10, float64(i-2)))
		}
	}
	blocks := []*Block{newBlock(x.RawMatrix().Data[:11*d], 11, d), newBlock(x.RawMatrix().Data[11*d:], 20, d)}
	var k Linear
	k.Reset(blocks, gamma)
	n := k.Len()
	metric := mat.NewDense(d, d, nil)
	metric.Mul(x.T(), x)
	for i := range d {
		metric.Set(i, i, metric.At(i, i)+eps)
	}
	metric.Scale(1/tau, metric)
	var inner, want mat.Dense
	if err := inner.Inverse(metric); err != nil {
		t.Fatal(err)
	}
	want.Product(x, &inner, x.T())
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		want.Set(i, i, want.At(i, i)+gamma)
		for j := range i + 1 {
			sym.SetSym(i, j, want.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, false) {
		t.Fatal("no eigenvalues")
	}
	if values := eigen.Values(nil); values[0] < gamma-1e-9 || values[n-1] > gamma+tau {
		t.Errorf("eigenvalues from %g to %g; want them within %g and %g", values[0], values[n-1], gamma, gamma+tau)
	}
	a := randomMatrix(rng, n*labels)
	got, w, solved := make([]float64, n*labels), make([]float64, labels*d), make([]float64, labels*d)
	var left, xa, wa mat.Dense
	left.Scale(rho, &want)
	for i := range n {
		left.Set(i, i, left.At(i, i)+2*nu)
	}
	xa.Mul(x.T(), mat.NewDense(n, labels, a))
	wa.Mul(&inner, &xa)
	plain := make([]float64, n*labels)
	if err := k.Factor(nu, rho); err != nil {
		t.Fatal(err)
	}
	k.Solve(plain, a, labels)
	k.Whiten(tau, eps)
	for i := range 2 * diagonaliseAfter { // by factors first, then by eigenvectors
		if err := k.Factor(nu, rho+float64(1+i)); err != nil {
			t.Fatal(err)
		}
		if err := k.Factor(nu, rho); err != nil {
			t.Fatal(err)
		}
		k.Solve(got, a, labels)
		k.SolvedWeights(solved, labels)
		var back mat.Dense
		back.Mul(&left, mat.NewDense(n, labels, got))
		near(t, "(2νI+ρK)·Solve(R)", back.RawMatrix().Data, a)
		k.Weights(w, got, labels)
		near(t, "SolvedWeights", solved, w)
	}
	k.Weights(w, a, labels)
	near(t, "M⁻¹Xᵀα", w, mat.DenseCopyOf(wa.T()).RawMatrix().Data)
	k.Reset(blocks, gamma)
	if err := k.Factor(nu, rho); err != nil {
		t.Fatal(err)
	}
	k.Solve(got, a, labels)
	near(t, "Solve after Reset", got, plain)
}

// Rows of float32 give the bits of the same numbers as float64.
func TestRowsOfFloat32(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 32))
	for _, d := range []int{1, 7, 8, 9, 68, 300} {
		for _, labels := range []int{2, 3} {
			const n = 2*chunkMin + 5
			x32, x := make([]float32, n*d), make([]float64, n*d)
			for i := range x {
				x32[i] = float32(rng.NormFloat64())
				x[i] = float64(x32[i])
			}
			var narrow Block
			narrow.Reset32(x32, n, d)
			wide := newBlock(x, n, d)
			r := randomMatrix(rng, n*labels)
			var results [2][]float64
			for k, b := range []*Block{&narrow, wide} {
				var l Linear
				l.Reset([]*Block{b}, 0.5)
				if err := l.Factor(0.3, 2); err != nil {
					t.Fatal(err)
				}
				alpha, w, scores := make([]float64, n*labels), make([]float64, labels*d), make([]float64, n*labels)
				l.Solve(alpha, r, labels)
				l.Weights(w, alpha, labels)
				l.Scores(scores, w, labels)
				results[k] = slices.Concat(b.Gram, alpha, w, scores)
			}
			sameBits(t, fmt.Sprintf("d=%d, %d labels", d, labels), results[0], results[1])
		}
	}
}

// The classifier of a solved α comes without another look at the rows.
func TestSolvedWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 33))
	for _, mirrored := range []bool{false, true} {
		for _, labels := range []int{2, 3} {
			const d, rho = 9, 0.7
			blocks, _ := randomBlocks(rng, d, 40, 21)
			var k Linear
			k.Reset(blocks, 0.4)
			if err := k.Factor(1.5, rho); err != nil {
				t.Fatal(err)
			}
			r := randomMatrix(rng, k.Len()*labels)
			for i := 0; i+1 < len(r) && mirrored && labels == 2; i += 2 {
				r[i+1] = -r[i]
			}
			alpha, got, want := make([]float64, len(r)), make([]float64, labels*d), make([]float64, labels*d)
			k.Solve(alpha, r, labels)
			k.SolvedWeights(got, labels)
			k.Weights(want, alpha, labels)
			near(t, fmt.Sprintf("Xᵀα, %d labels, mirrored %t", labels, mirrored), got, want)

			// And so are a mirrored one's scores.
			scores, one := make([]float64, len(r)), make([]float64, len(r)/labels)
			k.Scores(scores, want, labels)
			k.Scores(one, want[d:], 1)
			for i, v := range one {
				if scores[i*labels+1] != v {
					t.Fatalf("sample %d's second score is %g; want %g", i, scores[i*labels+1], v)
				}
			}
		}
	}
}

// It is what the solver wants of a kernel.
var _ interface {
	Len() int
	SigmaMin() float64
	Factor(nu, rho float64) error
	Solve(alpha, r []float64, labels int) error
} = (*Linear)(nil)

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*(1+math.Abs(want[i]))) {
			t.Fatalf("%s[%d] = %g; want %g", what, i, got[i], want[i])
		}
	}
}

// Two mirrored columns take the short cut and must give what one column does.
func TestSolveMirrored(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	blocks, _ := randomBlocks(rng, 4, 30)
	var k Linear
	k.Reset(blocks, 1)
	if err := k.Factor(0.5, 2); err != nil {
		t.Fatal(err)
	}
	r := randomMatrix(rng, 30)
	both, one, want := make([]float64, 60), make([]float64, 30), make([]float64, 60)
	for i, v := range r {
		both[2*i], both[2*i+1] = v, -v
	}
	k.Solve(one, r, 1)
	for i, v := range one {
		want[2*i], want[2*i+1] = v, -v
	}
	got := make([]float64, 60)
	k.Solve(got, both, 2)
	near(t, "mirrored α", got, want)

	w, wantW := make([]float64, 8), make([]float64, 4)
	k.Weights(w, both, 2)
	k.Weights(wantW, r, 1)
	for i, v := range wantW {
		if w[i] != v || w[4+i] != -v {
			t.Fatalf("mirrored W is %v; want ±%v", w, wantW)
		}
	}
}

// newBlock is NewBlock of rows that fit.
func newBlock(x []float64, n, d int) *Block {
	b, err := NewBlock(x, n, d)
	if err != nil {
		panic(err)
	}
	return b
}

// Problems beyond one chunk and one goroutine, against the obvious way.
func TestLinearAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, labels := range []int{1, 2, 3, 6} {
		blocks, _ := randomBlocks(rng, 33, 9000, 0, 7001, 3)
		var k Linear
		k.Reset(blocks, 0.7)
		if err := k.Factor(0.5, 3); err != nil {
			t.Fatal(err)
		}
		ref := newReference(blocks, 0.7)
		ref.Factor(0.5, 3)
		r := randomMatrix(rng, k.Len()*labels)
		got, want := make([]float64, len(r)), make([]float64, len(r))
		k.Solve(got, r, labels)
		ref.Solve(want, r, labels)
		near(t, "Solve", got, want)
		w := make([]float64, labels*33)
		k.Weights(w, r, labels)
		k.Scores(got, w, labels)
		ref.Scores(want, r, labels)
		near(t, "Scores", got, want)
	}
}

// Any number of workers gives the same bits.
func TestWorkersGiveTheSameBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, labels := range []int{1, 2, 5} {
		blocks, _ := randomBlocks(rng, 64, 8000, 3000, 5001)
		r := randomMatrix(rng, 16001*labels)
		var alpha, scores []float64
		for _, workers := range []int{1, 2, 3, 7, 0} {
			var k Linear
			k.SetWorkers(workers)
			k.Reset(blocks, 1)
			if err := k.Factor(0.5, 1); err != nil {
				t.Fatal(err)
			}
			a, s, w := make([]float64, len(r)), make([]float64, len(r)), make([]float64, labels*64)
			k.Solve(a, r, labels)
			k.Weights(w, r, labels)
			k.Scores(s, w, labels)
			if alpha == nil {
				alpha, scores = a, s
				continue
			}
			sameBits(t, fmt.Sprintf("α of %d workers", workers), a, alpha)
			sameBits(t, fmt.Sprintf("XXᵀr of %d workers", workers), s, scores)
		}
	}
}

// A window that slid a thousand times is, to the bit, one made from scratch: the
// Gram matrix cannot drift.
func TestSlidingDoesNotDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const d, frames = 7, 4
	var window []*Block
	var k Linear
	slide := func() {
		x := randomMatrix(rng, (20+rng.IntN(20))*d)
		scale := math.Pow(10, 6*rng.Float64()-3) // so that subtracting would leave a mark
		for i := range x {
			x[i] *= scale
		}
		window = append(window, newBlock(x, len(x)/d, d))
		window = window[max(0, len(window)-frames):]
		k.Reset(window, 0.5)
	}
	for range 1000 {
		slide()
	}
	var fresh []*Block
	for _, b := range window {
		fresh = append(fresh, newBlock(append([]float64(nil), b.X...), b.N, d))
	}
	var scratch Linear
	scratch.Reset(fresh, 0.5)
	sameBits(t, "Gram", k.gram, scratch.gram)
	r := randomMatrix(rng, k.Len())
	got, want := make([]float64, len(r)), make([]float64, len(r))
	for _, k := range []*Linear{&k, &scratch} {
		if err := k.Factor(0.5, 1); err != nil {
			t.Fatal(err)
		}
	}
	k.Solve(got, r, 1)
	scratch.Solve(want, r, 1)
	sameBits(t, "α", got, want)
}

// After many changes of penalty eigenvectors take over from Cholesky, with the same
// result; a new Reset goes back.
func TestFactorGoesOverToEigenvectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	blocks, _ := randomBlocks(rng, 13, 40)
	ref := newReference(blocks, 0.3)
	var k Linear
	k.Reset(blocks, 0.3)
	r := randomMatrix(rng, 80)
	got, want := make([]float64, 80), make([]float64, 80)
	for i := range 2 * diagonaliseAfter {
		rho := 0.1 * math.Pow(1.1, float64(i))
		for range 2 { // the second finds the penalties ready
			if err := k.Factor(0.5, rho); err != nil {
				t.Fatal(err)
			}
		}
		if known := i+1 >= diagonaliseAfter; k.spectrum.known != known {
			t.Fatalf("eigenvectors known: %t after %d penalties", !known, i+1)
		}
		ref.Factor(0.5, rho)
		k.Solve(got, r, 2)
		ref.Solve(want, r, 2)
		near(t, "α", got, want)
	}
	if k.Reset(blocks, 0.3); k.spectrum.known {
		t.Error("the eigenvectors outlived a Reset")
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, tt := range []struct {
		name       string
		n, workers int
	}{{"serial", 500, 1}, {"two workers", 12000, 2}, {"seven workers", 12000, 7}} {
		t.Run(tt.name, func(t *testing.T) {
			const d, labels = 64, 3
			rng := rand.New(rand.NewPCG(11, 11))
			x := randomMatrix(rng, tt.n*d)
			blocks := []*Block{newBlock(x[:tt.n/2*d], tt.n/2, d), newBlock(x[tt.n/2*d:], tt.n-tt.n/2, d)}
			r, alpha := randomMatrix(rng, tt.n*labels), make([]float64, tt.n*labels)
			w := make([]float64, labels*d)
			var k Linear
			k.SetWorkers(tt.workers)
			rho := 1.0
			run := func() {
				blocks[0].Reset(x[:tt.n/2*d], tt.n/2, d)
				k.Reset(blocks, 1)
				if err := k.Factor(0.5, rho); err != nil {
					t.Fatal(err)
				}
				rho *= 1.01
				k.Solve(alpha, r, labels)
				k.Weights(w, r, labels)
				k.Scores(alpha, w, labels)
			}
			for range 5 { // the runtime, too, keeps its goroutines for reuse
				run()
			}
			if allocs := testing.AllocsPerRun(20, run); allocs > 0 {
				t.Errorf("%g allocations a window; want none", allocs)
			}
		})
	}
}

func TestFactorRefusesPenalties(t *testing.T) {
	var k Linear
	k.Reset([]*Block{newBlock([]float64{1, 2}, 2, 1)}, 1)
	for _, p := range [][2]float64{{0.5, 0}, {0.5, -1}, {math.NaN(), 1}, {0.5, math.NaN()}, {math.Inf(1), 1}, {0.5, math.Inf(1)}} {
		if err := k.Factor(p[0], p[1]); !errors.Is(err, ErrNotFinite) {
			t.Errorf("ν=%g, ρ=%g: error %v; want ErrNotFinite", p[0], p[1], err)
		}
	}
}

// What does not fit is an error that says so, and what was wrong once is no reason for it to be wrong again.
func TestRefuses(t *testing.T) {
	nan, inf, two := math.NaN(), math.Inf(1), []float64{1, 2}
	good := newBlock(two, 2, 1)
	for _, tt := range []struct {
		name string
		do   func(k *Linear) error // k is of good, and factored
		is   error
		says string
	}{
		{"too few numbers", func(*Linear) error { _, err := NewBlock(two, 3, 1); return err }, ErrInput, "2 numbers are not 3 rows of 1"},
		{"no numbers", func(*Linear) error { _, err := NewBlock(nil, 1, 1); return err }, ErrInput, "0 numbers"},
		{"fewer than no rows", func(*Linear) error { _, err := NewBlock(two, -2, -1); return err }, ErrInput, "-2 rows"},
		{"rows without end", func(*Linear) error { _, err := NewBlock(nil, math.MaxInt, 0); return err }, ErrInput, "at most 2147483647 rows"},
		{"columns without end", func(*Linear) error { _, err := NewBlock(nil, 0, math.MaxInt); return err }, ErrInput, "of 32768"},
		{"a NaN", func(*Linear) error { _, err := NewBlock([]float64{1, nan}, 1, 2); return err }, ErrNotFinite, "column 1 add up to NaN"},
		{"an infinity", func(*Linear) error { _, err := NewBlock([]float64{inf, 1}, 1, 2); return err }, ErrNotFinite, "column 0 add up to +Inf"},
		{"a large number", func(*Linear) error { _, err := NewBlock([]float64{1e200}, 1, 1); return err }, ErrNotFinite, "+Inf"},
		{"a NaN of 32 bits", func(*Linear) error { return new(Block).Reset32([]float32{float32(nan)}, 1, 1) }, ErrNotFinite, "NaN"},
		{"no blocks", func(k *Linear) error { return k.Reset(nil, 1) }, ErrInput, "no blocks"},
		{"a nil block", func(k *Linear) error { return k.Reset([]*Block{good, nil}, 1) }, ErrInput, "block 1 was not made"},
		{"a block by hand", func(k *Linear) error { return k.Reset([]*Block{{N: 2, D: 1, X: two}}, 1) }, ErrInput, "block 0 was not made"},
		{"a block of two kinds", func(k *Linear) error {
			return k.Reset([]*Block{{N: 2, D: 1, X: two, X32: []float32{1, 2}, Gram: []float64{5}}}, 1)
		}, ErrInput, "block 0 was not made"},
		{"other columns", func(k *Linear) error { return k.Reset([]*Block{good, newBlock(two, 1, 2)}, 1) }, ErrInput, "block 1 has 2 columns"},
		{"no ridge", func(k *Linear) error { return k.Reset([]*Block{good}, 0) }, ErrInput, "γ = 0"},
		{"a NaN ridge", func(k *Linear) error { return k.Reset([]*Block{good}, nan) }, ErrInput, "γ = NaN"},
		{"an infinite ridge", func(k *Linear) error { return k.Reset([]*Block{good}, inf) }, ErrInput, "γ = +Inf"},
		{"no metric", func(k *Linear) error { return k.Whiten(0, 1) }, ErrInput, "τ = 0"},
		{"a metric of NaN", func(k *Linear) error { return k.Whiten(1, nan) }, ErrInput, "ε = NaN"},
		{"an infinite metric", func(k *Linear) error { return k.Whiten(inf, 1) }, ErrInput, "τ = +Inf"},
		{"a metric without an inverse", func(k *Linear) error {
			return errors.Join(k.Reset([]*Block{newBlock([]float64{1e8, 1e8}, 1, 2)}, 1), k.Whiten(1, 1e-30), k.Weights(make([]float64, 2), []float64{1}, 1))
		}, ErrNotFinite, "metric"},
		{"blocks that are too much together", func(k *Linear) error {
			large := newBlock([]float64{1.2e154}, 1, 1)
			return k.Reset([]*Block{large, large}, 1)
		}, ErrNotFinite, "column 0"},
		{"Solve before Factor", func(k *Linear) error {
			k.Reset([]*Block{good}, 1)
			return k.Solve(make([]float64, 2), two, 1)
		}, ErrInput, "without a Factor"},
		{"Solve after a Factor that failed", func(k *Linear) error {
			k.Factor(nan, 1)
			return k.Solve(make([]float64, 2), two, 1)
		}, ErrInput, "without a Factor"},
		{"Solve of others", func(k *Linear) error { return k.Solve(make([]float64, 2), two[:1], 1) }, ErrInput, "2 and 1 numbers"},
		{"no labels", func(k *Linear) error { return k.Weights(nil, nil, 0) }, ErrInput, "0 labels"},
		{"labels without end", func(k *Linear) error { return k.Solve(nil, nil, math.MaxInt) }, ErrInput, "labels"},
		{"before Reset", func(*Linear) error { return new(Linear).Weights(nil, nil, 1) }, ErrInput, "before its Reset"},
		{"a copy", func(k *Linear) error {
			c := &Linear{sweep: sweep{n: 2, owner: &k.sweep}} // what a copy has of k
			return c.Solve(make([]float64, 2), two, 1)
		}, ErrInput, "a copy"},
		{"nothing solved", func(k *Linear) error { return k.SolvedWeights(two, 2) }, ErrInput, "a Solve of 0 labels"},
		{"no room for a classifier", func(k *Linear) error { return k.Weights(nil, two, 1) }, ErrInput, "0 numbers for a classifier"},
		{"no classifier", func(k *Linear) error { return k.Scores(make([]float64, 2), nil, 1) }, ErrInput, "0 numbers for a classifier"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var k Linear
			k.Reset([]*Block{good}, 1)
			if err := k.Factor(0.5, 1); err != nil {
				t.Fatal(err)
			}
			if err := tt.do(&k); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %v with %q", err, tt.is, tt.says)
			}
			if err := errors.Join(k.Reset([]*Block{good}, 1), k.Factor(0.5, 1), k.Solve(make([]float64, 2), two, 1)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Samples without features leave K = γI.
func TestNoColumns(t *testing.T) {
	var k Linear
	k.Reset([]*Block{newBlock(nil, 3, 0)}, 2)
	if err := k.Factor(0.5, 1.5); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 3)
	k.Solve(got, []float64{4, 8, 12}, 1)
	near(t, "α", got, []float64{1, 2, 3})
}

func ExampleLinear() {
	var k Linear
	block, err := NewBlock([]float64{1, 0, 0, 2}, 2, 2)
	alpha := make([]float64, 2)
	err = errors.Join(err,
		k.Reset([]*Block{block}, 1), // K = diag(1, 4) + I
		k.Factor(0.5, 1),            // I + K = diag(3, 6)
		k.Solve(alpha, []float64{6, 6}, 1))
	fmt.Printf("%.3f %v\n", alpha, err)
	// Output: [2.000 1.000] <nil>
}
