//go:build !opencv

package dnn

import "image"

// WithOpenCV says that this program was built with OpenCV: by the build tag opencv.
const WithOpenCV = false

// OpenCV asks the library how it was built and what it finds.
func OpenCV() Build { return Build{} }

func cudaDevices() int { return 0 }

func openCVVersion() string { return "" }

func setThreads(int) {}

func newOpenCV(*source, string, bool, []tap) (engine, error) { return nil, errWithoutOpenCV }

// layers lists the layers of the model and their shapes for an input size.
func (r *runner) layers(size image.Point) ([]Layer, error) { return r.onnxLayers(size) }
