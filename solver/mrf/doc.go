// Package mrf labels sparse graphs by minimising Potts energies
//
//	E(y) = Σ_i u[i*L+y_i] + Σ_e w_e [y_i ≠ y_j],   w_e ≥ 0
//
// over y in {0..L-1}ⁿ: the discrete update of DC-ADMM (the paper's
// eq:subproblem_mrf) on superpixel graphs with spatial and temporal edges.
//
// In go unaries u (n×L row-major float64, +Inf forbids a label) and a warm
// start y; out comes y, never with a higher energy than the one that came in.
// Two labels are solved exactly by a minimum cut ([Cut]).
//
// With more labels, nodes are first decided that have the same label in every
// best labeling, by cuts of one label against all others (Kovtun 2003): one of
// the whole graph for the commonest label, then small ones where another label
// may be. What stays open, which is little unless the unaries are very noisy, is
// labelled by α-expansion (Boykov, Veksler, Zabih 2001; within twice the minimum
// for Potts). So a label costs about what the nodes cost that have it.
//
// # The cut
//
// Cut grows two search trees from the terminals, augments where they meet and
// lets orphaned subtrees be adopted (Boykov & Kolmogorov 2004). Flow and trees
// stay when terminal capacities change between calls: the difference goes into
// the terminal residuals, and only the nodes whose residual changed sign are
// repaired (Kohli & Torr 2007). It is written from those papers. Potts keeps the
// cut of the whole graph from call to call (as Alahari, Kohli & Torr 2008 do with
// those of α-expansion).
//
// Graphs that no edge joins, such as the frames of a window, are better kept apart: see
// [Disjoint]. Two labels on the pixels of a picture, once, are better cut without lists of
// edges: see [Grid].
//
// # Numbers
//
// Capacities are float64, but every one is rounded once to a multiple of a
// quantum q, a power of two chosen at Reset so that nothing that can occur
// exceeds 2⁵³q. All sums and differences inside the flow are then exact: there
// is no epsilon, residuals cannot drift, each augmentation carries at least q,
// so the search ends. A terminal capacity beyond what the node's edges could
// carry away decides the node whatever its size, so it is clamped to one
// quantum above that sum; forbidden labels are that clamp, and neither they nor
// huge unaries cost the other nodes precision. q is at most 2⁻⁴⁹ of the largest
// weight times the largest number of edges at a node, and a labeling of two
// labels is within (nodes+edges)·q of the minimum.
//
// Because the arithmetic is exact, the set of nodes reachable from the source
// is the same for every maximum flow. Hence a warm solve gives the very labels
// of a cold one, and ties always go to label 0; after that the labeling handed
// in is kept if the new one's energy is not strictly lower.
//
// # Goroutines
//
// Cut, Grid and Potts are workspaces with one owner: no method may run beside another
// on the same value. Distinct values are independent. Once grown to the
// largest graph they allocate nothing.
package mrf
