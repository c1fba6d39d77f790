package mask

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// encodeOracle is rleEncode of the COCO API's maskApi.c, pixel by pixel.
func encodeOracle(bits []uint8, width, height int) []uint32 {
	var counts []uint32
	var value bool
	var n uint32
	for x := range width {
		for y := range height {
			if (bits[y*width+x] != 0) != value {
				counts = append(counts, n)
				n, value = 0, !value
			}
			n++
		}
	}
	return append(counts, n)
}

func areaOracle(bits []uint8) int {
	n := 0
	for _, b := range bits {
		if b != 0 {
			n++
		}
	}
	return n
}

func boxOracle(bits []uint8, width int) image.Rectangle {
	var box image.Rectangle
	for i, b := range bits {
		if b != 0 {
			x, y := i%width, i/width
			box = box.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	return box
}

func iouOracle(a, b []uint8) float64 {
	both, either := 0, 0
	for i := range a {
		if a[i] != 0 && b[i] != 0 {
			both++
		}
		if a[i] != 0 || b[i] != 0 {
			either++
		}
	}
	if either == 0 {
		return 1
	}
	return float64(both) / float64(either)
}

// pictures are bitmaps of every kind of edge: sizes about the eight-pixel step
// and the stack's column limit, noise, full, empty, blobs.
func pictures() map[string]picture {
	rng := rand.New(rand.NewPCG(1, 2))
	ps := map[string]picture{}
	for _, size := range []image.Point{{1, 1}, {1, 9}, {9, 1}, {7, 5}, {8, 8}, {16, 3}, {17, 13}, {64, 48}, {stackColumns, 2}, {stackColumns + 1, 3}} {
		for _, density := range []float64{0, 0.02, 0.5, 0.98, 1} {
			p := newPicture(size.X, size.Y)
			for i := range p.bits {
				if rng.Float64() < density {
					p.bits[i] = uint8(1 + rng.IntN(255))
				}
			}
			ps[fmt.Sprintf("%dx%d noise %v", size.X, size.Y, density)] = p
		}
		p := newPicture(size.X, size.Y)
		p.ellipse(float64(size.X)/3, float64(size.Y)/2, float64(size.X)/4, float64(size.Y)/3)
		ps[fmt.Sprintf("%dx%d ellipse", size.X, size.Y)] = p
	}
	return ps
}

type picture struct {
	bits          []uint8
	width, height int
}

func newPicture(width, height int) picture {
	return picture{make([]uint8, width*height), width, height}
}

func (p picture) rect(r image.Rectangle) picture {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			p.bits[y*p.width+x] = 1
		}
	}
	return p
}

func (p picture) ellipse(cx, cy, rx, ry float64) picture {
	for y := range p.height {
		for x := range p.width {
			if dx, dy := (float64(x)-cx)/rx, (float64(y)-cy)/ry; dx*dx+dy*dy <= 1 {
				p.bits[y*p.width+x] = 1
			}
		}
	}
	return p
}

func (p picture) encode() RLE { return Encode(p.bits, p.width, p.height) }

func TestAgainstOracles(t *testing.T) {
	for name, p := range pictures() {
		t.Run(name, func(t *testing.T) {
			r := p.encode()
			if diff := cmp.Diff(encodeOracle(p.bits, p.width, p.height), r.Counts); diff != "" {
				t.Errorf("Counts (-oracle +Encode):\n%s", diff)
			}
			if got, want := r.Area(), areaOracle(p.bits); got != want {
				t.Errorf("Area() = %d, want %d", got, want)
			}
			if got, want := r.Box(), boxOracle(p.bits, p.width); got != want {
				t.Errorf("Box() = %v, want %v", got, want)
			}
			decoded := r.Decode([]uint8{7, 7, 7})
			for i, b := range p.bits {
				if want := min(b, 1); decoded[i] != want {
					t.Fatalf("Decode: pixel %d is %d, want %d", i, decoded[i], want)
				}
			}
			back, err := Parse(r.String(), p.width, p.height)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, back); diff != "" {
				t.Errorf("Parse(String()) (-want +got):\n%s", diff)
			}
		})
	}
}

// What a box is given for, from tight to wider than the picture, changes nothing.
func TestEncodeIn(t *testing.T) {
	for name, p := range pictures() {
		box := p.encode().Box()
		for _, more := range []int{0, 1, 5, 1000} {
			in := box
			if more > 0 {
				in = box.Inset(-more)
			}
			if got, want := EncodeIn(p.bits, p.width, p.height, in), p.encode(); !cmp.Equal(got, want) {
				t.Errorf("%s within %v: %v; want %v", name, in, got.Counts, want.Counts)
			}
		}
	}
	// No more than the box is read.
	p := newPicture(40, 30).rect(image.Rect(3, 4, 9, 30))
	want := p.encode()
	for x := 20; x < 40; x++ {
		p.bits[7*40+x] = 1
	}
	if got := EncodeIn(p.bits, 40, 30, image.Rect(3, 4, 9, 30)); !cmp.Equal(got, want) {
		t.Errorf("with pixels outside: %v; want %v", got.Counts, want.Counts)
	}
}

