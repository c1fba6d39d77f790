// Package window estimates a linear classifier and the labels of a window of frames
// together, and labels the newest frame by it.
//
// In go frames, each a picture with what its superpixels are taken for (package belief)
// and what annotations say of them (package seed), the newest last; out come their labels
// and the classifier, which stays for the next window. The problem is that of package
// solver: DC-ADMM with a hinge loss, the kernel XXᵀ + γI, unary energies 1 − q, and a
// Potts term within each frame. Each window starts at the last one's classifier and
// is drawn to it (see solver.State), and each frame carries its labels along. The newest frame is then cut once more, with
// the classifier speaking as loudly as the affinity is unsure.
package window
