// Package seed turns what a user annotated on a picture into what its superpixels
// are: objects begin, are replaced, or are corrected.
//
// In go an annotation, the picture, and what its superpixels are taken for without it
// (package propagation); out come Marks: labels that are fixed and bounds that objects keep
// to, and the belief and the first labels, changed. Strokes grow to what resembles them.
// In a box a mask head judges superpixels, or where the model has none a perceptron in the binary by how they relate to
// what is in the box and around it, and the pixels are cut by that and by colours as in GrabCut (Rother,
// Kolmogorov and Blake, 2004). A correction spreads to what is like it and was taken for the same.
package seed
