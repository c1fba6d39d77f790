package dnn

import (
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/coco"
)

// squeezed is what of every so many columns of an image is the last one.
func squeezed(bgr []byte, width, by int) []byte {
	var out []byte
	for at := 0; at < len(bgr); at += 3 * width {
		for x := by - 1; x < width; x += by {
			out = append(out, bgr[at+3*x:][:3]...)
		}
	}
	return out
}

// The model sees a squeezed picture as it is meant to be seen, all of it and parts: of the same size as the picture
// that was not squeezed, with what it finds at its place in the squeezed one. Without the aspect it finds what is narrow.
func TestPixelAspect(t *testing.T) {
	needONNXRuntime(t)
	const w, h, by = 256, 128, 2
	bgr := make([]byte, 3*w*h)
	paint(bgr, w, image.Rect(96, 48, 112, 64), 0, 0, 255) // of cells of 8 pixels, each alone
	narrow := squeezed(bgr, w, by)
	opt := raw
	opt.ShortSide, opt.Engine = h, EngineONNXRuntime
	m := mustOpen(t, headed(8, 8, 16, 32).write(t), opt)
	for _, part := range []image.Rectangle{{}, image.Rect(64, 32, 192, 96)} {
		cut := part
		cut.Min.X, cut.Max.X = part.Min.X/by, part.Max.X/by
		whole, err := m.Features(features.Sight{}, bgr, w, h, features.View{Rectangle: part})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Features(features.Sight{}, narrow, w/by, h, features.View{Rectangle: cut, PixelAspect: by})
		if err != nil {
			t.Fatal(err)
		}
		a, b := whole.Maps[0], got.Maps[0]
		if a.Width != b.Width || a.Height != b.Height || b.StrideX != a.StrideX/by || b.StrideY != a.StrideY || math.Abs(b.OffsetX+0.5-(a.OffsetX+0.5)/by) > 1e-9 {
			t.Errorf("%v: cells %+v, of the whole picture %+v", part, [6]float64{float64(b.Width), float64(b.Height), b.StrideX, b.StrideY, b.OffsetX, b.OffsetY}, [6]float64{float64(a.Width), float64(a.Height), a.StrideX, a.StrideY, a.OffsetX, a.OffsetY})
		}
		if len(whole.Found) == 0 || len(whole.Found) != len(got.Found) {
			t.Fatalf("%v: found %v, in the whole picture %v", part, got.Found, whole.Found)
		}
		boxes := func(found []features.Detection, by int) (all []string) {
			for _, f := range found {
				all = append(all, fmt.Sprint(f.Box.Min.X/by, f.Box.Min.Y, f.Box.Max.X/by, f.Box.Max.Y))
			}
			slices.Sort(all)
			return all
		}
		if want, got := boxes(whole.Found, by), boxes(got.Found, 1); !slices.Equal(want, got) {
			t.Errorf("%v: found %v, want %v", part, got, want)
		}
	}
	for _, bad := range []float64{-1, 257, math.NaN()} {
		if _, err := m.Features(features.Sight{}, narrow, w/by, h, features.View{PixelAspect: bad}); err == nil || !strings.Contains(err.Error(), "times as wide as high") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if info := m.Info(); !slices.Equal(info.Classes, coco.Names()) {
		t.Error(info.Classes)
	}
}

// A detector's input holds the picture as it is meant to be seen.
func TestDetectorPixelAspect(t *testing.T) {
	l := layout{size: image.Pt(640, 640)}
	for _, tt := range []struct {
		w, h   int
		aspect float64
		want   image.Point
	}{
		{240, 480, 8.0 / 3, image.Pt(640, 480)},
		{640, 480, 1, image.Pt(640, 480)},
		{480, 240, 3.0 / 8, image.Pt(480, 640)},
	} {
		if s := l.show(tt.w, tt.h, tt.aspect); s.size != tt.want {
			t.Errorf("%d×%d of %v: %v, want %v", tt.w, tt.h, tt.aspect, s.size, tt.want)
		}
	}
}
