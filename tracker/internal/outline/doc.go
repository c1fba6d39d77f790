// Package outline draws objects' masks: the pixels along the outlines of labelled
// superpixels are labelled by their own colours and the classifier's scores.
//
// In go a picture, its superpixels' labels and the classifier, and what a user marked;
// out come masks of Height×Width pixels. The pixels of a band along the outlines are cut as in
// GrabCut (Rother, Kolmogorov and Blake, 2004), with the superpixels around as the
// models of their labels' colours. A pixel is scored by the features that the network's maps
// have at its place, interpolated: they tell more places apart than superpixels, some of which
// lie on both sides of an outline. A linear score of interpolated features is the interpolated
// score, so it is that of the map's cells, of which the band covers few. It is compared with the
// scores of the superpixels around. What it is worth is in docs/model.md. Where a mask head (package features) has log odds for
// a label, a pixel's count as they are.
package outline
