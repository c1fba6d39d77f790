package restart

import (
	"testing"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// Of three runs, the two that follow the same person are believed.
func TestTypical(t *testing.T) {
	const width, height = 40, 10
	at := func(left int) *run {
		bits := make([]uint8, width*height)
		for y := range height {
			for x := range 10 {
				bits[y*width+left+x] = 1
			}
		}
		r := &run{}
		for k := range 3 {
			o := &segdv1.Object{Id: 1, Area: 100, Counts: mask.Encode(bits, width, height).String()}
			r.add(k, &segdv1.MaskFrame{Width: width, Height: height, Objects: []*segdv1.Object{o}})
		}
		return r
	}
	astray, one, two := at(20), at(0), at(1)
	if got := typical([]*run{astray, one, two}); got == astray {
		t.Error("the run is taken that agrees with no other")
	}
}
