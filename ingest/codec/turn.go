package codec

//#include "scale.h"
import "C"

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// orientation makes a picture upright: it is mirrored first, left for right, if mirrored, and then
// turned clockwise by so many quarters of a circle, 0 to 3. The zero orientation changes nothing.
type orientation struct {
	mirrored bool
	quarters int
}

// turnOf is what a display matrix says, which files have for phones' videos, streams in an SEI
// message and, by FFmpeg, JPEGs for their EXIF orientation. An angle between two quarters is taken
// for the nearer one.
func turnOf(matrix []byte) orientation {
	m, err := astiav.NewDisplayMatrixFromBytes(matrix)
	if err != nil {
		return orientation{}
	}
	// x right and y down, a point moves to (a·x + c·y, b·x + d·y).
	a, b, c, d := float64(int32(m[0])), float64(int32(m[1])), float64(int32(m[3])), float64(int32(m[4]))
	var t orientation
	if a*d-b*c < 0 {
		t.mirrored = true
		a, b = -a, -b
	}
	t.quarters = int(math.Round(math.Atan2(b, a)/(math.Pi/2))) & 3
	return t
}

// sideways tells whether width and height change places.
func (t orientation) sideways() bool { return t.quarters%2 == 1 }

// pixelAspect is how many times as wide as high a pixel is by a sample aspect ratio: 1 if it says nothing, or
// would make a picture of that size narrower than MaxAspect.
func pixelAspect(r astiav.Rational, width, height int) float64 {
	if r.Num() <= 0 || r.Den() <= 0 {
		return 1
	}
	a := r.Float64()
	if shown := a * float64(width) / float64(height); shown > MaxAspect || shown < 1.0/MaxAspect {
		return 1
	}
	return a
}

// RotateBGR writes tight BGR24 of width×height, turned clockwise by so many quarters of a circle, to
// dst, which is as long and another.
func RotateBGR(dst, bgr []byte, width, height, quarters int) {
	if n := 3 * width * height; width < 1 || height < 1 || len(bgr) != n || len(dst) != n {
		panic(fmt.Sprintf("codec: turning %d bytes of %d×%d to %d", len(bgr), width, height, len(dst)))
	}
	C.segd_turn((*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(dst))), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(bgr))),
		C.ptrdiff_t(3*width), C.int(width), C.int(height), C.int(quarters&3), 0)
}

// tellsDots tells whether a JPEG's header has dots an inch or a centimetre, which FFmpeg takes for the aspect of its
// samples. They are about paper, and often two that have nothing to do with each other.
func tellsDots(jpeg []byte) bool {
	const units = 13 // after the markers of the image and its header, and JFIF's name and version: ITU-T T.871, 10.1
	return len(jpeg) > units && bytes.HasPrefix(jpeg, []byte("\xff\xd8\xff\xe0")) && string(jpeg[6:11]) == "JFIF\x00" && jpeg[units] != 0
}
