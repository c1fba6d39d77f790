// Package solver finds labels and a classifier together by discrete-continuous
// ADMM (DC-ADMM, Alg. 1 of Laude et al., "Discrete-Continuous ADMM for
// Transductive Inference in Higher-Order MRFs"):
//
//	min over y ∈ {0..L−1}^n, α ∈ ℝ^{n×L} of
//	  Σ_i ω_i ℓ(y_i; K_i α) + ν⟨α, Kα⟩ + Σ_i U_{i,y_i} + E(y)
//
// with a convex loss ℓ (package loss), a kernel K (package kernel) and a
// discrete energy E (package mrf). Each iteration tabulates what every label
// would cost every sample, lets the MRF solver choose labels, keeps them only if
// the augmented Lagrangian falls, and updates β, α and λ in closed form.
//
// The α-update is exact, and after it the multipliers are λ = −2να, so a State
// holds the scores Kα, λ and y, and α is read off.
//
// It knows numbers and nothing else. One Solve at a time per Workspace; different
// workspaces may be used from different goroutines.
package solver
