package solver

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// empty is a kernel over no samples.
type empty struct{ Kernel }

func (empty) Len() int { return 0 }

// A problem that cannot be solved is an error that says what is wrong with it.
func TestSolveRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name   string
		change func(p *Problem, s *State, o *Options)
		err    string
		is     error
	}{
		{"nothing", func(p *Problem, s *State, _ *Options) { *p, *s = Problem{}, State{} }, "0 labels", ErrProblem},
		{"no loss", func(p *Problem, _ *State, _ *Options) { p.Loss = nil }, "loss <nil>", ErrProblem},
		{"no kernel", func(p *Problem, _ *State, _ *Options) { p.Kernel = nil }, "kernel <nil>", ErrProblem},
		{"no MRF", func(p *Problem, _ *State, _ *Options) { p.MRF = nil }, "MRF <nil>", ErrProblem},
		{"no samples", func(p *Problem, s *State, _ *Options) {
			*p = Problem{Labels: 2, Loss: loss.Hinge{}, Kernel: empty{}, MRF: new(mrf.Potts), Nu: 0.5}
			*s = State{}
		}, "no samples", ErrProblem},
		{"a kernel before Reset", func(p *Problem, s *State, _ *Options) { p.Kernel, *s, p.Unary = new(kernel.Linear), State{}, nil }, "no samples", ErrProblem},
		{"one label", func(p *Problem, _ *State, _ *Options) { p.Labels = 1 }, "1 labels; want at least 2", ErrProblem},
		{"ν 0", func(p *Problem, _ *State, _ *Options) { p.Nu = 0 }, "ν = 0", ErrProblem},
		{"ν NaN", func(p *Problem, _ *State, _ *Options) { p.Nu = nan }, "ν = NaN", ErrProblem},
		{"ν infinite", func(p *Problem, _ *State, _ *Options) { p.Nu = inf }, "ν=+Inf", ErrNotFinite},
		{"few scores", func(_ *Problem, s *State, _ *Options) { s.Scores = s.Scores[1:] }, "state of 59 scores", ErrProblem},
		{"few λ", func(_ *Problem, s *State, _ *Options) { s.Lambda = nil }, "0 λ", ErrProblem},
		{"few labels", func(_ *Problem, s *State, _ *Options) { s.Y = s.Y[1:] }, "19 labels for 20 samples", ErrProblem},
		{"a label that there is not", func(_ *Problem, s *State, _ *Options) { s.Y[4] = 3 }, "sample 4 has label 3; want 0 to 2", ErrProblem},
		{"a label below 0", func(_ *Problem, s *State, _ *Options) { s.Y[4] = -1 }, "sample 4 has label -1", ErrProblem},
		{"few weights", func(p *Problem, _ *State, _ *Options) { p.Omega = make([]float64, 19) }, "19 weights", ErrProblem},
		{"few offsets", func(p *Problem, _ *State, _ *Options) { p.Offset = make([]float64, 20) }, "20 offsets", ErrProblem},
		{"few unaries", func(p *Problem, _ *State, _ *Options) { p.Unary = p.Unary[1:] }, "59 unaries", ErrProblem},
		{"ρ NaN", func(_ *Problem, _ *State, o *Options) { o.Rho = nan }, "ρ=NaN", ErrNotFinite},
		{"a NaN weight", func(p *Problem, _ *State, _ *Options) { p.Omega = make([]float64, 20); p.Omega[3] = nan }, "", ErrNotFinite},
		{"a NaN offset", func(p *Problem, _ *State, _ *Options) { p.Offset = make([]float64, 60); p.Offset[3] = nan }, "", ErrNotFinite},
		{"a NaN unary", func(p *Problem, _ *State, _ *Options) { p.Unary[8] = nan }, "u[8] of node 2, label 2, is NaN", mrf.ErrUnary},
		{"a NaN score", func(_ *Problem, s *State, _ *Options) { s.Scores[8] = nan }, "is NaN", mrf.ErrUnary},
		{"a NaN λ", func(_ *Problem, s *State, _ *Options) { s.Lambda[8] = nan }, "is NaN", mrf.ErrUnary},
		{"an infinite score", func(_ *Problem, s *State, _ *Options) { s.Scores[8] = inf }, "is NaN", mrf.ErrUnary},
		{"an infinite λ", func(_ *Problem, s *State, _ *Options) { s.Lambda[8] = -inf }, "", ErrNotFinite},
		{"an infinite offset", func(p *Problem, _ *State, _ *Options) { p.Offset = make([]float64, 60); p.Offset[3] = inf }, "", ErrNotFinite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s, _ := instance(1, 20, 4, 3)
			var o Options
			tt.change(p, s, &o)
			if _, err := Solve(t.Context(), &Workspace{}, p, s, o); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Solve = %v; want %v with %q", err, tt.is, tt.err)
			}
		})
	}
}
