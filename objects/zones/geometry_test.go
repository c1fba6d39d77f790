package zones

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/mask"
)

// star is a polygon that goes in and out.
var star = []Point{{0.5, 0.02}, {0.6, 0.4}, {0.97, 0.45}, {0.65, 0.6}, {0.8, 0.95}, {0.5, 0.7}, {0.2, 0.95}, {0.35, 0.6}, {0.03, 0.45}, {0.4, 0.4}}

// The filled polygon has the pixels whose centres it contains.
func TestFill(t *testing.T) {
	for name, p := range map[string][]Point{
		"star": star, "all": {{0, 0}, {1, 0}, {1, 1}, {0, 1}}, "below": yard.Polygon,
		"less than a pixel": {{0.5, 0.5}, {0.501, 0.5}, {0.5, 0.501}},
	} {
		const width, height = 67, 41
		got := Fill(p, width, height).Decode(nil)
		for i := range got {
			at := Point{(float64(i%width) + 0.5) / width, (float64(i/width) + 0.5) / height}
			if (got[i] != 0) != contains(p, at) {
				t.Errorf("%s: pixel %d, %d is %d", name, i%width, i/width, got[i])
			}
		}
	}
	if got := Fill([]Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}}, 9, 7).Area(); got != 63 {
		t.Errorf("all of the picture has %d pixels; want 63", got)
	}
}

// A way that bends crosses a long line as often as it changes sides, wherever it bends: on
// the line, too.
func TestCrossesAsOftenAsSidesChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := Point{-100, -60}, Point{100, 60}
	for range 1000 {
		from := Point{float64(rng.IntN(10)), float64(rng.IntN(6))}
		at, odd := from, false
		for range 20 {
			to := Point{float64(rng.IntN(10)), float64(rng.IntN(6))} // often on the line
			if crosses(a, b, at, to) {
				odd = !odd
			}
			at = to
		}
		if want := right(a, b, from) != right(a, b, at); odd != want {
			t.Fatalf("from %v to %v: crossed an odd number of times: %v; want %v", from, at, odd, want)
		}
	}
}

func TestDistance(t *testing.T) {
	a, b := Point{0.25, 0.5}, Point{0.75, 0.5}
	for _, tt := range []struct {
		p    Point
		want float64 // in 200×100
	}{{Point{0.5, 0.5}, 0}, {Point{0.5, 0.6}, 10}, {Point{0.25, 0.4}, 10}, {Point{0, 0.5}, 50}, {Point{0.9, 0.9}, 50}} {
		if got := distance(a, b, tt.p, 200, 100); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: %v; want %v", tt.p, got, tt.want)
		}
	}
}

func TestOfMask(t *testing.T) {
	const width, height = 40, 100
	draw := func(rects ...[4]int) mask.RLE { // left, top, right, bottom
		bits := make([]uint8, width*height)
		for _, r := range rects {
			for y := r[1]; y < r[3]; y++ {
				for x := r[0]; x < r[2]; x++ {
					bits[y*width+x] = 1
				}
			}
		}
		return mask.Encode(bits, width, height)
	}
	for _, tt := range []struct {
		name string
		m    mask.RLE
		x, y float64 // pixels
		tall float64
	}{
		{"a column", draw([4]int{10, 20, 11, 60}), 10.5, 59.5, 40},
		{"one pixel", draw([4]int{10, 20, 11, 21}), 10.5, 20.5, 1},
		{"the lowest two rows of forty", draw([4]int{10, 20, 30, 58}, [4]int{12, 58, 16, 59}, [4]int{12, 59, 14, 60}), (4*14 + 2*13) / 6., 59.5, 40},
		{"two legs", draw([4]int{10, 20, 20, 40}, [4]int{10, 40, 12, 60}, [4]int{18, 40, 20, 60}), 15, 59.5, 40},
		{"all of the picture, one run", draw([4]int{0, 0, width, height}), 20, 99.5, 100},
		{"columns from top to bottom", draw([4]int{10, 0, 14, height}), 12, 99.5, 100},
	} {
		o := OfMask(3, tt.m, false)
		if !o.Visible || o.ID != 3 || math.Abs(o.Foot[0]*width-tt.x) > 1e-9 || math.Abs(o.Foot[1]*height-tt.y) > 1e-9 || o.Height != tt.tall {
			t.Errorf("%s: %v, %v tall; want %v, %v and %v", tt.name, o.Foot, o.Height, tt.x, tt.y, tt.tall)
		}
	}
	if o := OfMask(3, draw(), true); o.Visible || !o.Lost {
		t.Errorf("an empty mask is %+v", o)
	}
	if o := OfMask(3, mask.RLE{}, false); o.Visible {
		t.Errorf("no mask is %+v", o)
	}
}

// An object that is seen has the foot of its extent, in the picture; one that is hidden is where it was seen last.
func TestWithExtent(t *testing.T) {
	const width, height = 40, 100
	bits := make([]uint8, width*height)
	bits[20*width+10] = 1
	seen := OfMask(3, mask.Encode(bits, width, height), false)
	for _, tt := range []struct {
		name   string
		extent image.Rectangle
		x, y   float64 // pixels
		tall   float64
	}{
		{"none", image.Rectangle{}, 10.5, 20.5, 1},
		{"legs behind a fence", image.Rect(6, 10, 16, 60), 11, 59.5, 50},
		{"legs below the picture", image.Rect(6, 80, 16, 130), 11, 99.5, 50},
		{"half of it beyond the left edge", image.Rect(-20, 10, 10, 60), 0.5, 59.5, 50},
		{"and beyond the right one", image.Rect(35, 10, 60, 60), 39.5, 59.5, 50},
	} {
		o := seen.WithExtent(tt.extent, width, height)
		if !o.Visible || o.ID != 3 || math.Abs(o.Foot[0]*width-tt.x) > 1e-9 || math.Abs(o.Foot[1]*height-tt.y) > 1e-9 || o.Height != tt.tall {
			t.Errorf("%s: %v, %v tall; want %v, %v and %v", tt.name, o.Foot, o.Height, tt.x, tt.y, tt.tall)
		}
	}
	for _, o := range []Object{hidden, lost} {
		if got := o.WithExtent(image.Rect(6, 10, 16, 60), width, height); got.Visible || got.Foot != o.Foot {
			t.Errorf("%+v with an extent is %+v", o, got)
		}
	}
}
