package draw

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// An object has one colour: the page's script has the same.
func TestColourIsThePages(t *testing.T) {
	script, err := os.ReadFile("../../web/page/palette.js")
	require.NoError(t, err)
	found := regexp.MustCompile(`"#[0-9a-f]{6}"`).FindAll(script, -1)
	if len(found) != len(colours) {
		t.Fatalf("%d colours in palette.js, %d here", len(found), len(colours))
	}
	for i, text := range found {
		c := Colour(uint32(i + 1))
		if got := fmt.Sprintf(`"#%02x%02x%02x"`, c.R, c.G, c.B); got != string(text) {
			t.Errorf("object %d is %s, on the page %s", i+1, got, text)
		}
		if Palette[i+1] != color.Color(c) || Palette[i+1+len(colours)] != color.Color(c) {
			t.Errorf("object %d is %v, %v in label pictures", i+1, c, Palette[i+1])
		}
	}
}

// frame has object 3 in a rectangle.
func frame(width, height int, in image.Rectangle) *segdv1.MaskFrame {
	bits := make([]uint8, width*height)
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			bits[y*width+x] = 1
		}
	}
	return &segdv1.MaskFrame{Width: int32(width), Height: int32(height), Objects: []*segdv1.Object{{Id: 3, Counts: mask.Encode(bits, width, height).String()}}}
}

// Inside, an object's colour and the picture's are mixed; its rim has the colour alone.
func TestMasks(t *testing.T) {
	const width, height = 6, 8
	in := image.Rect(1, 2, 4, 6)
	m := frame(width, height, in)
	bgr := bytes.Repeat([]byte{100}, 3*width*height)
	require.NoError(t, BGR(bgr, width, height).Masks(m))
	wide := image.NewRGBA(image.Rect(0, 0, width+2, height)) // a stride of its own
	for i := range wide.Pix {
		wide.Pix[i] = 100
	}
	rgba := wide.SubImage(image.Rect(1, 0, width+1, height)).(*image.RGBA)
	require.NoError(t, RGBA(rgba).Masks(m))
	c := Colour(3)
	for p := range width * height {
		x, y := p%width, p/width
		want := [3]uint8{100, 100, 100}
		if (image.Point{X: x, Y: y}).In(in) {
			want = [3]uint8{c.R, c.G, c.B}
			if (image.Point{X: x, Y: y}).In(in.Inset(1)) {
				for k := range want {
					want[k] = want[k]/2 + 50
				}
			}
		}
		if got := [3]uint8{bgr[3*p+2], bgr[3*p+1], bgr[3*p]}; got != want {
			t.Errorf("BGR: (%d, %d) is %v, want %v", x, y, got, want)
		}
		if at := rgba.RGBAAt(x+1, y); [3]uint8{at.R, at.G, at.B} != want || at.A != 100 {
			t.Errorf("RGBA: (%d, %d) is %v, want %v", x, y, at, want)
		}
	}
	if at := wide.RGBAAt(0, 3); at.G != 100 {
		t.Errorf("it drew beside the picture: %v", at)
	}
	if BGR(bgr[:9], width, height).Masks(m) == nil || BGR(bgr, width, height-1).Masks(m) == nil {
		t.Error("a picture of another size was drawn on")
	}
}

// An object without a mask costs the others nothing.
func TestNoMask(t *testing.T) {
	const width, height = 6, 8
	m := frame(width, height, image.Rect(1, 2, 4, 6))
	neighbour := m.Objects[0]
	for _, counts := range []string{"", "7"} {
		m.Objects = append([]*segdv1.Object{{Id: 1, Counts: counts}}, neighbour, &segdv1.Object{Id: 256, Counts: counts})
		bgr := make([]byte, 3*width*height)
		if err := BGR(bgr, width, height).Masks(m); !errors.Is(err, ErrMask) || bgr[3*(2*width+1)] == 0 {
			t.Errorf("%q: %v, its neighbour has %v", counts, err, bgr[3*(2*width+1):][:3])
		}
		img, err := Labels(m)
		if !errors.Is(err, ErrMask) || img == nil || img.At(1, 2) != color.Color(color.Gray16{Y: 3}) {
			t.Errorf("%q: %v; want its neighbour in %v", counts, err, img)
		}
	}
}

func TestOutline(t *testing.T) {
	in := image.Rect(0, 0, 3, 3)
	m := frame(4, 4, in)
	rle, err := mask.Parse(m.Objects[0].Counts, 4, 4)
	require.NoError(t, err)
	img := image.NewRGBA(image.Rect(0, 0, 4, 4))
	green := color.RGBA{G: 255, A: 255}
	RGBA(img).Outline(rle, green)
	for y := range 4 {
		for x := range 4 {
			on := (image.Point{X: x, Y: y}).In(in) && (x != 1 || y != 1)
			assert.Equal(t, on, img.RGBAAt(x, y).G == 255, "(%d, %d)", x, y)
		}
	}
}

func TestLabels(t *testing.T) {
	m := frame(4, 4, image.Rect(0, 0, 2, 2))
	img, err := Labels(m)
	if err != nil || img.(*image.Paletted).ColorIndexAt(1, 1) != 3 || img.(*image.Paletted).ColorIndexAt(2, 1) != 0 || img.At(1, 1) != color.Color(Colour(3)) {
		t.Errorf("%v %v", img, err)
	}
	m.Objects[0].Id = 65535
	if img, err := Labels(m); err != nil || img.At(1, 1) != color.Color(color.Gray16{Y: 65535}) || img.At(2, 1) != color.Color(color.Gray16{}) {
		t.Errorf("object 65535: %v %v", img, err)
	}
	m.Objects[0].Id = 65536
	_, err = Labels(m)
	assert.ErrorIs(t, err, ErrID, "object 65536")
}
