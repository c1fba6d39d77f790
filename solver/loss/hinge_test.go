package loss

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// oracle minimises ω·max(0, 1−b) + ρ/2·(b−t)² over a fine grid around t.
func oracle(t, omega, rho float64) float64 {
	best := math.Inf(1)
	for k := -40000; k <= 40000; k++ {
		b := t + float64(k)*(omega/rho+1)/20000
		best = math.Min(best, omega*math.Max(0, 1-b)+rho/2*(b-t)*(b-t))
	}
	return best
}

func TestProxIsTheMinimiser(t *testing.T) {
	for _, rho := range []float64{0.05, 1, 30} {
		for _, omega := range []float64{0, 0.1, 1, 7} {
			for _, target := range []float64{-1e4, -3, -0.2, 0, 0.5, 0.99, 1, 1.5, 1e4} {
				b, v := prox(target, omega, rho)
				if got := omega*math.Max(0, 1-b) + rho/2*(b-target)*(b-target); math.Abs(got-v) > 1e-9*(1+math.Abs(v)) {
					t.Errorf("t=%g ω=%g ρ=%g: value %g, but the objective at b=%g is %g", target, omega, rho, v, b, got)
				}
				if want := oracle(target, omega, rho); v > want+1e-9*(1+math.Abs(want)) {
					t.Errorf("t=%g ω=%g ρ=%g: value %g; a grid finds %g", target, omega, rho, v, want)
				}
			}
		}
	}
}

// The table's entry for label y is the objective at Prox for that label.
func TestTableAgreesWithProxAndValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 17
	for labels := 2; labels <= 5; labels++ {
		target, omega := make([]float64, n*labels), make([]float64, n)
		for i := range target {
			target[i] = 3 * rng.NormFloat64()
		}
		for i := range omega {
			omega[i] = rng.Float64()
		}
		const rho = 0.7
		u := make([]float64, n*labels)
		Hinge{}.Table(u, target, omega, labels, rho)
		for label := range labels {
			y := make([]int32, n)
			for i := range y {
				y[i] = int32(label)
			}
			beta := make([]float64, n*labels)
			Hinge{}.Prox(beta, target, omega, y, labels, rho)
			for i := range n {
				row := beta[i*labels : (i+1)*labels]
				want, err := Hinge{}.Value(row, omega[i:i+1], y[i:i+1], labels)
				if err != nil {
					t.Fatal(err)
				}
				for l, b := range row {
					d := b - target[i*labels+l]
					want += rho / 2 * d * d
				}
				if got := u[i*labels+label]; math.Abs(got-want) > 1e-12*(1+want) {
					t.Fatalf("L=%d sample %d label %d: table %g, prox gives %g", labels, i, label, got, want)
				}
			}
		}
	}
}

// Several samples, with weights and in place, are the samples one by one.
func TestRowsAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, labels := range []int{2, 3, 7} {
		const n, rho = 23, 0.8
		target, w, y := make([]float64, n*labels), make([]float64, n), make([]int32, n)
		for i := range target {
			target[i] = 3 * rng.NormFloat64()
		}
		for i := range w {
			w[i], y[i] = float64(rng.IntN(3)), int32(rng.IntN(labels))
		}
		u := make([]float64, n*labels)
		Hinge{}.Table(u, target, w, labels, rho)
		beta := slices.Clone(target)
		Hinge{}.Prox(beta, beta, w, y, labels, rho)
		for i := range n {
			row, from, to := make([]float64, labels), i*labels, (i+1)*labels
			Hinge{}.Table(row, target[from:to], w[i:i+1], labels, rho)
			if !slices.Equal(row, u[from:to]) {
				t.Fatalf("L=%d: the table of sample %d depends on the others", labels, i)
			}
			Hinge{}.Prox(row, target[from:to], w[i:i+1], y[i:i+1], labels, rho)
			if !slices.Equal(row, beta[from:to]) {
				t.Fatalf("L=%d: the prox of sample %d depends on the others", labels, i)
			}
		}
	}
}

