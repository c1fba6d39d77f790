// Package scribbles makes masks of strokes on single pictures, as the interactive
// segmentation of the DC-ADMM paper does, with segd and with constrained k-means. It
// reads files and returns a report; printing is the caller's.
package scribbles
