package solver_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/solver/solvertest"
)

// empty is a kernel over no samples.
type empty struct{ solver.Kernel }

func (empty) Len() int { return 0 }

// failing is a loss without a table.
type failing struct{ loss.Hinge }

var errTable = errors.New("no table")

func (failing) Table(_, _, _ []float64, _ int, _ float64) error { return errTable }

// A problem that cannot be solved is an error that says what is wrong with it.
func TestSolveRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name   string
		change func(p *solver.Problem, s *solver.State, o *solver.Options)
		err    string
		is     error
	}{
		{"nothing", func(p *solver.Problem, s *solver.State, _ *solver.Options) { *p, *s = solver.Problem{}, solver.State{} }, "0 labels", solver.ErrProblem},
		{"no loss", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Loss = nil }, "loss <nil>", solver.ErrProblem},
		{"no kernel", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Kernel = nil }, "kernel <nil>", solver.ErrProblem},
		{"no MRF", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.MRF = nil }, "MRF <nil>", solver.ErrProblem},
		{"no samples", func(p *solver.Problem, s *solver.State, _ *solver.Options) {
			*p = solver.Problem{Labels: 2, Loss: loss.Hinge{}, Kernel: empty{}, MRF: new(mrf.Potts), Nu: 0.5}
			*s = solver.State{}
		}, "no samples", solver.ErrProblem},
		{"a kernel before Reset", func(p *solver.Problem, s *solver.State, _ *solver.Options) {
			p.Kernel, *s, p.Unary = new(kernel.Linear), solver.State{}, nil
		}, "no samples", solver.ErrProblem},
		{"one label", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Labels = 1 }, "1 labels; want at least 2", solver.ErrProblem},
		{"ν 0", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Nu = 0 }, "ν = 0", solver.ErrProblem},
		{"ν NaN", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Nu = nan }, "ν = NaN", solver.ErrProblem},
		{"ν infinite", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Nu = inf }, "ν=+Inf", solver.ErrNotFinite},
		{"labels without end", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Labels = math.MaxInt }, "labels; want at least 2", solver.ErrProblem},
		{"an MRF of fewer samples", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.MRF = new(mrf.Potts) }, "20 labels for 0 nodes", mrf.ErrInput},
		{"a loss that fails", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Loss = failing{} }, "solver: no table", errTable},
		{"fewer than no iterations", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.MaxIter = -1 }, "-1 iterations", solver.ErrProblem},
		{"δ NaN", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.Delta = nan }, "δ = NaN", solver.ErrProblem},
		{"a negative tolerance", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.Tol = -1 }, "tolerance -1", solver.ErrProblem},
		{"relaxation 2", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.Relax = 2 }, "relaxation 2", solver.ErrProblem},
		{"τ below 1", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.Tau = 0.5 }, "τ = 0.5", solver.ErrProblem},
		{"few scores", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Scores = s.Scores[1:] }, "state of 59 scores", solver.ErrProblem},
		{"few λ", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Lambda = nil }, "0 λ", solver.ErrProblem},
		{"few labels", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Y = s.Y[1:] }, "19 labels for 20 samples", solver.ErrProblem},
		{"a label that there is not", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Y[4] = 3 }, "sample 4 has label 3; want 0 to 2", solver.ErrProblem},
		{"a label below 0", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Y[4] = -1 }, "sample 4 has label -1", solver.ErrProblem},
		{"few weights", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Omega = make([]float64, 19) }, "19 weights", solver.ErrProblem},
		{"few offsets", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Offset = make([]float64, 20) }, "20 offsets", solver.ErrProblem},
		{"few unaries", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Unary = p.Unary[1:] }, "59 unaries", solver.ErrProblem},
		{"ρ NaN", func(_ *solver.Problem, _ *solver.State, o *solver.Options) { o.Rho = nan }, "ρ=NaN", solver.ErrNotFinite},
		{"a NaN weight", func(p *solver.Problem, _ *solver.State, _ *solver.Options) {
			p.Omega = make([]float64, 20)
			p.Omega[3] = nan
		}, "", solver.ErrNotFinite},
		{"a NaN offset", func(p *solver.Problem, _ *solver.State, _ *solver.Options) {
			p.Offset = make([]float64, 60)
			p.Offset[3] = nan
		}, "", solver.ErrNotFinite},
		{"a NaN unary", func(p *solver.Problem, _ *solver.State, _ *solver.Options) { p.Unary[8] = nan }, "u[8] of node 2, label 2, is NaN", mrf.ErrUnary},
		{"a NaN score", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Scores[8] = nan }, "is NaN", mrf.ErrUnary},
		{"a NaN λ", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Lambda[8] = nan }, "is NaN", mrf.ErrUnary},
		{"an infinite score", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Scores[8] = inf }, "is NaN", mrf.ErrUnary},
		{"an infinite λ", func(_ *solver.Problem, s *solver.State, _ *solver.Options) { s.Lambda[8] = -inf }, "", solver.ErrNotFinite},
		{"an infinite offset", func(p *solver.Problem, _ *solver.State, _ *solver.Options) {
			p.Offset = make([]float64, 60)
			p.Offset[3] = inf
		}, "", solver.ErrNotFinite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s, _ := solvertest.Instance(1, 20, 4, 3)
			var o solver.Options
			tt.change(p, s, &o)
			if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, o); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Solve = %v; want %v with %q", err, tt.is, tt.err)
			}
		})
	}
}

func TestSolveRefusesNothing(t *testing.T) {
	p, s, _ := solvertest.Instance(1, 20, 4, 3)
	for _, args := range []struct {
		ws *solver.Workspace
		p  *solver.Problem
		s  *solver.State
	}{{nil, p, s}, {new(solver.Workspace), nil, s}, {new(solver.Workspace), p, nil}} {
		if _, err := solver.Solve(t.Context(), args.ws, args.p, args.s, solver.Options{}); !errors.Is(err, solver.ErrProblem) {
			t.Errorf("%v: error %v; want ErrProblem", args, err)
		}
	}
	if err := s.Alpha(make([]float64, 3), 1); !errors.Is(err, solver.ErrProblem) {
		t.Errorf("α of 3 numbers: error %v; want ErrProblem", err)
	}
	if err := s.Alpha(make([]float64, 60), math.NaN()); !errors.Is(err, solver.ErrProblem) {
		t.Errorf("ν = NaN: error %v; want ErrProblem", err)
	}
}
