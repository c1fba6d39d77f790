// Package mask holds binary masks as COCO run lengths.
//
// In goes a row-major bitmap, one byte a pixel, or the compressed string that
// the wire carries; out come the runs, the bitmap, the area, the bounding box
// and the overlap of two masks. The string is the one pycocotools calls
// "counts", byte for byte, so that {"size": [height, width], "counts": s} is
// decoded by pycocotools.mask.decode.
//
// The runs follow common/maskApi.c of the COCO API: column-major, the first
// run counting background. Encode and Decode never walk the picture by column,
// though: a pixel that differs from the one above it starts a run, so eight
// pixels of two neighbouring rows are compared at a time.
//
// An RLE is a value and its methods read only; any goroutine may call them as
// long as none changes Counts. The package imports the standard library only.
package mask
