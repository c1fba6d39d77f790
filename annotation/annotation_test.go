package annotation

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodJSON = `{"frame": 7, "width": 64, "height": 48,
 "objects": [{"id": 3, "label": "person", "scribbles": [{"width": 4, "points": [[10, 10], [20, 30]]}]}],
 "background": [{"width": 2, "points": [[60, 40]]}]}`

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, png.Encode(&buf, img))
	return buf.Bytes()
}

func TestParse(t *testing.T) {
	a, err := Parse(strings.NewReader(goodJSON))
	require.NoError(t, err)
	if *a.Frame != 7 || a.Objects[0].Label != "person" || len(a.Background) != 1 {
		t.Fatalf("parsed as %+v", a)
	}
	marks := a.Raster()
	at := func(x, y int) int16 { return marks[y*64+x] }
	if at(10, 10) != 1 || at(15, 20) != 1 || at(59, 39) != 0 || at(40, 5) != Unmarked {
		t.Errorf("marks are %d %d %d %d; want 1 1 0 Unmarked", at(10, 10), at(15, 20), at(59, 39), at(40, 5))
	}
}

func TestParseMask(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 6, 4))
	img.SetGray(2, 1, color.Gray{Y: 5})
	a, err := Parse(bytes.NewReader(encodePNG(t, img)))
	require.NoError(t, err)
	if len(a.Objects) != 1 || a.Objects[0].ID != 5 {
		t.Fatalf("objects are %+v; want one with id 5", a.Objects)
	}
	marks := a.Raster()
	if marks[1*6+2] != 1 || marks[0] != Outside {
		t.Errorf("marks are %d and %d; want 1 and Outside", marks[1*6+2], marks[0])
	}
}

