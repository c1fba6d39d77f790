//go:build opencv

package dnn

// // Two modules by name: pkg-config's opencv4 and Debian's libopencv-dev have all of them, which link GDAL, Qt
// // and some two hundred other libraries.
// #cgo CXXFLAGS: -std=c++11 -I/usr/include/opencv4
// #cgo LDFLAGS: -lopencv_dnn -lopencv_core
// #include <stdlib.h>
// #include "net.h"
import "C"

import (
	"fmt"
	"image"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

var threads sync.Once

// setThreads sets how many threads OpenCV uses in this process: once, since it makes its
// arena of threads anew, and a goroutine that computes in the old one ends the process (OpenCV 4.6 with TBB).
func setThreads(n int) { threads.Do(func() { C.segd_set_threads(C.int(n)) }) }

func openCVVersion() string { return C.GoString(C.segd_opencv_version()) }

// OpenCV asks the library how it was built and what it finds.
func OpenCV() Build {
	text := C.segd_build_information()
	defer C.free(unsafe.Pointer(text))
	b := parseBuild(C.GoString(text))
	b.Version = openCVVersion()
	b.CUDADevices = cudaDevices()
	return b
}

// cudaDevices counts those that OpenCV can use, as Build.CUDADevices does.
func cudaDevices() int { return int(C.segd_cuda_devices()) }

// chars is where C reads b, during a call.
func chars(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

func boolean(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// failure takes ownership of a message of the C++ side.
func failure(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return refuse("OpenCV", openCVWords(C.GoString(message)))
}

// openCVNet is what OpenCV has made of a model for so many images.
type openCVNet struct {
	net     *C.segd_net
	names   []*C.char // of the taps
	outputs *C.segd_outputs
	// What C sees must be on the heap, so it is kept.
	shape [4]C.int // of the input
	found []found  // by image
}

// found is where an output is.
type found struct {
	data *C.float
	dims [3]C.int
}

// load hands the model's bytes to OpenCV, for runs of so many images.
func (s *source) load(taps []tap, images int) (*openCVNet, error) {
	var prototxt *C.char
	if s.format == formatCaffe {
		prototxt = chars(s.prototxt)
	}
	n := &openCVNet{outputs: C.segd_outputs_new(), found: make([]found, images)}
	for _, t := range taps {
		n.names = append(n.names, C.CString(t.name))
	}
	if err := failure(C.segd_net_read(prototxt, C.size_t(len(s.prototxt)), chars(s.data), C.size_t(len(s.data)), &n.net)); err != nil { //nolint:gocritic // what cgo makes of it
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *openCVNet) close() {
	C.segd_outputs_free(n.outputs)
	C.segd_net_free(n.net)
	for _, name := range n.names {
		C.free(unsafe.Pointer(name))
	}
}

// useCUDA has a card compute n, in half precision or in full.
func (n *openCVNet) useCUDA(fp16 bool) error {
	return failure(C.segd_net_use_cuda(n.net, boolean(fp16)))
}

// describe lists n's layers and their shapes for an input of 3×height×width.
func (n *openCVNet) describe(height, width int) ([]Layer, error) {
	var text *C.char
	if err := failure(C.segd_net_describe(n.net, inputChannels, C.int(height), C.int(width), &text)); err != nil { //nolint:gocritic // what cgo makes of it
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	var layers []Layer
	for line := range strings.Lines(C.GoString(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x1f")
		if len(f) != 4 {
			return nil, fmt.Errorf("a layer has a name with a control character: %q", line)
		}
		l := Layer{Name: f[0], Type: f[1], Output: f[3] == "1"}
		for d := range strings.SplitSeq(f[2], ",") {
			size, err := strconv.Atoi(d)
			if err != nil {
				return nil, fmt.Errorf("layer %q has no output shape", l.Name)
			}
			l.Shape = append(l.Shape, size)
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// run computes the taps of an input's images, which output then returns. Without taps it computes all
// of the net.
func (n *openCVNet) run(input []float32, size image.Point) error {
	n.shape = [...]C.int{C.int(len(n.found)), inputChannels, C.int(size.Y), C.int(size.X)}
	return failure(C.segd_net_forward(n.net, (*C.float)(unsafe.SliceData(input)), &n.shape[0], unsafe.SliceData(n.names), C.int(len(n.names)), n.outputs))
}

// output returns output i of an image, in OpenCV's memory, and its dimensions after the first: the
// last is 0 if it has three. Outputs of several images may be asked for at once.
func (n *openCVNet) output(i, image int) (data []float32, dims [3]int, err error) {
	at := &n.found[image]
	if err := failure(C.segd_outputs_get(n.outputs, C.int(i), C.int(image), C.int(len(n.found)), &at.data, &at.dims[0])); err != nil { //nolint:gocritic // cgo's own comparison
		return nil, dims, err
	}
	if at.data == nil {
		return nil, dims, errShape
	}
	total := 1
	for d, size := range at.dims {
		dims[d] = int(size)
		total *= max(1, dims[d])
	}
	return unsafe.Slice((*float32)(at.data), total), dims, nil
}