func TestIoUAgainstOracle(t *testing.T) {
	var same []picture
	for _, p := range pictures() {
		if p.width == 17 {
			same = append(same, p)
		}
	}
	same = append(same, newPicture(17, 13))
	for _, a := range same {
		for _, b := range same {
			if got, want := IoU(a.encode(), b.encode()), iouOracle(a.bits, b.bits); got != want {
				t.Errorf("IoU = %v, want %v", got, want)
			}
			both := make([]uint8, len(a.bits))
			for i := range both {
				both[i] = min(a.bits[i], b.bits[i]) // 0 unless it is in both
			}
			if got, want := Overlap(a.encode(), b.encode()), areaOracle(both); got != want {
				t.Errorf("Overlap = %v, want %v", got, want)
			}
		}
		if got, want := IoU(RLE{}, a.encode()), iouOracle(make([]uint8, 17*13), a.bits); got != want {
			t.Errorf("IoU with the zero RLE = %v, want %v", got, want)
		}
	}
	if got := IoU(RLE{}, RLE{}); got != 1 {
		t.Errorf("IoU of two zero RLEs = %v, want 1", got)
	}
}

// lcg is the noise of the golden vector of that name.
func lcg(width, height int) picture {
	p := newPicture(width, height)
	s := uint32(1)
	for i := range p.bits {
		s = s*1664525 + 1013904223
		if s>>24 < 90 {
			p.bits[i] = 1
		}
	}
	return p
}

// The strings, areas and boxes are what pycocotools 2.0.11 returns from encode,
// area and toBbox for the same pictures.
func TestGoldenPycocotools(t *testing.T) {
	tests := []struct {
		name   string
		p      picture
		counts string
		area   int
		box    image.Rectangle
	}{
		{"empty", newPicture(4, 3), "<", 0, image.Rectangle{}},
		{"full", newPicture(4, 3).rect(image.Rect(0, 0, 4, 3)), "0<", 12, image.Rect(0, 0, 4, 3)},
		{"one pixel", newPicture(4, 3).rect(image.Rect(2, 1, 3, 2)), "714", 1, image.Rect(2, 1, 3, 2)},
		{"corners", newPicture(3, 3).rect(image.Rect(0, 0, 1, 1)).rect(image.Rect(2, 2, 3, 3)), "0170", 2, image.Rect(0, 0, 3, 3)},
		{"run over a column's end", picture{[]uint8{0, 1, 1, 1, 0, 1}, 3, 2}, "1210", 4, image.Rect(0, 0, 3, 2)},
		{"rectangle in 768x576", newPicture(768, 576).rect(image.Rect(300, 200, 341, 301)),
			"XnX5U3k>0000000000000000000000000000000000000000000000000000000000000000000000000000000ho_7",
			4141, image.Rect(300, 200, 341, 301)},
		{"ellipse", newPicture(64, 48).ellipse(30, 20, 25, 50./3),
			"T81[18J4M2M4M2O0O2N2O0O2O0O2O000O2O000O2O0000000000000000000000000001N10001N10001N101N101N2N101N3L3N3L6H`;",
			1307, image.Rect(5, 4, 56, 37)},
		{"noise", lcg(17, 13),
			"021O1000O060K0O030M0014OO0O1N00O011O00O034OLN011OO30M071I02O1000O01000N00002`00AN021O22LMO15OM1NO10O2",
			76, image.Rect(0, 0, 17, 13)},
		{"column of 80000", newPicture(1, 80000).rect(image.Rect(0, 40000, 1, 80000)), "PRW1PRW1", 40000, image.Rect(0, 40000, 1, 80000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.p.encode()
			if got := r.String(); got != tt.counts {
				t.Errorf("String() = %q, want %q", got, tt.counts)
			}
			if r.Area() != tt.area || r.Box() != tt.box {
				t.Errorf("area %d box %v, want %d %v", r.Area(), r.Box(), tt.area, tt.box)
			}
			back, err := Parse(tt.counts, tt.p.width, tt.p.height)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, back); diff != "" {
				t.Errorf("Parse (-Encode +got):\n%s", diff)
			}
		})
	}
}

func TestGoldenPycocotoolsIoU(t *testing.T) {
	a := newPicture(768, 576).rect(image.Rect(300, 200, 341, 301)).encode()
	b := newPicture(768, 576).rect(image.Rect(320, 250, 441, 401)).encode()
	if got, want := IoU(a, b), 0.05018508973337707; math.Abs(got-want) > 1e-15 {
		t.Errorf("IoU = %v, want %v", got, want)
	}
}

