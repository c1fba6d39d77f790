// Package propagation says what the superpixels of a picture are, by the affinity alone:
// each looks up the most similar ones near by in earlier frames and inherits their
// labels as probabilities.
//
// In go a picture, References to earlier ones (the latest, and the annotated), and what
// is known of each object: its state (package trackstate) and where it may have come back
// (package recall). Out comes a Belief: N×L probabilities, rows summing to 1, and how far
// each superpixel's label is borne out by labels that can be trusted themselves.
//
// The votes are those of k nearest neighbours, weighted by exp((cosine − 1)/T), among
// superpixels within a radius. Votes of a latest frame count as far as what they are for
// has moved as its label has since, exp(−d²/2σ²): a label's motion is the median of the
// way to the likest superpixels. What resembles nothing seen before is background.
package propagation
