package solver

import "fmt"

// State is the iterate: the warm start going in, the result coming out. Zeros are
// the cold start.
//
// It is consistent if Scores = O + Kα, with the problem's Offset O, and Lambda = −2να
// for one α. A Solve leaves it so, and α needs no room of its own: see Alpha. Going in
// it need not be: the first α-update is a damped step from the Scores, whatever α they
// are of, but the Lagrangian may rise by it.
//
// A window slides by its classifier W₀ = W₀' + M⁻¹Xᵀα, the last window's W₀' and what it
// learned (M is the kernel's metric, see kernel.Linear). The next one has the Offset XW₀. Every sample in it may
// start with Lambda 0 and Scores XW₀: consistent, with α = 0. Fewer iterations are left from this start: samples that stay keep
// their Lambda; those that came have ρ(s − β), with s their Offset, β the loss' prox of it and ρ = 2ν/γ; and Scores are
// XW₀ + Kα of α = −λ/2ν. Both are consistent whatever became of weights, labels and energies. Samples that leave leave
// what they taught in W₀. The term ν⟨α, Kα⟩ is ν⟨W − W₀, M(W − W₀)⟩, but for the ridge, so each
// window takes a proximal step from the last classifier: implicit online learning
// (Kulis & Bartlett, ICML 2010).
type State struct {
	Scores []float64 // O + Kα, n×L row-major
	Lambda []float64 // multipliers λ, n×L row-major
	Y      []int32   // n labels in [0, L)
}

// Alpha writes α = −λ/2ν of a state that a Solve with this ν left to dst, n×L. The
// error wraps ErrProblem for another size, or ν not > 0.
func (s *State) Alpha(dst []float64, nu float64) error {
	if len(dst) != len(s.Lambda) || !(nu > 0) {
		return fmt.Errorf("%w: α of %d numbers from %d λ, and ν = %g; want as many, and ν > 0", ErrProblem, len(dst), len(s.Lambda), nu)
	}
	for i, l := range s.Lambda {
		dst[i] = -l / (2 * nu)
	}
	return nil
}
