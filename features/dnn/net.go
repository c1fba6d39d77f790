package dnn

// #cgo pkg-config: opencv4
// #cgo CXXFLAGS: -std=c++11
// #include <stdlib.h>
// #include "net.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"gocv.io/x/gocv"
)

var threads sync.Once

// setThreads sets how many threads OpenCV uses in this process: once, since it makes its
// arena of threads anew, and whoever computes in the old one ends the process (OpenCV 4.6 with TBB).
func setThreads(n int) { threads.Do(func() { C.segd_set_threads(C.int(n)) }) }

// netPointer is the cv::dnn::Net inside a gocv.Net, whose only field it is; a test
// watches that this stays so.
func netPointer(net *gocv.Net) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(net)) }

// failure takes ownership of a message of the C++ side.
func failure(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return refuse("OpenCV", openCVWords(C.GoString(message)))
}

// openCVWords shortens OpenCV's "OpenCV(4.6.0) ./modules/dnn/src/x.cpp:1: error:
// (-215:Assertion failed) a == b in function 'f'\n" to what follows the last
// "error: ", as one exception may quote another, and puts it on one line.
func openCVWords(s string) string {
	if i := strings.LastIndex(s, " error: "); i >= 0 {
		s = s[i+len(" error: "):]
	}
	words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == ">" }) // how it marks further lines
	return strings.Join(words, " ")
}

// describe lists net's layers and their shapes for an input of 3×height×width.
func describe(net *gocv.Net, height, width int) ([]Layer, error) {
	var text *C.char
	if err := failure(C.segd_net_describe(netPointer(net), inputChannels, C.int(height), C.int(width), &text)); err != nil { //nolint:gocritic // what cgo makes of it
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
			n, err := strconv.Atoi(d)
			if err != nil {
				return nil, fmt.Errorf("layer %q has no output shape", l.Name)
			}
			l.Shape = append(l.Shape, n)
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// forwarder runs a net and keeps the outputs of some layers.
type forwarder struct {
	net     unsafe.Pointer
	names   []*C.char
	outputs *C.segd_outputs
	found   []found // by image
}

// found is where an output is. It is kept because what C sees must be on the heap.
type found struct {
	data *C.float
	dims [3]C.int
}

// newForwarder returns one for runs of so many images.
func newForwarder(net *gocv.Net, taps []tap, images int) *forwarder {
	f := &forwarder{net: netPointer(net), outputs: C.segd_outputs_new(), found: make([]found, images)}
	for _, t := range taps {
		f.names = append(f.names, C.CString(t.name))
	}
	return f
}

func (f *forwarder) close() {
	C.segd_outputs_free(f.outputs)
	for _, n := range f.names {
		C.free(unsafe.Pointer(n))
	}
	f.outputs, f.names = nil, nil
}

// run computes the taps of the first images of blob, which output then returns. Without
// taps it computes all of the net.
func (f *forwarder) run(blob *gocv.Mat) error {
	return failure(C.segd_net_forward(f.net, unsafe.Pointer(blob.Ptr()), C.int(len(f.found)), unsafe.SliceData(f.names), C.int(len(f.names)), f.outputs))
}

// What a tap may turn out not to be.
var (
	errNoMap = errors.New("it is not a stack of float32 planes")
	errShape = errors.New("it is neither images×channels×height×width nor images×rows×columns of float32")
)

// output returns output i of an image, in OpenCV's memory, and its dimensions after the first: the
// last is 0 if it has three. Outputs of several images may be asked for at once.
func (f *forwarder) output(i, image int) (data []float32, dims [3]int, err error) {
	at := &f.found[image]
	if err := failure(C.segd_outputs_get(f.outputs, C.int(i), C.int(image), C.int(len(f.found)), &at.data, &at.dims[0])); err != nil {
		return nil, dims, err
	}
	if at.data == nil {
		return nil, dims, errShape
	}
	n := 1
	for d, size := range at.dims {
		dims[d] = int(size)
		n *= max(1, dims[d])
	}
	return unsafe.Slice((*float32)(at.data), n), dims, nil
}
