// Package layout follows objects as wholes, in the pictures of a camera that stands still:
// what an object looks like from top to bottom, where it is and how it moves, what the
// places of the picture look like without it, and which other objects are there.
//
// An [Object] is a template tracker: a box of some 128 cells, each with its colour when the
// object was annotated, its colour lately, and how likely the object is there at all. It is
// looked for round where its motion leads, at the place where most of it is explained by its
// own colours, against the background's at that place (as in background subtraction: Stauffer
// and Grimson, CVPR 1999) and the layouts of the other objects.
//
// Where no such place explains enough, the object is hidden. A template that learns follows
// whatever it lies on, so what is found is held against the object's appearance as well:
// histograms of its colours in stripes from top to bottom, when it was marked, and since, as
// long as nothing was so near that it could have been taken for that. What no longer looks
// like the object is not it.
//
// A hidden object is looked for wherever something comes before the background, and is back
// where it matches and looks like itself in a few pictures in a row: the more so the longer it
// was hidden, and most of all if it had left the picture, for what comes in there next is
// somebody else as a rule.
//
// In go scenes and, once each is labelled, what is seen of the objects; out come where they
// are found and how likely each superpixel is to show them. Lengths are in cells of a grid
// over the picture, 384 along its longer side, colours in CIELAB. While the camera moves
// nothing of all this is known: [Follower.Still] says so.
package layout
