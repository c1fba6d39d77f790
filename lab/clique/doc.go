// Package clique labels samples under bounds on how often a label may occur:
//
//	min Σ_i u[i·L+y_i]   subject to   Lo_C[l] ≤ #{i ∈ C: y_i = l} ≤ Hi_C[l]
//
// for every clique C and label l. It is the discrete update of DC-ADMM (the
// paper's eq:subproblem_mrf) where the only knowledge is such counts.
//
// In go unaries u (n×L row-major, +Inf forbids a label) and a labeling; out
// comes a labeling. Two solvers implement solver.Labeler:
//
//   - [Balance], one clique of all samples: a transportation problem, solved
//     exactly by successive shortest paths in the graph of the L labels.
//   - [Cliques], any number of overlapping ones: the linear programming
//     relaxation, solved by whatever the caller hands in as [LP], then rounded
//     as the paper does and repaired by moves and swaps.
//
// A labeling that breaks bounds has an Energy of [Penalty] per missing or
// surplus sample rather than +Inf: the Lagrangian stays a number and the descent
// condition still prefers any labeling that breaks less.
//
// Both are workspaces with one owner: no method may run beside another on the
// same value.
package clique
