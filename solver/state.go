package solver

// State is the iterate: the warm start going in, the result coming out. Zeros are
// the cold start.
//
// It is consistent if Scores = O + Kα, with the problem's Offset O, and Lambda = −2να
// for one α. A Solve leaves it so, and α needs no room of its own: see Alpha. Going in
// it need not be: the first α-update is a damped step from the Scores, whatever α they
// are of, but the Lagrangian may rise by it.
//
// A window slides by its rows. Those that stay keep their Scores, Lambda and Y; one that
// comes starts with Lambda 0 and, for Scores, what the classifier W says of it. The next
// Offset is XW₀ with W₀ = W − M⁻¹Xᵀα, of the α of the rows that stay (M is the kernel's metric, see
// kernel.Linear): then W = W₀ + M⁻¹Xᵀα is what it was, and the start is consistent, whatever the
// loss and whatever became of weights, labels and energies. Rows that leave leave
// what they taught in W₀. The term ν⟨α, Kα⟩ is ν⟨W − W₀, M(W − W₀)⟩, but for the ridge: implicit online learning
// (Kulis & Bartlett, ICML 2010), by rows.
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
