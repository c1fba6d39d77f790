package annotation

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/memtest"
)

// What refusing a bomb may allocate: a mask of the frame's size, and, of JSON, some
// copies of its 16 MiB.
const (
	maxPNGBytes  = 4 << 20
	maxJSONBytes = 256 << 20
)

// chunk is one of a PNG.
func chunk(kind string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

func deflated(t testing.TB, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
	require.NoError(t, err)
	_, err = io.CopyN(z, zeros{}, n)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// maxUnpacked is where a bomb's pixels are cut short, to spare the test's time: a decoder
// takes the memory for all of them before it sees that.
const maxUnpacked = 16 << 20

// bomb is a PNG of black with chunks between its header and its pixels.
func bomb(t testing.TB, width, height uint32, depth, colour, bytesPerPixel byte, between ...[]byte) string {
	t.Helper()
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", append(head, depth, colour, 0, 0, 0))...)
	for _, c := range between {
		out = append(out, c...)
	}
	out = append(out, chunk("IDAT", deflated(t, min(maxUnpacked, int64(height)*(1+int64(width)*int64(bytesPerPixel)))))...)
	return string(append(out, chunk("IEND", nil)...))
}

// What is small on the wire and large in memory is refused before it is large.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: large files")
	}
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part, (maxBytes-len(head)-len(tail))/len(part)-1) + strings.TrimSuffix(part, ",") + tail
	}
	text := append([]byte("Comment\x00\x00"), deflated(t, 1<<26)...)
	for _, tt := range []struct{ name, in, want string }{
		{"colour of 16 bits, 8192×8192", bomb(t, 8192, 8192, 16, 6, 8), "mask PNG has colour model RGB 16-bit; want 8-bit grey or palette"},
		{"grey of 16 bits, of the frame's size", bomb(t, 640, 480, 16, 0, 2), "mask PNG has colour model grey 16-bit"},
		{"grey, 8192×8192", bomb(t, 8192, 8192, 8, 0, 1), "made for 8192×8192; the camera's frames are 640×480"},
		{"grey, 16384×16384", bomb(t, 16384, 16384, 8, 0, 1), "made for 16384×16384; the camera's frames are 640×480"},
		{"grey with a transparent one, 8192×8192", bomb(t, 8192, 8192, 8, 0, 1, chunk("tRNS", []byte{0, 0})), "made for 8192×8192"},
		{"palette, a line of 2³¹-1", bomb(t, 1<<31-1, 1, 8, 3, 0, chunk("PLTE", make([]byte, 6))), "mask PNG"},
		{"more pixels than the header says", bomb(t, 640, 480, 8, 0, 255), "mask PNG"},
		{"grey, 8192×8192, inside JSON", `{"width": 8192, "height": 8192, "mask": "` + base64.StdEncoding.EncodeToString([]byte(bomb(t, 8192, 8192, 8, 0, 1))) + `"}`, "made for 8192×8192; the camera's frames are 640×480"},
		{"a text of 64 MiB", bomb(t, 640, 480, 8, 0, 1, chunk("zTXt", text)), "objects: none"},
		{"a profile of 64 MiB", bomb(t, 640, 480, 8, 0, 1, chunk("iCCP", text)), "objects: none"},
		{"empty objects", fill(`{"width": 640, "height": 480, "objects": [`, `{},`, `]}`), "objects and strokes; want at most"},
		{"empty strokes", fill(`{"width": 640, "height": 480, "objects": [], "background": [`, `{},`, `]}`), "objects and strokes; want at most"},
		{"objects named many times", fill(`{"width": 640, "height": 480, "objects": [`, `{"objects":[],"id":1},`, `]}`), "objects and strokes; want at most"},
		{"points", fill(`{"width": 640, "height": 480, "objects": [{"id": 1, "polygon": [`, `[1,1],`, `]}]}`), "values; want at most"},
		{"a box of numbers", fill(`{"width": 640, "height": 480, "objects": [{"id": 1, "box": [`, `1,`, `]}]}`), "values; want at most"},
		{"a deep point", `{"width": 640, "height": 480, "objects": [{"id": 1, "polygon": ` + strings.Repeat("[", maxBytes-100), "exceeded max depth"},
		{"a name that goes on", fill(`{"`, `n`, `": 1}`), "unknown field"},
		{"a number that goes on", fill(`{"width": 1`, `0`, `}`), "cannot unmarshal"},
		{"a label that goes on", fill(`{"width": 640, "height": 480, "objects": [{"id": 1, "box": [1, 1, 9, 9], "label": "`, `n`, `"}]}`), "characters; want at most 100"},
		{"many faults", `{"width": 640, "height": 480, "objects": [` + strings.Repeat(`{},`, 9999) + `{}]}`, "; more are not listed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			var err error
			n := memtest.Allocated(func() { _, err = ParseFor(in, 640, 480) })
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %.300v; want ErrInvalid with %q", err, tt.want)
			}
			limit := uint64(maxJSONBytes)
			if strings.HasPrefix(tt.in, pngMagic) {
				limit = maxPNGBytes
			}
			if n > limit {
				t.Errorf("%d kB took %d MiB of memory; want at most %d", len(tt.in)>>10, n>>20, limit>>20)
			}
			if err != nil && len(err.Error()) > 32<<10 {
				t.Errorf("the fault has %d bytes", len(err.Error()))
			}
		})
	}
}

// An outline whose every line crosses the picture takes no more memory of a picture that is higher.
func TestInsideOfHighPicture(t *testing.T) {
	const width, height, points = 2000, 4096, 1001
	a := Annotation{Width: width, Height: height, Objects: []Object{{ID: 1}}}
	for i := range points {
		a.Objects[0].Polygon = append(a.Objects[0].Polygon, Point{float64(i), float64(i % 2 * height)})
	}
	pixels := 0
	n := memtest.Allocated(func() { a.Inside(0, func(int) { pixels++ }) })
	if want := points / 2 * height; pixels < want*9/10 || pixels > want*11/10 {
		t.Errorf("%d pixels are inside; want about %d", pixels, want)
	}
	if most := uint64(16 << 20); n > most {
		t.Errorf("%d MiB of memory; want at most %d", n>>20, most>>20)
	}
}

// Where no frame has come yet, the largest there can be bounds a mask.
func TestMaskOfUnknownFrame(t *testing.T) {
	if _, err := Parse(strings.NewReader(bomb(t, 16384, 16384, 8, 0, 1))); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "16384×16384") {
		t.Errorf("error is %v; want ErrInvalid with the size", err)
	}
	img := image.NewGray(image.Rect(0, 0, 640, 480))
	img.Pix[7] = 1
	_, err := ParseFor(encodePNG(t, img), 640, 480)
	assert.NoError(t, err)
}
