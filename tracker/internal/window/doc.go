// Package window estimates a linear classifier and the labels of a window of frames
// together, and labels the newest frame by it.
//
// In go frames, each a picture with what its superpixels are taken for (package propagation)
// and what annotations say of them (package seed), the newest last; out come their labels
// and the classifier, which the next window starts from.
//
// # One problem an object
//
// Each object is estimated for itself, against all else. What is estimated of it are the superpixels that may be it, those within reach
// of the affinity, in all frames. An edge to a superpixel that is none of these costs the object its weight. So the work grows with what is
// near objects, and not with the picture times the objects. A superpixel that two objects want is the likelier one's, by the affinity.
// Objects that compete for superpixels as the labels of one problem have no better masks, and cost their number squared
// (docs/log/quality.md).
//
// # The objective
//
// Over the N superpixels of an object in all frames, with rows x of d features and a constant, labels
// y, 1 for the object and 0 for all else, and a classifier W = W₀ + M⁻¹Xᵀα, where W₀ is the one the last window left:
//
//	min over y, α of
//	  Σ_i ω_i ℓ(y_i; x_iᵀW₀ + K_i α)      one-vs-all hinge, K = XM⁻¹Xᵀ + γI (the paper's, but for W₀ and M)
//	  + ν⟨α, Kα⟩                          the paper's regulariser: of W − W₀, not of W
//	  + Σ_i ω_i (1 − q_{i,y_i})           what the affinity says (ours: the paper has no time)
//	  + Σ_e w_e [y_i ≠ y_j]               contrast-sensitive Potts within a frame (the paper's E)
//	  + ∞ where an annotation rules a label out
//
// The weights ω, of mean 1 over all superpixels and labels of the frames, balance labels that are rare among those published, count
// annotated frames more, and what the affinity cannot place less, or small objects die of their ambiguous rims. Each object keeps its
// row of W and one of what is around it.
//
// The metric M = (XᵀX + εI)/τ makes the regulariser ν/τ‖X(W − W₀)‖², but for ε: the classifier stays what it says of the
// window's superpixels. K's eigenvalues are then between γ and γ + τ whatever the picture shows, and with over-relaxation near 2
// DC-ADMM (package solver) converges in about 3 iterations; with M = I it takes hundreds, and the five that there was time
// for gave a mean J no higher (docs/log/quality.md). δ > 0 settles the labels: a labelling is refused that gains less than what
// the affinity says of one superpixel that it is sure of. A frame that defines an object has M = I and neither.
//
// Regularising W − W₀ is a proximal step, as in implicit online learning (Kulis and Bartlett, ICML 2010); shrinking W₀ as well
// costs .01 of mean J. Rows that leave stay in W through W₀.
//
// # The start
//
// DC-ADMM starts from what the last window ended with: labels y, and of each row that stays λ, to the bit, and α = −λ/2ν. At a
// solution −λ is a subgradient of the row's loss, which changes little from a window to the next. A row that came has the λ that is
// optimal where the classifier is W₀ and the label is the affinity's: with s = XW₀ and ρ = 2ν/γ, λ = ρ(s − prox(s)). Scores are
// XW₀ + Kα, so the start is consistent (package solver), and with ρ ≥ 2ν/γ the Lagrangian cannot rise, from the first iteration on,
// whatever rows and weights have come and gone since. W₀, K, ω and unaries do not depend on the start: it shortens the way to the
// solution and does not change the problem.
//
// Moving W₀ back, so that W is at the start what the last window left, is another problem: it ties the classifier to what it was six
// frames ago instead of one, and costs .013 of mean J (docs/log/quality.md).
//
// All rows are new where the object was in no superpixel's reach in the last window, and after a frame that defines an object or a
// restart. A frame that defines an object itself starts from nothing, α = λ = 0 and W₀ = 0: with M = I the rule's α is so far from the
// solution there that 200 iterations do not reach it.
//
// # The last cut
//
// The newest frame's published labels are not the objective's y but those of one more cut,
// in which the classifier speaks as loudly as the affinity is unsure:
//
//	min over y of Σ_i (1 − q_{i,y_i}) + u_i/2·ℓ(y_i; x_iᵀW) + Σ_e w_e [y_i ≠ y_j]
//
// with u_i = 1 − (largest − second largest q_i), scores bounded to ±2. In the objective it
// is the other way round, because what is ambiguous should not teach. That cannot be one
// energy with one ω: the objective's y as masks, mean J is .018 lower, and with its terms
// rescaled to these proportions still .005 to .06 lower (docs/quality.md).
package window