// A NaN must reach the solver's check, wherever it stands.
func TestNaNShowsInTheTable(t *testing.T) {
	for _, labels := range []int{2, 3, 5} {
		for k := range labels {
			target, u := make([]float64, labels), make([]float64, labels)
			target[k] = math.NaN()
			if (Hinge{}).Table(u, target, nil, labels, 1); !slices.ContainsFunc(u, math.IsNaN) {
				t.Errorf("L=%d: NaN target of label %d gives the table %v", labels, k, u)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	four, two := make([]float64, 4), make([]float64, 2)
	for _, tt := range []struct {
		name string
		do   func(l Hinge) error
		says string
	}{
		{"no labels", func(l Hinge) error { return l.Table(four, four, nil, 0, 1) }, "samples of 0 labels"},
		{"labels without end", func(l Hinge) error { return l.Table(nil, nil, nil, math.MaxInt, 1) }, "labels"},
		{"half a sample", func(l Hinge) error { return l.Table(four, four, nil, 3, 1) }, "4 and 4 numbers"},
		{"short table", func(l Hinge) error { return l.Table(two, four, nil, 2, 1) }, "2 and 4 numbers"},
		{"long table", func(l Hinge) error { return l.Table(four, two, nil, 2, 1) }, "4 and 2 numbers"},
		{"few weights", func(l Hinge) error { return l.Table(four, four, []float64{1}, 2, 1) }, "1 weights"},
		{"no scores for labels", func(l Hinge) error { return l.Prox(nil, nil, nil, []int32{0}, 2, 1) }, "labels of 1 samples for 0"},
		{"no labels for scores", func(l Hinge) error { return l.Prox(four, four, nil, nil, 2, 1) }, "labels of 0 samples for 2"},
		{"short result", func(l Hinge) error { return l.Prox(two, four, nil, []int32{0, 1}, 2, 1) }, "2 and 4 numbers"},
		{"label that there is not", func(l Hinge) error { return l.Prox(four, four, nil, []int32{0, 2}, 2, 1) }, "sample 1 has label 2"},
		{"negative label", func(l Hinge) error { _, err := l.Value(four, nil, []int32{-1, 0}, 2); return err }, "sample 0 has label -1"},
		{"many weights", func(l Hinge) error { _, err := l.Value(two, two, []int32{0}, 2); return err }, "2 weights"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.do(Hinge{}); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want ErrInput with %q", err, tt.says)
			}
		})
	}
	if err := (Hinge{}).Table(nil, nil, nil, 2, 1); err != nil {
		t.Errorf("no samples: %v", err)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for _, labels := range []int{2, 3, 33} {
		const n = 50
		target, dst, y := make([]float64, n*labels), make([]float64, n*labels), make([]int32, n)
		for i := range target {
			target[i] = math.Sin(float64(i))
		}
		if got := testing.AllocsPerRun(20, func() {
			Hinge{}.Table(dst, target, nil, labels, 1)
			Hinge{}.Prox(dst, target, nil, y, labels, 1)
			Hinge{}.Value(target, nil, y, labels)
		}); got > 0 {
			t.Errorf("L=%d: %g allocations; want none", labels, got)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	for _, n := range []int{2000, 12000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			target, u := make([]float64, 2*n), make([]float64, 2*n)
			b.ReportAllocs()
			for b.Loop() {
				Hinge{}.Table(u, target, nil, 2, 1)
			}
		})
	}
}

func ExampleHinge() {
	// One sample scored against two labels; the scores favour label 1.
	scores := []float64{-0.5, 2}
	for label := range int32(2) {
		fmt.Println(Hinge{}.Value(scores, nil, []int32{label}, 2))
	}
	// Output:
	// 4.5 <nil>
	// 0.5 <nil>
}
