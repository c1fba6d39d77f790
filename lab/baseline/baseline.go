package baseline

import (
	"context"
	"fmt"
	"math"

	"github.com/segd/segd/solver"
)

// fitOptions solve the convex problem of fixed labels.
var fitOptions = solver.Options{MaxIter: 300, Tau: 1, Tol: 1e-4}

// fixed keeps the labels as they are: what is left of the problem is convex.
type fixed struct{}

func (fixed) Label(context.Context, []int32, []float64) error { return nil }
func (fixed) Energy([]int32) (float64, error)                 { return 0, nil }

// fit finds the classifier of labels s.Y, with weights omega, from s.
func fit(ctx context.Context, ws *solver.Workspace, p *solver.Problem, s *solver.State, omega []float64) error {
	q := *p
	q.MRF, q.Omega, q.Unary = fixed{}, omega, nil
	res, err := solver.Solve(ctx, ws, &q, s, fitOptions)
	if err == nil && res.Status == solver.Interrupted {
		err = ctx.Err()
	}
	return err
}

// Inductive fits the classifier to the samples of positive weight omega and their
// labels s.Y, and then labels every sample: by p.MRF, under p.Unary and the loss
// of each label at the sample's score. s holds scores, multipliers and labels, a
// start for solver.Solve on p. The labels of samples without weight do not
// matter going in, nor do s.Scores and s.Lambda, which it overwrites.
func Inductive(ctx context.Context, ws *solver.Workspace, p *solver.Problem, s *solver.State, omega []float64) error {
	clear(s.Scores)
	clear(s.Lambda)
	if err := fit(ctx, ws, p, s, omega); err != nil {
		return fmt.Errorf("baseline: inductive: %w", err)
	}
	if err := assign(ctx, p, s); err != nil {
		return fmt.Errorf("baseline: inductive: %w", err)
	}
	return nil
}

// assign labels every sample by the loss at its score.
func assign(ctx context.Context, p *solver.Problem, s *solver.State) error {
	u := make([]float64, len(s.Scores))
	y := make([]int32, len(s.Y))
	for l := range p.Labels {
		for i := range y {
			y[i] = int32(l)
			v, err := p.Loss.Value(s.Scores[i*p.Labels:(i+1)*p.Labels], weight(p.Omega, i), y[i:i+1], p.Labels)
			if err != nil {
				return err
			}
			u[i*p.Labels+l] = v
		}
	}
	for i, v := range p.Unary {
		u[i] += v
	}
	return p.MRF.Label(ctx, s.Y, u)
}

func weight(omega []float64, i int) []float64 {
	if omega == nil {
		return nil
	}
	return omega[i : i+1]
}

// Trace sums a baseline's run up.
type Trace struct {
	Rounds    int
	Converged bool // no label changed in the last round
	Energy    float64
}

// CoordinateDescent fits the classifier to s.Y and labels by it, in turn, until no
// label changes or rounds have passed. Both steps lower p's objective, up to the
// classifier's accuracy and as far as p.MRF does. The first fit starts from
// s.Scores and s.Lambda.
func CoordinateDescent(ctx context.Context, ws *solver.Workspace, p *solver.Problem, s *solver.State, rounds int) (Trace, error) {
	var t Trace
	was := make([]int32, len(s.Y))
	for t.Rounds < rounds && !t.Converged {
		t.Rounds++
		if err := fit(ctx, ws, p, s, p.Omega); err != nil {
			return t, fmt.Errorf("baseline: coordinate descent: %w", err)
		}
		copy(was, s.Y)
		if err := assign(ctx, p, s); err != nil {
			return t, fmt.Errorf("baseline: coordinate descent: %w", err)
		}
		t.Converged = same(was, s.Y)
	}
	var err error
	t.Energy, err = Objective(p, s)
	return t, err
}

func same(a, b []int32) bool {
	for i, v := range a {
		if v != b[i] {
			return false
		}
	}
	return true
}

// Objective is p's at s: loss, ν⟨α, Kα⟩, unaries and discrete energy, for a state
// whose multipliers are −2να.
func Objective(p *solver.Problem, s *solver.State) (float64, error) {
	loss, err := p.Loss.Value(s.Scores, p.Omega, s.Y, p.Labels)
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	energy, err := p.MRF.Energy(s.Y)
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	sum := loss + energy
	for i, k := range s.Scores {
		if p.Offset != nil {
			k -= p.Offset[i]
		}
		sum -= s.Lambda[i] * k / 2
	}
	if p.Unary != nil {
		for i, l := range s.Y {
			sum += p.Unary[i*p.Labels+int(l)]
		}
	}
	return sum, nil
}

// KernelKMeans clusters the n rows of g, d numbers each, which are the samples in
// the kernel's feature space: K = GGᵀ. Centroids are the means of the rows of a
// label, and mrf assigns the labels by u = ‖g_i − c_l‖². It starts from y and
// ends when no label changes or rounds have passed. A label that no sample has
// keeps its last centroid, the origin at first.
func KernelKMeans(ctx context.Context, g []float64, n, d, labels int, label solver.Labeler, y []int32, rounds int) (Trace, error) {
	if len(g) != n*d || len(y) != n {
		panic(fmt.Sprintf("baseline: %d numbers and %d labels for %d rows of %d", len(g), len(y), n, d))
	}
	var t Trace
	centroids, u := make([]float64, labels*d), make([]float64, n*labels)
	was := make([]int32, n)
	for t.Rounds < rounds && !t.Converged {
		t.Rounds++
		means(centroids, g, d, y)
		for i := range n {
			row := g[i*d : (i+1)*d]
			for l := range labels {
				u[i*labels+l] = squared(row, centroids[l*d:(l+1)*d])
			}
		}
		copy(was, y)
		if err := label.Label(ctx, y, u); err != nil {
			return t, fmt.Errorf("baseline: kernel k-means: %w", err)
		}
		t.Converged = same(was, y)
	}
	var err error
	if t.Energy, err = label.Energy(y); err != nil {
		return t, fmt.Errorf("baseline: kernel k-means: %w", err)
	}
	for i, l := range y {
		t.Energy += u[i*labels+int(l)]
	}
	return t, nil
}

// means moves each centroid to the mean of its rows.
func means(centroids, g []float64, d int, y []int32) {
	for l := range len(centroids) / d {
		c := centroids[l*d : (l+1)*d]
		count := 0.0
		for i, yi := range y {
			if int(yi) != l {
				continue
			}
			if count++; count == 1 {
				clear(c)
			}
			for j, v := range g[i*d : (i+1)*d] {
				c[j] += v
			}
		}
		for j := range c {
			c[j] /= math.Max(count, 1)
		}
	}
}

func squared(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return sum
}
