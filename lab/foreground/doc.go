// Package foreground compares the masks of objects that a standing camera detects and follows with the true foreground, which is
// every pixel that differs from the empty scene. No object is marked by hand.
//
// The input is sequences in DAVIS' layout. The output is, for each sequence, the intersection over union of the union of all masks and
// the foreground, and the share of masks with a straight side, as a mask has that fills its box. One goroutine calls it.
package foreground
