// Package zones tells when objects enter, leave and stay in parts of a camera's picture, and
// when they cross lines in it.
//
// In go a Layout, polygons and lines as fractions of the picture's width and height, and then
// each frame's objects, as masks or boxes; out come events, and how many there were so far.
//
// An object is where its foot is: of a mask the middle of its lowest rows (OfMask), of a box
// the middle of its bottom edge (OfBox), and so of a mask whose object's full extent is known,
// though part of it is hidden (Object.WithExtent). A zone may look at the share of the mask's
// pixels in it instead.
//
// A mask flickers, and a foot trembles. So what is new has to last for Settle before it counts,
// and an object has to be beyond a margin, a tenth of its height, to have left a zone or to be
// on the other side of a line. Within the margin it is where it was. What is hidden is where it
// was seen last, and its way from there to where it is seen again is taken to be straight; what
// is lost has left its zones, but not its side of a line.
//
// All times are stream times. A Watcher is for one goroutine at a time; the rest are values.
// The package imports mask and the standard library only.
package zones
