// Package baseline holds what DC-ADMM is compared with, on the same solver.Problem
// and by the same label solver:
//
//   - [Inductive]: the classifier of the labeled samples alone;
//   - [CoordinateDescent]: classifier and labels in turn, each to its optimum
//     (Lloyd's scheme for the paper's eq:onelevel_model);
//   - [KernelKMeans]: constrained kernel k-means, whose centroids take the place
//     of the classifier.
//
// It knows numbers and nothing else. A call uses its arguments alone, so calls
// with different ones may run side by side.
package baseline
