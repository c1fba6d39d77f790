package thumbnail

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/outputs/draw"
)

// frame has object 1 in a rectangle of a dark picture, where it is grey.
func frame(width, height int, in image.Rectangle, aspect float64) (*segdv1.MaskFrame, []byte) {
	bits, bgr := make([]uint8, width*height), make([]byte, 3*width*height)
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			bits[y*width+x] = 1
			copy(bgr[3*(y*width+x):], []byte{200, 200, 200})
		}
	}
	return &segdv1.MaskFrame{
		Width: int32(width), Height: int32(height), Sequence: 7, Epoch: 3, PixelAspect: aspect,
		Objects: []*segdv1.Object{{Id: 1, Counts: mask.Encode(bits, width, height).String()}},
	}, bgr
}

// The object is in its thumbnail with its mask, and what is round it without.
func TestMake(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     image.Rectangle
		aspect float64
		want   image.Point
		middle image.Point // of the object
	}{
		{"in the middle", image.Rect(100, 100, 140, 180), 1, image.Pt(80, 120), image.Pt(40, 60)},
		{"in a corner", image.Rect(0, 0, 40, 80), 0, image.Pt(60, 100), image.Pt(20, 40)},
		{"small", image.Rect(100, 100, 104, 104), 1, image.Pt(20, 20), image.Pt(10, 10)},
		{"large", image.Rect(10, 10, 590, 390), 1, image.Pt(320, 213), image.Pt(160, 106)},
		{"pixels twice as wide", image.Rect(100, 100, 140, 180), 2, image.Pt(160, 120), image.Pt(80, 60)},
		{"pixels half as wide", image.Rect(100, 100, 140, 180), 0.5, image.Pt(80, 240), image.Pt(40, 120)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, bgr := frame(600, 400, tt.in, tt.aspect)
			before := bytes.Clone(bgr)
			data, err := Make(m, bgr, 1, 90)
			require.NoError(t, err)
			if !bytes.Equal(bgr, before) {
				t.Error("it drew on the frame")
			}
			img, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil || img.Bounds().Size() != tt.want {
				t.Fatalf("%v, %v; want %v", img.Bounds(), err, tt.want)
			}
			c := draw.Colour(1)
			tinted := color.RGBA{c.R/2 + 100, c.G/2 + 100, c.B/2 + 100, 255}
			if got := img.At(tt.middle.X, tt.middle.Y); tt.name != "small" && far(got, tinted) {
				t.Errorf("the object is %v; want %v", got, tinted)
			}
			if got := img.At(tt.want.X-1, tt.want.Y-1); tt.name != "large" && far(got, color.RGBA{A: 255}) {
				t.Errorf("beside it is %v; want black", got)
			}
		})
	}
}

func far(a, b color.Color) bool {
	near := func(x, y uint32) bool { return max(x, y)-min(x, y) < 0x1000 }
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	return !near(ar, br) || !near(ag, bg) || !near(ab, bb)
}

func TestMakeRefuses(t *testing.T) {
	m, bgr := frame(60, 40, image.Rect(10, 10, 20, 20), 1)
	_, err := Make(m, bgr, 2, 90)
	assert.Error(t, err, "there is a picture of an object that there is none of")
	_, err = Make(m, bgr[1:], 1, 90)
	assert.Error(t, err, "there is one of a part of a frame")
	for _, counts := range []string{"", "7", mask.Empty(60, 40).String()} {
		m.Objects[0].Counts = counts
		_, err := Make(m, bgr, 1, 90)
		assert.Error(t, err, "there is one of the mask %q", counts)
	}
}

// So many are kept, and so many bytes; the oldest go.
func TestRing(t *testing.T) {
	var r Ring
	for i := range MaxKept + 2 {
		if removed := r.Add(fmt.Sprint(i), []byte{byte(i)}); (removed == 1) != (i >= MaxKept) {
			t.Fatalf("picture %d: %d removed", i, removed)
		}
	}
	if r.Get("1") != nil || !bytes.Equal(r.Get("2"), []byte{2}) {
		t.Errorf("1 is %v, 2 is %v; want the newest %d", r.Get("1"), r.Get("2"), MaxKept)
	}
	if removed := r.Add("large", make([]byte, MaxBytes-2)); removed != MaxKept-2 || r.Get("257") == nil || r.Get("255") != nil {
		t.Errorf("%d removed", removed)
	}
	if removed := r.Add("too large", make([]byte, MaxBytes+1)); removed != 4 || r.Get("too large") != nil {
		t.Errorf("%d removed", removed)
	}
}

// A person near the camera, and one who fills the picture.
func BenchmarkMake(b *testing.B) {
	for _, height := range []int{140, 560} {
		m, bgr := frame(768, 576, image.Rect(100, 10, 100+height/3, 10+height), 1)
		b.Run(fmt.Sprint(height), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Make(m, bgr, 1, 80); err != nil { // nothing else is measured
					b.Fatal(err)
				}
			}
		})
	}
}