func TestParseFaults(t *testing.T) {
	stroke := `[{"width": 4, "points": [[1, 1]]}]`
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "EOF"},
		{"not JSON", "masks please", "line 1"},
		{"unknown field", `{"wdth": 3}`, `unknown field "wdth"`},
		{"wrong type names the line", "{\n\"width\": \"wide\"}", "line 2"},
		{"no size", `{"objects": []}`, "width: 0×0 with the height"},
		{"no objects", `{"width": 8, "height": 8}`, "objects: none"},
		{"id 0", `{"width": 8, "height": 8, "objects": [{"id": 0, "scribbles": ` + stroke + `}]}`, "objects[0].id: 0; want 1…255, or the id of"},
		{"id twice", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": ` + stroke + `}, {"id": 1, "scribbles": ` + stroke + `}]}`, "objects[1].id: 1 is used twice"},
		{"no strokes", `{"width": 8, "height": 8, "objects": [{"id": 1}]}`, "objects[0].scribbles: none"},
		{"outside", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": [{"width": 1, "points": [[1, 1], [9, 2]]}]}]}`, "objects[0].scribbles[0].points[1]: (9, 2) is outside the 8×8 frame"},
		{"brush", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": [{"width": 0, "points": [[1, 1]]}]}]}`, "objects[0].scribbles[0].width: 0"},
		{"background outside", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": ` + stroke + `}], "background": [{"width": 1, "points": [[-1, 2]]}]}`, "background[0].points[0]"},
		{"too much paint", `{"width": 8000, "height": 8000, "objects": [{"id": 1, "scribbles": [{"width": 8000, "points": [` + strings.Repeat("[1,1],", 999) + `[1,1]]}]}]}`, "would paint"},
		{"short point", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [[1, 1], [4], [4, 4]]}]}`, "point [4]; want [x, y]"},
		{"long point", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [[1, 1, 5], [4, 1], [4, 4]]}]}`, "point [1, 1, 5]; want [x, y]"},
		{"two corners", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [[1, 1], [4, 4]]}]}`, "objects[0].polygon: 2 points; want 3…10000"},
		{"empty polygon", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": []}]}`, "objects[0].polygon: 0 points; want 3…10000"},
		{"polygon outside", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [[1, 1], [4, 4], [1, 8.5]]}]}`, "objects[0].polygon[2]: (1, 8.5) is outside the 8×8 frame"},
		{"box of 3", `{"width": 8, "height": 8, "objects": [{"id": 1, "box": [1, 1, 4]}]}`, "objects[0].box: 3 numbers; want 4: [x0, y0, x1, y1]"},
		{"box outside", `{"width": 8, "height": 8, "objects": [{"id": 1, "box": [1, 1, 4, 9]}]}`, "objects[0].box: [1 1 4 9] is not inside the 8×8 frame"},
		{"box turned", `{"width": 8, "height": 8, "objects": [{"id": 1, "box": [4, 1, 1, 4]}]}`, "objects[0].box: [4 1 1 4] is -3×3"},
		{"box and polygon", `{"width": 8, "height": 8, "objects": [{"id": 1, "box": [1, 1, 4, 4], "polygon": [[1, 1], [4, 4], [1, 4]]}]}`, "objects[0]: polygon and box; want one"},
		{"too many boxes", `{"width": 8, "height": 8, "objects": [{"id": 1, "box": [0, 0, 8, 8]}, {"id": 2, "box": [0, 0, 8, 8]}, {"id": 3, "box": [0, 0, 8, 8]}, {"id": 4, "box": [0, 0, 8, 8]}, {"id": 5, "box": [0, 0, 8, 8]}, {"id": 6, "box": [0, 0, 8, 8]}, {"id": 7, "box": [0, 0, 8, 8]}, {"id": 8, "box": [0, 0, 8, 8]}, {"id": 9, "box": [0, 0, 8, 8]}]}`, "would paint 72 times"},
		{"stroke of 10001 points", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": [{"width": 1, "points": [` + strings.Repeat("[1,1],", 10000) + `[1,1]]}]}]}`, "objects[0].scribbles[0].points: 10001; want 1…10000"},
		{"polygon of 10001 points", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [` + strings.Repeat("[1,1],", 10000) + `[1,1]]}]}`, "objects[0].polygon: 10001 points; want 3…10000"},
		{"null for a box", `{"width": 8, "height": 8, "objects": [{"id": 1, "label": "null", "scribbles": ` + stroke + `, "box": null}]}`, "objects[0].box: null; want a value, or"},
		{"null for a number", `{"width": 8, "height": 8, "objects": [{"id": 1, "polygon": [[1, 1], [4, null], [1, 4]]}]}`, "objects[0].polygon[1][1]: null"},
		{"null for objects", `{"width": 8, "height": 8, "background": ` + stroke + `, "objects": null}`, "objects: null"},
		{"null", `null`, "null; want a value"},
		{"picture of no kind", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": ` + stroke + `}], "picture": "R0lGODlh"}`, "picture: 6 bytes that are neither; want a JPEG or a PNG"},
		{"picture of another size", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": ` + stroke + `}], "picture": "` + inBase64(encodePNGOf(9, 8)) + `"}`, "picture: it is 9×8; want the 8×8 that"},
		{"picture cut short in its head", `{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": ` + stroke + `}], "picture": "` + inBase64(encodePNGOf(8, 8)[:12]) + `"}`, "picture: unexpected EOF"},
		{"mask of another size", `{"width": 8, "height": 8, "mask": "` + inBase64(maskOf(9, 8, 3)) + `"}`, "mask: it is 9×8; want the 8×8 that"},
		{"mask of another object", `{"width": 8, "height": 8, "objects": [{"id": 1}], "mask": "` + inBase64(maskOf(8, 8, 3)) + `"}`, "mask: it has id 3, which none"},
		{"two values", goodJSON + "1", "something follows"},
		{"truncated PNG", "\x89PNG\r\n\x1a\n\x00", "mask PNG"},
		{"colour PNG", string(encodePNG(t, image.NewRGBA(image.Rect(0, 0, 2, 2)))), "colour model"},
		{"empty mask", string(encodePNG(t, image.NewGray(image.Rect(0, 0, 2, 2)))), "objects: none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(tt.in))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v; want ErrInvalid with %q", err, tt.want)
			}
		})
	}
}

func inBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func encodePNGOf(width, height int) []byte {
	var buf bytes.Buffer
	_ = png.Encode(&buf, image.NewRGBA(image.Rect(0, 0, width, height)))
	return buf.Bytes()
}

// maskOf is a PNG with one pixel of an object, at 2, 1.
func maskOf(width, height int, id uint8) []byte {
	img := image.NewGray(image.Rect(0, 0, width, height))
	img.SetGray(2, 1, color.Gray{Y: id})
	var buf bytes.Buffer
	_ = png.Encode(&buf, img)
	return buf.Bytes()
}

