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
// holds the scores Kα, λ and y, and α is read off. The loss may be of O + Kα instead,
// the scores O of a given classifier added (Problem.Offset); read so below.
//
// # Descent
//
// An iteration is judged at its own ρ: the augmented Lagrangian L_ρ after it
// against L_ρ, with the same ρ, of the iterate before it, so that ρ may change from
// one to the next. Before the first the iterate is the warm start with β = Kα,
// where L_ρ is the objective, whatever ρ. Then L_ρ cannot rise if
//
//   - the iterate before it is consistent: its scores are Kα of α = −λ/2ν, as every
//     iteration leaves them and a start with λ = 0 and scores O has them, but not
//     every start (see State);
//   - ρ·σ_min(K) ≥ 2ν, and the over-relaxation ϑ (Options.Relax) is below 2;
//   - the prox of the loss and the α-update are exact, up to rounding.
//
// Whatever the MRF solver does: labels that raise L_ρ are refused, and β minimises
// it, so the first two updates cannot raise it. For the others let Δ be a
// difference of the iterates after and before, and e = β − O − Kα with the α before.
// The α-update sees β moved on by (ϑ − 1)e, so (2νI + ρK)Δα = ρϑe as λ = −2να before
// and after. Both updates together change L_ρ by −ν⟨Δα, KΔα⟩ + ρ/2‖KΔα‖² +
// ⟨(2νI − ρK)Δα, e⟩. Along an eigenvector of K with eigenvalue σ, and with z = ρσ/ν,
// that is ν²/ρ·(4/ϑ − z + (1/2 − 1/ϑ)z²)‖Δα‖². At z = 2 it is 0 whatever ϑ, and with
// ϑ < 2 it falls from there on.
//
// Below that ρ the Lagrangian may rise, or fall: Iteration.Rose tells. From a start
// that is not consistent nothing bounds Δλ of the first iteration; those after it
// are as above.
//
// It knows numbers and nothing else. One Solve at a time per Workspace; different
// workspaces may be used from different goroutines.
package solver
