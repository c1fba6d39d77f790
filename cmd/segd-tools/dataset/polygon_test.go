package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/mask"
)

// filled are the pixels whose centres are inside a polygon.
func filled(outline []annotation.Point, width, height int) mask.RLE {
	bits := make([]uint8, width*height)
	a := annotation.Annotation{Width: width, Height: height, Objects: []annotation.Object{{ID: 1, Polygon: outline}}}
	a.Inside(0, func(p int) { bits[p] = 1 })
	return mask.Encode(bits, width, height)
}

// Blobs with holes, parts apart and parts that touch by a corner come back from their polygon, by the centres of pixels; and
// its points, cut to whole numbers as OpenCV takes them, are pixels of the mask, but where parts touch by a corner.
func TestPolygon(t *testing.T) {
	const width, height = 90, 70
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		bits := make([]uint8, width*height)
		for range 1 + rng.IntN(4) {
			cx, cy, rx, ry, value := rng.IntN(width), rng.IntN(height), 4+rng.IntN(20), 4+rng.IntN(20), uint8(1)
			for y := range height {
				for x := range width {
					dx, dy := float64(x-cx)/float64(rx), float64(y-cy)/float64(ry)
					if d := dx*dx + dy*dy; d <= 1 {
						bits[y*width+x] = value
						if d < .1 {
							bits[y*width+x] = 0
						}
					}
				}
			}
		}
		for range rng.IntN(3) { // specks
			bits[rng.IntN(len(bits))] ^= 1
		}
		m := mask.Encode(bits, width, height)
		if m.Area() == 0 {
			continue
		}
		outline := polygon(m)
		if got := mask.IoU(filled(outline, width, height), m); got < .97 {
			t.Errorf("a mask of %d pixels at %v comes back with an IoU of %.3f", m.Area(), m.Box(), got)
		}
		for _, p := range outline {
			x, y := int(math.Round(p[0])), int(math.Round(p[1]))
			apart := x > 0 && y > 0 && x < width && y < height && bits[y*width+x] == bits[(y-1)*width+x-1] && bits[(y-1)*width+x] == bits[y*width+x-1]
			if bits[int(p[1])*width+int(p[0])] == 0 && !apart {
				t.Fatalf("(%g, %g) is in a pixel outside of the mask", p[0], p[1])
			}
		}
	}
}

// An object that is all specks has them all, though the lines between are longer than each is large.
func TestPolygonOfSpecks(t *testing.T) {
	const width, height = 60, 20
	bits := make([]uint8, width*height)
	for left := 5; left < 50; left += 15 {
		for y := 8; y < 11; y++ {
			for x := left; x < left+3; x++ {
				bits[y*width+x] = 1
			}
		}
	}
	specks := mask.Encode(bits, width, height)
	if got := filled(polygon(specks), width, height); mask.IoU(got, specks) != 1 {
		t.Errorf("it has %d pixels; want all %d", got.Area(), specks.Area())
	}
}

// A hole and a part are joined; a speck far away is not, since the way to it has more pixels.
func TestPolygonJoins(t *testing.T) {
	const width, height = 60, 30
	bits := make([]uint8, width*height)
	fill := func(left, top, right, bottom int, value uint8) {
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				bits[y*width+x] = value
			}
		}
	}
	fill(2, 2, 22, 22, 1)
	fill(8, 8, 14, 14, 0)
	fill(26, 4, 36, 14, 1)
	without := mask.Encode(bits, width, height)
	fill(58, 28, 59, 29, 1)
	if got := filled(polygon(mask.Encode(bits, width, height)), width, height); mask.IoU(got, without) != 1 {
		t.Errorf("it has %d pixels; want the %d of all but the speck", got.Area(), without.Area())
	}
}
