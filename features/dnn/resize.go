package dnn

// #cgo CFLAGS: -O3
// #include "resize.h"
import "C"

import (
	"image"
	"math"
	"unsafe"

	"github.com/segd/segd/internal/buffers"
)

// scaler is what scaling an image takes.
type scaler struct {
	x, y axis
	line []float32
}

// idleScalers scale nothing at the moment.
var idleScalers buffers.Stock[*scaler]

// resize scales a part of a BGR24 image, of stride bytes a row, to size, into dst, which has as many bytes. Where no side grows,
// each pixel is the mean of the area that it covers, else bilinear.
func resize(dst, bgr []byte, stride int, from, size image.Point) {
	s, ok := idleScalers.Take()
	if !ok {
		s = new(scaler)
	}
	defer idleScalers.Put(s)
	areas := size.X <= from.X && size.Y <= from.Y
	s.x.set(from.X, size.X, areas)
	s.y.set(from.Y, size.Y, areas)
	s.line = grown(s.line, 3*from.X+1)
	x, y := &s.x, &s.y
	C.segd_resize((*C.uint8_t)(unsafe.SliceData(dst)), (*C.uint8_t)(unsafe.SliceData(bgr)), C.long(stride), C.int(from.X),
		C.int(size.X), C.int(x.count), (*C.int32_t)(unsafe.SliceData(x.first)), (*C.float)(unsafe.SliceData(x.weights)),
		C.int(size.Y), C.int(y.count), (*C.int32_t)(unsafe.SliceData(y.first)), (*C.float)(unsafe.SliceData(y.weights)), (*C.float)(unsafe.SliceData(s.line)))
}

// axis is what each place along an axis of a scaled image is made of: of so many of the image's, from first on.
type axis struct {
	count   int
	first   []int32
	weights []float32 // count for each place
}

// set makes a that of an axis of from pixels scaled to so many.
func (a *axis) set(from, to int, areas bool) {
	step := float64(from) / float64(to)
	a.count = 2
	if areas {
		a.count = int(math.Ceil(step)) + 1
	}
	a.count = min(a.count, from)
	a.first, a.weights = a.first[:0], grown(a.weights, to*a.count)
	for i := range to {
		begin, end := float64(i)*step, float64(i+1)*step
		if !areas { // a pixel's width round the middle
			middle := min(max((begin+end)/2, 0.5), float64(from)-0.5)
			begin, end = middle-0.5, middle+0.5
		}
		first := min(int(begin), from-a.count)
		a.first = append(a.first, int32(first))
		for k, w := 0, a.weights[i*a.count:][:a.count]; k < len(w); k++ {
			at := float64(first + k)
			w[k] = float32(max(0, min(end, at+1)-max(begin, at)) / (end - begin))
		}
	}
}