// The empty mask is what an empty bitmap is encoded to, and is read again.
func TestEmpty(t *testing.T) {
	for _, size := range []image.Point{{0, 0}, {1, 1}, {7, 5}, {1920, 1080}} {
		m := Empty(size.X, size.Y)
		if want := Encode(make([]uint8, size.X*size.Y), size.X, size.Y); !cmp.Equal(m, want) {
			t.Errorf("%v: %v; want %v", size, m, want)
		}
		if got, err := Parse(m.String(), size.X, size.Y); err != nil || got.Area() != 0 {
			t.Errorf("%v: read as %v: %v", size, got, err)
		}
	}
}

func TestNoPixels(t *testing.T) {
	for _, size := range []image.Point{{0, 0}, {0, 5}, {5, 0}} {
		r := Encode(nil, size.X, size.Y)
		if got := r.String(); got != "0" {
			t.Errorf("%v: String() = %q, want %q as pycocotools has it", size, got, "0")
		}
		if r.Area() != 0 || !r.Box().Empty() || len(r.Decode(nil)) != 0 {
			t.Errorf("%v: area %d, box %v", size, r.Area(), r.Box())
		}
		if _, err := Parse(r.String(), size.X, size.Y); err != nil {
			t.Error(err)
		}
	}
}

func TestPanics(t *testing.T) {
	tests := map[string]func(){
		"Encode short":  func() { Encode(make([]uint8, 5), 2, 3) },
		"Encode sign":   func() { Encode(make([]uint8, 6), -2, -3) },
		"Decode short":  func() { RLE{2, 3, []uint32{5}}.Decode(nil) },
		"Decode beyond": func() { RLE{2, 3, []uint32{1, 6}}.Decode(nil) },
		"IoU sizes":     func() { IoU(RLE{2, 3, []uint32{6}}, RLE{3, 2, []uint32{6}}) },
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// The text of a mask is one piece of memory.
func TestStringAllocates(t *testing.T) {
	for _, runs := range []int{1, 3, 300, 5000} {
		counts := make([]uint32, runs)
		for i := range counts {
			counts[i] = uint32(i%7 + 1)
		}
		most := 1.0
		if runs == 5000 { // of more than the stack holds, a buffer besides
			most = 2
		}
		r, text := RLE{Counts: counts}, ""
		if n := testing.AllocsPerRun(100, func() { text = r.String() }); n > most {
			t.Errorf("%v allocations for %d runs (%d bytes); want %v", n, runs, len(text), most)
		}
	}
}

func TestAllocations(t *testing.T) {
	p := benchPicture()
	if n := testing.AllocsPerRun(10, func() { p.encode() }); n != 1 {
		t.Errorf("Encode allocates %v times, want 1, the runs", n)
	}
	r, dst := p.encode(), make([]uint8, len(p.bits))
	if n := testing.AllocsPerRun(10, func() { dst = r.Decode(dst) }); n != 0 {
		t.Errorf("Decode into a buffer allocates %v times, want 0", n)
	}
	other := newPicture(p.width, p.height).encode()
	if n := testing.AllocsPerRun(10, func() { IoU(r, other); r.Box(); r.Area() }); n != 0 {
		t.Errorf("IoU, Box and Area allocate %v times, want 0", n)
	}
}

// benchPicture has the demo camera's size and a person in it.
func benchPicture() picture { return newPicture(768, 576).ellipse(400, 300, 30, 80) }

func BenchmarkEncode(b *testing.B) {
	for _, size := range []image.Point{{768, 576}, {1920, 1080}} {
		small := newPicture(size.X, size.Y).ellipse(float64(size.X)/2, float64(size.Y)/2, 30, 80)
		large := newPicture(size.X, size.Y).ellipse(float64(size.X)/2, float64(size.Y)/2, float64(size.X)/2.1, float64(size.Y)/2.1)
		noise := newPicture(size.X, size.Y)
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range noise.bits {
			noise.bits[i] = uint8(rng.IntN(2))
		}
		for name, p := range map[string]picture{"person": small, "large": large, "noise": noise} {
			b.Run(fmt.Sprintf("%dx%d/%s", size.X, size.Y, name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(p.bits)))
				for b.Loop() {
					p.encode()
				}
			})
		}
		b.Run(fmt.Sprintf("%dx%d/person by column", size.X, size.Y), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(small.bits)))
			for b.Loop() {
				encodeOracle(small.bits, small.width, small.height)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	p := benchPicture()
	r, dst := p.encode(), []uint8(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(p.bits)))
	for b.Loop() {
		dst = r.Decode(dst)
	}
}

func BenchmarkString(b *testing.B) {
	r := benchPicture().encode()
	b.ReportAllocs()
	for b.Loop() {
		_ = r.String()
	}
}

func BenchmarkIoU(b *testing.B) {
	r := benchPicture().encode()
	other := newPicture(768, 576).ellipse(410, 310, 35, 85).encode()
	b.ReportAllocs()
	for b.Loop() {
		IoU(r, other)
	}
}
