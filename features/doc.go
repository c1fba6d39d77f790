// Package features turns an image into a [Scene]: superpixels, what a feature
// model and the colours say about each, and which of them touch.
//
// In goes a BGR24 image, out comes a Scene. An [Extractor] does it; one
// serves one goroutine, and all share the memory that they work in; the feature maps come
// from a [Model], which features/dnn provides (nil: colour alone). A [Projection]
// fitted on one scene standardises the features of any later one and reduces
// them to their principal components.
//
// Superpixels are SNIC (Achanta and Süsstrunk, "Superpixels and Polygons using
// Simple Non-Iterative Clustering", CVPR 2017): regions grow from a grid of seeds,
// always by the pixel that is nearest to its region's running mean in CIELAB and
// position, so each is connected by construction and one pass is enough. The
// queue is ours: distances are quantised to a floating-point key with three bits of
// mantissa and kept in first-in-first-out buckets, so a pixel costs constant time.
// The labels are those of a binary heap with the same keys. A large image grows in tiles
// first, several at a time, each as if it were alone, but only by pixels that are near to their
// region; the rest, and what is beyond a tile's border, grows in one. That is the same
// whatever the number of cores. A [Region] that is to be finer
// gets a grid of seeds of its own; how they grow is the same everywhere.
//
// A Model may find things in what it is shown, too: a scene has what it finds in its parts, each thing once, and
// says where it looked.
//
// A scene need not show all of an image: a [Plan] says which parts, and how large. Each becomes a
// [Patch] with superpixels of its own, for which the model sees the part and a little round it. Of
// an image much larger than the model sees it, superpixels grow on a smaller one, but in parts
// that are to be seen larger. Some parts the model sees at half and at a quarter of their size, too, if the Plan says so.
//
// Features are pooled exactly as if each map were bilinearly interpolated at
// every pixel and averaged over the superpixel; since interpolation is linear the
// weights of the cells are summed first and every cell is read once.
//
// A model is shown an image with square pixels, whatever aspect the Plan says they have. Superpixels, boxes and all other
// places are in pixels of the image as it is.
//
// A model is shown an image in the light of an earlier one, if the Plan has that one's [Light]: where
// nothing has moved, levels that most of the image's blocks agree on are made what they were, by a gain and a
// gamma. Superpixels and colours are of the image as it is.
//
// Everything is deterministic: same image and plan, same bits.
package features
