package web

import (
	"bytes"
	"fmt"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"testing"
)

// The planes must be what image/color makes of each pixel: luma exactly, chroma
// within rounding of the mean of the block's four values.
func TestToYCbCr(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {5, 3}, {16, 16}, {33, 18}} {
		width, height := size[0], size[1]
		bgr := make([]byte, 3*width*height)
		random := rand.New(rand.NewPCG(1, uint64(width)))
		for i := range bgr {
			bgr[i] = byte([]int{0, 255, random.IntN(256)}[random.IntN(3)])
		}
		var e encoder
		e.resize(width, height)
		toYCbCr(&e.planes, bgr)
		at := func(x, y int) (yy, cb, cr uint8) {
			p := bgr[3*(min(y, height-1)*width+min(x, width-1)):]
			return color.RGBToYCbCr(p[2], p[1], p[0])
		}
		for y := range height {
			for x := range width {
				if yy, _, _ := at(x, y); yy != e.planes.Y[e.planes.YOffset(x, y)] {
					t.Fatalf("%dx%d: luma at %d,%d is %d, want %d", width, height, x, y, e.planes.Y[e.planes.YOffset(x, y)], yy)
				}
				var sumB, sumR int
				for i := range 4 {
					_, cb, cr := at(x&^1+i%2, y&^1+i/2)
					sumB, sumR = sumB+int(cb), sumR+int(cr)
				}
				gotB, gotR := int(e.planes.Cb[e.planes.COffset(x, y)]), int(e.planes.Cr[e.planes.COffset(x, y)])
				if diff(4*gotB, sumB) > 6 || diff(4*gotR, sumR) > 6 {
					t.Fatalf("%dx%d: chroma at %d,%d is %d,%d, want about %.1f,%.1f", width, height, x, y, gotB, gotR, float64(sumB)/4, float64(sumR)/4)
				}
			}
		}
	}
}

func diff(a, b int) int { return max(a-b, b-a) }

// A picture must come back with its colours, BGR not RGB, at any size.
func TestEncode(t *testing.T) {
	e := encoder{quality: 90}
	for _, size := range [][2]int{{64, 48}, {17, 9}, {1, 1}, {64, 48}} {
		width, height := size[0], size[1]
		bgr := bytes.Repeat([]byte{200, 60, 20}, width*height)
		out, err := e.encode(bgr, width, height)
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		r, g, b, _ := img.At(width/2, height/2).RGBA()
		if img.Bounds().Dx() != width || img.Bounds().Dy() != height ||
			diff(int(r>>8), 20) > 4 || diff(int(g>>8), 60) > 4 || diff(int(b>>8), 200) > 4 {
			t.Errorf("%dx%d: came back as %v with %d,%d,%d, want 20,60,200", width, height, img.Bounds(), r>>8, g>>8, b>>8)
		}
	}
	if _, err := e.encode(make([]byte, 10), 2, 2); err == nil || !strings.Contains(err.Error(), "10 bytes for 2×2") {
		t.Errorf("error %v, want the sizes named", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range [][2]int{{768, 576}, {1920, 1080}} {
		width, height := size[0], size[1]
		bgr := make([]byte, 3*width*height)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range bgr { // a gradient with noise, about as hard as a real picture
			bgr[i] = byte(i/3%width/4 + i/3/width/4 + random.IntN(12))
		}
		b.Run(fmt.Sprintf("%dx%d", width, height), func(b *testing.B) {
			e := encoder{quality: DefaultJPEGQuality}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.encode(bgr, width, height); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(e.last)/1000, "kB")
		})
	}
}