// An annotation carries the picture it was made on, and its mask.
func TestPicture(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 8, 6))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	img.SetRGBA(3, 2, color.RGBA{10, 20, 30, 255})
	a, err := Parse(strings.NewReader(`{"width": 8, "height": 6, "objects": [{"id": 3, "label": "cup"}],
 "mask": "` + inBase64(maskOf(8, 6, 3)) + `", "picture": "` + inBase64(encodePNG(t, img)) + `"}`))
	require.NoError(t, err)
	bgr, err := a.BGR()
	require.NoError(t, err)
	if p := 3 * (2*8 + 3); len(bgr) != 3*8*6 || !bytes.Equal(bgr[p:p+4], []byte{30, 20, 10, 255}) {
		t.Errorf("the picture has %d bytes, %d at 3, 2; want 144, and 30 20 10 255", len(bgr), bgr[p:p+4])
	}
	if a.Objects[0].Label != "cup" || a.Raster()[1*8+2] != 1 || a.Raster()[0] != Outside {
		t.Errorf("parsed as %+v", a.Objects)
	}
	var buf bytes.Buffer
	require.NoError(t, jpeg.Encode(&buf, img, nil))
	a.Picture = buf.Bytes()
	if bgr, err := a.BGR(); err != nil || len(bgr) != 3*8*6 || bgr[0] < 200 {
		t.Errorf("a JPEG gives %d bytes, %v", len(bgr), err)
	}
	a.Picture = a.Picture[:len(a.Picture)-30]
	if _, err := a.BGR(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "want a whole JPEG or PNG") {
		t.Errorf("a JPEG that was cut short: %v", err)
	}
}

func TestParseForms(t *testing.T) {
	a, err := Parse(strings.NewReader(`{"width": 20, "height": 10, "objects": [
 {"id": 1, "polygon": [[1, 1], [7, 1], [7, 7], [1, 7]], "scribbles": [{"width": 1, "points": [[9.5, 4.5]]}]},
 {"id": 2, "box": [10, 2, 18, 8]}],
 "background": [{"width": 1, "points": [[4.5, 4.5]]}]}`))
	require.NoError(t, err)
	marks := a.Raster()
	for _, tt := range []struct {
		what string
		x, y int
		want int16
	}{
		{"inside the polygon", 1, 1, 1},
		{"its far corner", 6, 6, 1},
		{"just right of it", 7, 3, Outside},
		{"just above it", 3, 0, Outside},
		{"a background stroke in it", 4, 4, 0},
		{"the object's stroke outside it", 9, 4, 1},
		{"inside the box", 10, 2, Unmarked},
		{"its far corner", 17, 7, Unmarked},
		{"just right of it", 18, 5, Outside},
		{"just below it", 12, 8, Outside},
	} {
		assert.Equal(t, tt.want, marks[tt.y*20+tt.x], "%s: mark", tt.what)
	}
	for _, good := range []string{
		`{"width": 8, "height": 8, "background": [{"width": 2, "points": [[1, 1]]}]}`,
		`{"width": 8, "height": 8, "objects": [{"id": 4}], "background": [{"width": 2, "points": [[1, 1]]}]}`,
	} {
		if _, err := Parse(strings.NewReader(good)); err != nil {
			t.Errorf("%s: %v; want a correction by background strokes", good, err)
		}
	}
}

