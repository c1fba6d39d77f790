package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
)

// fitReport holds the median ratio of times and the worst ratio of objectives, each
// over the data sets.
type fitReport struct {
	Time      float64 `json:"time"`
	Objective float64 `json:"objective"`
}

// penalty is LIBLINEAR's C, its default.
const penalty = 1.0

// How Solve is called, the same for all data.
const (
	// With two labels the one-vs-all hinge counts each sample twice and the second
	// classifier is the first one's negative, so
	//   Σ_i ℓ(y_i; β_i) + ν⟨α, Kα⟩ = 2(Σ hinge + ν‖w‖²),
	// which for ν = 1/2C is 2/C times LIBLINEAR's ½‖w‖² + C Σ hinge.
	fitNu = 1 / (2 * penalty)
	// γ moves scores by γα, |α| ≤ C: far below what 0.1 % of the objective is.
	fitGamma = 1e-5
	// With y given the problem is convex and every ρ leads to the optimum; rows are
	// of about unit length, so ν is near the fastest. It stays as it is, as each new
	// ρ costs a factorisation.
	fitRho   = fitNu
	fitRelax = 1.7
	// About a per cent of the margin in scores, root mean square: as near to the
	// optimum as LIBLINEAR's default stops.
	fitTol = 9e-3
	fitMax = 1000
)

// samples are rows of d features and a last one that is always 1, and labels ±1.
type samples struct {
	name string
	n, d int
	x    []float64 // n×(d+1)
	y    []float64
}

// objective is ½‖w‖² + C Σ max(0, 1 − y⟨w, x⟩), which both sides minimise.
func (s *samples) objective(w []float64) float64 {
	sum := 0.0
	for _, v := range w {
		sum += v * v / 2
	}
	for i, y := range s.y {
		score := 0.0
		for k, v := range s.x[i*(s.d+1) : (i+1)*(s.d+1)] {
			score += v * w[k]
		}
		sum += penalty * math.Max(0, 1-y*score)
	}
	return sum
}

// given are labels that may not be changed: the discrete energy of a supervised
// problem. Unaries of +Inf would say the same and cost an empty cut.
type given struct{}

func (given) Label(context.Context, []int32, []float64) error { return nil }
func (given) Energy([]int32) (float64, error)                 { return 0, nil }

// hinge leaves out the table of what other labels would cost, which given ignores.
type hinge struct{ loss.Hinge }

func (hinge) Table(_, _, _ []float64, _ int, _ float64) error { return nil }

// fit trains from nothing, on as many threads: all memory and the Gram matrix are
// part of it.
func (s *samples) fit(ctx context.Context, workers int) ([]float64, solver.Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	block, err := kernel.NewBlock(s.x, s.n, s.d+1)
	if err != nil {
		return nil, solver.Result{}, err
	}
	var k kernel.Linear
	if err := k.Reset([]*kernel.Block{block}, fitGamma); err != nil {
		return nil, solver.Result{}, err
	}
	state := solver.State{Scores: make([]float64, 2*s.n), Lambda: make([]float64, 2*s.n), Y: make([]int32, s.n)}
	for i, y := range s.y {
		if y > 0 {
			state.Y[i] = 1
		}
		// The multipliers that belong to scores of 0, the hinge's subgradients, rather
		// than none.
		state.Lambda[2*i], state.Lambda[2*i+1] = y, -y
	}
	problem := &solver.Problem{Labels: 2, Loss: hinge{}, Kernel: &k, MRF: given{}, Nu: fitNu}
	var ws solver.Workspace
	res, err := solver.Solve(ctx, &ws, problem, &state, solver.Options{MaxIter: fitMax, Rho: fitRho, RhoMax: fitRho, Relax: fitRelax, Tau: 1, Tol: fitTol})
	if err != nil {
		return nil, res, err
	}
	alpha, w := make([]float64, 2*s.n), make([]float64, 2*(s.d+1))
	if err := errors.Join(state.Alpha(alpha, fitNu), k.Weights(w, alpha, 2)); err != nil {
		return nil, res, err
	}
	return w[s.d+1:], res, nil
}

