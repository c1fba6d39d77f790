package solver

import "fmt"

// State is the iterate: the warm start going in, the result coming out. Zeros are
// the cold start.
//
// It is consistent if Scores = O + Kα, with the problem's Offset O, and Lambda = −2να
// for one α. A Solve leaves it so, and α needs no room of its own: see Alpha. Going in it need not be: the first
// α-update is a damped step from the Scores, whatever α they are of, but the
// Lagrangian may rise by it.
//
// That is what lets a window slide. Samples that leave take their rows along; those
// that come are given Scores, of the last classifier, and labels, and Enter. Where
// only the weight of a sample changed, Reweigh keeps its multipliers in step; where
// its label did, Enter it again. Then Settle makes the whole consistent, if that is
// wanted: the Scores become those of the multipliers.
//
// What leaves need not be forgotten. Its part of the classifier, W = W₀ + Xᵀα, can be
// added to W₀, which replaces the losses of the samples that leave by their tangents at
// λ. No score changes by that, and samples that come with multipliers 0 and the Scores
// XW keep the state consistent; a factor < 1 on W₀ lets the past fade, and Settle follows.
type State struct {
	Scores []float64 // O + Kα, n×L row-major
	Lambda []float64 // multipliers λ, n×L row-major
	Y      []int32   // n labels in [0, L)
}

// Alpha writes α = −λ/2ν of a state that a Solve with this ν left to dst, n×L.
func (s *State) Alpha(dst []float64, nu float64) {
	for i, l := range s.Lambda {
		dst[i] = -l / (2 * nu)
	}
}

// Enter sets the multipliers of the samples from ≤ i < to to a subgradient of their
// loss, ω_i ℓ(Y_i; ·), at their Scores, which is what those of a converged state are.
// Unless the label changes, the prox then leaves the Scores as they are, and the first
// α-update is a proximal step from the classifier that gave them. Of p it needs
// Labels, Loss and Omega.
func (s *State) Enter(p *Problem, from, to int) {
	var omega []float64
	if p.Omega != nil {
		omega = p.Omega[from:to]
	}
	lo, hi := from*p.Labels, to*p.Labels
	p.Loss.Gradient(s.Lambda[lo:hi], s.Scores[lo:hi], omega, s.Y[from:to], p.Labels)
}

// Reweigh carries the multipliers over from the n weights was to the n weights now,
// nil meaning all 1, by their ratio: a subgradient of ω ℓ is one again. A sample that
// had no weight gets multipliers 0; Enter it for better ones.
func (s *State) Reweigh(was, now []float64) {
	n := len(s.Y)
	if was != nil && len(was) != n || now != nil && len(now) != n {
		panic(fmt.Sprintf("solver: %d and %d weights for %d samples", len(was), len(now), n))
	}
	labels := len(s.Lambda) / max(n, 1)
	for i := range n {
		ratio := 1.0
		if now != nil {
			ratio = now[i]
		}
		if was != nil {
			ratio /= was[i]
			if was[i] == 0 {
				ratio = 0
			}
		}
		row := s.Lambda[i*labels : (i+1)*labels]
		for l := range row {
			row[l] *= ratio
		}
	}
}

// Settle makes the state consistent by its multipliers: Scores = O + Kα, α = −λ/2ν.
// The cost is that of one product with K, O(ndL) for kernel.Linear. Once ws has grown
// it allocates nothing. Of p it needs Labels, Kernel, Nu and Offset.
func (s *State) Settle(p *Problem, ws *Workspace) {
	ws.alpha = grow(ws.alpha, len(s.Lambda))
	s.Alpha(ws.alpha, p.Nu)
	p.Kernel.Mul(s.Scores, ws.alpha, p.Labels)
	for i, o := range p.Offset {
		s.Scores[i] += o
	}
}