// Inside a polygon is where a ray to the left crosses the outline an odd number of
// times.
func TestPolygonIsEvenOdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		a := &Annotation{Width: 24, Height: 18, Objects: []Object{{ID: 1}}}
		for range 3 + rng.IntN(8) {
			// Quarters of pixels meet centres and each other often.
			a.Objects[0].Polygon = append(a.Objects[0].Polygon, Point{float64(rng.IntN(4*24+1)) / 4, float64(rng.IntN(4*18+1)) / 4})
		}
		got := make([]bool, 24*18)
		a.Inside(0, func(p int) {
			if got[p] {
				t.Fatal("a pixel was visited twice")
			}
			got[p] = true
		})
		outline := a.Objects[0].Polygon
		for p := range got {
			x, y := float64(p%24)+0.5, float64(p/24)+0.5
			want := false
			for i, q := range outline {
				r := outline[(i+1)%len(outline)]
				if (q[1] <= y) != (r[1] <= y) && q[0]+(y-q[1])*(r[0]-q[0])/(r[1]-q[1]) <= x {
					want = !want
				}
			}
			if got[p] != want {
				t.Fatalf("pixel %d, %d is inside: %t; want %t for %v", p%24, p/24, got[p], want, outline)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(goodJSON))
	f.Add([]byte(`{"width": 8, "height": 8, "objects": [{"id": 1, "scribbles": [{"width": 1, "points": [[1, 1], [9, 2]]}]}]}`))
	f.Add([]byte(`{"width": 8, "height": 8, "objects": [{"id": 1, "box": [1, 1, 4, 4]}, {"id": 2, "polygon": [[1, 1], [4, 4], [1, 4]]}]}`))
	f.Add([]byte(`{"width": 9, "height": 8, "mask": "` + inBase64(maskOf(9, 8, 3)) + `", "picture": "` + inBase64(encodePNGOf(9, 8)) + `"}`))
	f.Add(encodePNG(f, image.NewPaletted(image.Rect(0, 0, 3, 3), color.Palette{color.Black, color.White})))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Parse(bytes.NewReader(data))
		sized, errSized := ParseFor(data, 3, 3)
		if errSized == nil && (err != nil || sized.Mask != nil && len(sized.Mask) != 3*3) {
			t.Fatalf("for 3×3 frames %v, else %v", sized, err)
		}
		if err != nil {
			return
		}
		if a.Mask != nil && len(a.Mask) != a.Width*a.Height {
			t.Fatalf("mask of %d pixels for %d×%d", len(a.Mask), a.Width, a.Height)
		}
		if a.Width*a.Height > 1<<20 {
			t.Skip("valid, but drawing it would take long")
		}
		if a.Picture != nil {
			if bgr, err := a.BGR(); err == nil && len(bgr) != 3*a.Width*a.Height {
				t.Fatalf("%d bytes of a picture of %d×%d", len(bgr), a.Width, a.Height)
			}
		}
		for _, m := range a.Raster() {
			if m < Outside || int(m) > len(a.Objects) {
				t.Fatalf("mark %d with %d objects", m, len(a.Objects))
			}
		}
	})
}

// A detector's objects have ids beyond those that a mask's pixels can name. People correct them by
// strokes, boxes and outlines.
func TestAutomatic(t *testing.T) {
	a := &Annotation{Width: 10, Height: 10, Objects: []Object{{ID: MaxID + 1, Box: []float64{1, 1, 5, 5}}}}
	for _, a.Automatic = range []bool{false, true} {
		if err := a.Validate(); err != nil {
			t.Errorf("automatic %v: id %d: %v", a.Automatic, MaxID+1, err)
		}
	}
	a.Objects[0].Box, a.Mask = nil, make([]uint8, 100)
	assert.Error(t, a.Validate(), "a detector's mask is accepted")
	a.Automatic = false
	assert.ErrorContains(t, a.Validate(), "objects[0].id: 256; want 1…255 with a mask", "id %d with a mask", MaxID+1)
}

// What an outline holds is the mask that it was made of, of several parts and with holes in them.
func TestOutline(t *testing.T) {
	const width, height = 7, 5
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		bits := make([]uint8, width*height)
		for p := range bits {
			if rng.IntN(10) < i%11 { // from none of it to all
				bits[p] = 1
			}
		}
		a := &Annotation{Width: width, Height: height, Objects: []Object{{ID: 300, Polygon: Outline(bits, width, height)}}}
		if a.Objects[0].Polygon == nil {
			if bytes.Contains(bits, []byte{1}) {
				t.Fatalf("mask %d has no outline", i)
			}
			continue
		}
		require.NoError(t, a.Validate())
		inside := make([]uint8, width*height)
		a.Inside(0, func(p int) { inside[p]++ })
		if !bytes.Equal(inside, bits) {
			t.Fatalf("mask %d: inside of its outline is another:\n%v\n%v", i, bits, inside)
		}
	}
	square := make([]uint8, 16)
	copy(square[5:], []uint8{1, 1})
	copy(square[9:], []uint8{1, 1})
	if got := Outline(square, 4, 4); len(got) != 5 {
		t.Errorf("a square's outline is %v; want its four corners and the first again", got)
	}
}

// One that has too many points leaves out its smallest parts.
func TestOutlineOfTooMuch(t *testing.T) {
	const side = 200
	bits := make([]uint8, side*side)
	for p := range bits {
		if x, y := p%side, p/side; x%2 == 0 && y%2 == 0 || x < 50 && y < 50 {
			bits[p] = 1
		}
	}
	a := &Annotation{Width: side, Height: side, Objects: []Object{{ID: 300, Polygon: Outline(bits, side, side)}}}
	require.NoError(t, a.Validate())
	n := 0
	a.Inside(0, func(int) { n++ })
	if n < 50*50 || n > 2600 {
		t.Errorf("%d pixels; want the large part and some of the small ones", n)
	}
}
