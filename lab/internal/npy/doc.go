// Package npy reads NumPy's files of plain arrays of one or two dimensions.
package npy
