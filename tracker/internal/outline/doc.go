// Package outline draws objects' masks: the pixels along the outlines of labelled
// superpixels are labelled by their own colours.
//
// In go a picture and its superpixels' labels, and what somebody marked; out come
// masks of Height×Width pixels. The pixels of a band along the outlines are cut as in
// GrabCut (Rother, Kolmogorov and Blake, 2004), with the superpixels around as the
// models of their labels' colours.
package outline