// write stores the samples, but for the last column, in libsvm's format.
func (s *samples) write(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	var line []byte
	for i, y := range s.y {
		line = strconv.AppendFloat(line[:0], y, 'g', -1, 64)
		for k := range s.d {
			if v := s.x[i*(s.d+1)+k]; v != 0 {
				line = append(strconv.AppendInt(append(line, ' '), int64(k+1), 10), ':')
				line = strconv.AppendFloat(line, v, 'g', -1, 64)
			}
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

// trained runs LIBLINEAR's own program on the file and returns its weights for
// label 1.
func trained(ctx context.Context, program, data string) ([]float64, error) {
	model := data + ".model"
	out, err := exec.CommandContext(ctx, program, "-q", "-s", "3", "-B", "1", "-c", fmt.Sprint(penalty), data, model).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, out)
	}
	text, err := os.ReadFile(model)
	if err != nil {
		return nil, err
	}
	head, tail, ok := strings.Cut(string(text), "\nw\n")
	if !ok {
		return nil, fmt.Errorf("%s: its model has no weights", program)
	}
	sign := 1.0
	if strings.Contains(head, "label -1 1") {
		sign = -1
	}
	var w []float64
	for _, field := range strings.Fields(tail) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: its model: %w", program, err)
		}
		w = append(w, sign*v)
	}
	return w, nil
}

// compare runs both sides on s and returns the ratios of time and objective.
func (s *samples) compare(ctx context.Context, opt options, dir string, stderr io.Writer) (ratio fitReport, err error) {
	path := filepath.Join(dir, "samples")
	if err := s.write(path); err != nil {
		return ratio, err
	}
	peer, err := start(ctx, opt.liblinear, path, fmt.Sprint(penalty))
	if err != nil {
		return ratio, err
	}
	defer func() { err = errors.Join(err, peer.close()) }()

	var mine, other []float64
	var res solver.Result
	ours, theirs, err := inTurn(ctx, opt.budget, func() (float64, error) {
		begin := time.Now()
		w, r, err := s.fit(ctx, opt.workers)
		mine, res = w, r
		return time.Since(begin).Seconds(), err
	}, func() (float64, error) {
		answer, err := peer.ask("train")
		if err == nil && len(answer) != s.d+2 {
			err = fmt.Errorf("%s: %d numbers; want seconds and %d weights", opt.liblinear, len(answer), s.d+1)
		}
		if err != nil {
			return 0, err
		}
		other = answer[1:]
		return answer[0], nil
	})
	if err != nil {
		return ratio, err
	}
	program, err := trained(ctx, opt.train, path)
	if err != nil {
		return ratio, err
	}
	if len(program) != s.d+1 {
		return ratio, fmt.Errorf("%s: %d weights; want %d", opt.train, len(program), s.d+1)
	}
	a, b, c := s.objective(mine), s.objective(other), s.objective(program)
	if math.Abs(b/c-1) > 1e-6 {
		return ratio, fmt.Errorf("%s: the objective is %.9g by train() and %.9g by %s; want the same", s.name, b, c, opt.train)
	}
	ratio = fitReport{Time: ours.median / theirs.median, Objective: a / b}
	fmt.Fprintf(stderr, "%s: %d × %d\n  time          %s\n  objective     %.6g / %.6g = %.5f; ours: %d iterations, %v\n",
		s.name, s.n, s.d, ours.beside(theirs), a, b, ratio.Objective, res.Iterations, res.Status)
	return ratio, nil
}

func compareFits(ctx context.Context, opt options, dir string, stderr io.Writer) (*fitReport, error) {
	sets, err := dataSets(opt)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stderr, "training a classifier, ours / LIBLINEAR -s 3, medians:")
	var times []float64
	worst := 0.0
	for _, s := range sets {
		ratio, err := s.compare(ctx, opt, dir, stderr)
		if err != nil {
			return nil, err
		}
		times, worst = append(times, ratio.Time), math.Max(worst, ratio.Objective)
	}
	return &fitReport{Time: median(times), Objective: worst}, nil
}
