// Package annotation holds what a person marked on one frame of a camera: strokes,
// outlines and boxes of objects and strokes on the background, or a mask.
//
// In go JSON, a PNG ([Parse], [ParseFor]) or a mask in memory ([FromMask]); out come an
// [Annotation] without faults and its marks, one a pixel ([Annotation.Raster]).
// Positions are in pixels, x to the right and y down, the centre of the top-left
// pixel at (0.5, 0.5).
//
// One that is kept in a file carries the picture it was made on ([Annotation.Picture]).
//
// Limits, beyond which an annotation is refused:
//
//   - 16 MiB of JSON or PNG; 16384 pixels a side, 67108864 in all.
//   - 10000 objects and strokes and 400000 numbers and other values of JSON.
//   - 255 objects, each once. Ids are 1…255, so that one fits a mask PNG's pixel; larger ones are of
//     objects that a detector found.
//   - Labels of [MaxLabel] printable characters.
//   - 10000 points a stroke or polygon, 3 at least a polygon; all within the picture.
//   - Brushes as wide as the picture's longer side; boxes of a pixel a side at least.
//   - Strokes and outlines that together sweep 64 times the picture's area, where what
//     a box holds counts 8 times.
//
// Everything found wrong is a [Fault] of a field and wraps [ErrInvalid].
//
// An Annotation may be read by several goroutines at once.
package annotation
