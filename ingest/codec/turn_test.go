package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exif returns a JPEG with an APP1 segment that says how it is to be turned, EXIF's 1 to 8.
func exif(jpeg []byte, orientation byte) []byte {
	app1 := "Exif\x00\x00" + "MM\x00\x2a\x00\x00\x00\x08" + "\x00\x01" + "\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00" + "\x00\x00\x00\x00"
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(2+len(app1)))...)
	return append(append(out, app1...), jpeg[2:]...)
}

// oriented is a picture as EXIF 2.3 has it, by where it says that row 0 and column 0 are.
func oriented(pix []byte, w, h, orientation int) (out []byte, width, height int) {
	width, height = w, h
	if orientation > 4 {
		width, height = h, w
	}
	for y := range height {
		for x := range width {
			right, bottom := width-1-x, height-1-y
			row, column := [...]int{y, y, bottom, bottom, x, right, right, x}[orientation-1], [...]int{x, right, right, x, y, y, bottom, bottom}[orientation-1]
			out = append(out, pix[3*(row*w+column):][:3]...)
		}
	}
	return out, width, height
}

// corners is a picture whose corners all differ.
func corners(width, height int) []byte {
	pix := make([]byte, 0, 3*width*height)
	for y := range height {
		for x := range width {
			pix = append(pix, byte(255*x/width), byte(255*y/height), 40)
		}
	}
	return pix
}

func shown(t *testing.T, p *Picture) []byte {
	t.Helper()
	pix := make([]byte, 3*p.Width*p.Height)
	require.NoError(t, p.BGR(pix))
	return pix
}

// Pictures come out upright, whichever of the eight ways they lie: alone and of a stream, when they are kept, encoded
// anew, and turned farther.
func TestOrientation(t *testing.T) {
	for _, size := range [][2]int{{64, 48}, {70, 34}, {2, 2}} {
		w, h := size[0], size[1]
		plain, _ := encodeJPEG(t, corners(w, h), w, h, w, h, 95)
		var flat []byte
		require.NoError(t, DecodeJPEG(plain, func(p *Picture) { flat = shown(t, p) }))
		for orientation := 1; orientation <= 8; orientation++ {
			want, width, height := oriented(flat, w, h, orientation)
			check := func(p *Picture) {
				if got := shown(t, p); p.Width != width || p.Height != height || !bytes.Equal(got, want) {
					t.Errorf("%v by %d: another picture, of %d×%d", size, orientation, p.Width, p.Height)
				}
				k, err := p.Keep()
				require.NoError(t, err)
				defer k.Free()
				got := make([]byte, 3*w*h)
				if err := k.BGR(got); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v by %d: another one is kept: %v", size, orientation, err)
				}
				for quarters := 1; quarters <= 4; quarters++ { // 6 is a quarter clockwise
					p.Rotate(1)
					want, width, height = oriented(want, width, height, 6)
					if got := shown(t, p); p.Width != width || p.Height != height || !bytes.Equal(got, want) {
						t.Errorf("%v by %d and %d quarters: another picture, of %d×%d", size, orientation, quarters, p.Width, p.Height)
					}
				}
			}
			image := exif(plain, byte(orientation))
			assert.NoError(t, DecodeJPEG(image, check))
			n := 0
			if err := newDecoder(t, MJPEG).Decode(image, 0, func(p *Picture) { n++; check(p) }); err != nil || n != 1 {
				t.Errorf("%d pictures, %v", n, err)
			}
		}
	}
}

// A video is encoded anew as it is shown.
func TestEncodeTurned(t *testing.T) {
	plain, _ := encodeJPEG(t, corners(64, 32), 64, 32, 64, 32, 95)
	e, err := NewEncoder(EncoderConfig{Width: 32, Height: 64, CRF: 1})
	require.NoError(t, err)
	defer e.Close()
	require.NoError(t, DecodeJPEG(exif(plain, 6), func(p *Picture) {
		out, err := e.Picture(p, true)
		if err != nil || len(out) != 1 {
			t.Fatalf("%d packets, %v", len(out), err)
		}
		n := 0
		if err := newDecoder(t, H264).Decode(out[0].Data, 0, func(q *Picture) {
			n++
			nearly(t, shown(t, q), shown(t, p), 12)
		}); err != nil || n != 1 {
			t.Errorf("%d pictures, %v", n, err)
		}
	}))
}

func nearly(t *testing.T, got, want []byte, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want), "bytes")
	for i := range got {
		if math.Abs(float64(got[i])-float64(want[i])) > tolerance {
			t.Fatalf("byte %d is %d, want %d", i, got[i], want[i])
		}
	}
}

// mp4 writes a file of n pictures and returns it as bytes for the test to change.
func mp4(t *testing.T, width, height, n int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.mp4")
	m, err := CreateFile(path, EncoderConfig{Width: width, Height: height, FPS: 10, GOP: 100, CRF: 1})
	require.NoError(t, err)
	for range n {
		require.NoError(t, m.BGR(corners(width, height), 0))
	}
	require.NoError(t, m.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Where a track header of version 0 has them, after its name: ISO 14496-12, 8.3.2.
const (
	tkhdMatrix = 4 + 40
	tkhdWidth  = tkhdMatrix + 36
)

func firstPicture(t *testing.T, data []byte, use func(m *Demuxer, p *Picture)) {
	t.Helper()
	m, err := OpenFile(writeFile(t, "a.mp4", data))
	require.NoError(t, err)
	defer m.Close()
	p, err := m.Next()
	require.NoError(t, err)
	use(m, p)
}

// A phone's video is shown as its display matrix says, at the nearest quarter.
func TestDisplayMatrix(t *testing.T) {
	const w, h, one, half = 64, 32, 1 << 16, 1 << 15
	data := mp4(t, w, h, 2)
	var flat []byte
	firstPicture(t, data, func(_ *Demuxer, p *Picture) { flat = shown(t, p) })
	for name, tt := range map[string]struct {
		a, b, c, d  int32
		orientation int
	}{
		"upright":                 {one, 0, 0, one, 1},
		"mirrored":                {-one, 0, 0, one, 2},
		"upside down":             {-one, 0, 0, -one, 3},
		"mirrored upside down":    {one, 0, 0, -one, 4},
		"mirrored and a quarter":  {0, one, one, 0, 5},
		"clockwise":               {0, one, -one, 0, 6},
		"mirrored anticlockwise":  {0, -one, -one, 0, 7},
		"anticlockwise":           {0, -one, one, 0, 8},
		"sixty degrees clockwise": {half, 56756, -56756, half, 6},
		"nothing":                 {0, 0, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			at := bytes.Index(data, []byte("tkhd")) + tkhdMatrix
			turned := bytes.Clone(data)
			for i, v := range map[int]int32{0: tt.a, 1: tt.b, 3: tt.c, 4: tt.d} {
				binary.BigEndian.PutUint32(turned[at+4*i:], uint32(v))
			}
			want, width, height := oriented(flat, w, h, tt.orientation)
			firstPicture(t, turned, func(m *Demuxer, p *Picture) {
				if got := shown(t, p); p.Width != width || p.Height != height || !bytes.Equal(got, want) {
					t.Errorf("another picture, of %d×%d", p.Width, p.Height)
				}
				if x, y := m.Size(); x != width || y != height {
					t.Errorf("the track is of %d×%d", x, y)
				}
			})
		})
	}
}

// Pictures of 16×16 in H.264, of samples of 8:3 and of 20:11, and one of 32×16, each a key frame with its parameter sets.
const (
	sample8to3   = "000000016742c00ada7bff000800031000000300100000030020f1226a0000000168ce0fc80000016588843a26280e"
	sample20to11 = "000000016742c00ada7b071000000300100000030020f1226a0000000168ce0fc80000016588843a26280e"
	plain32      = "000000016742c00ada2ec044000003000400000300083c489a800000000168ce0fc80000016588843a26280c9e"
	// seiAnticlockwise says that the picture is to be turned by a quarter: T-REC-H.264, D.1.27.
	seiAnticlockwise = "00000001062f0308001480"
)

func decodeHex(t *testing.T, text string, use func(*Picture)) {
	t.Helper()
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	n := 0
	if err := newDecoder(t, H264).Decode(data, 0, func(p *Picture) { n++; use(p) }); err != nil || n != 1 {
		t.Fatalf("%d pictures, %v", n, err)
	}
}

// A stream says itself how its pictures lie, and how wide its samples are.
func TestStreamTells(t *testing.T) {
	for _, tt := range []struct {
		name, data    string
		aspect        float64
		width, height int
	}{
		{"8:3", sample8to3, 8.0 / 3, 16, 16},
		{"20:11", sample20to11, 20.0 / 11, 16, 16},
		{"nothing", plain32, 1, 32, 16},
		{"turned", seiAnticlockwise + plain32, 1, 16, 32},
		{"8:3, turned", seiAnticlockwise + sample8to3, 3.0 / 8, 16, 16},
	} {
		decodeHex(t, tt.data, func(p *Picture) {
			if math.Abs(p.PixelAspect-tt.aspect) > 1e-9 || p.Width != tt.width || p.Height != tt.height {
				t.Errorf("%s: %d×%d of %v", tt.name, p.Width, p.Height, p.PixelAspect)
			}
			if want := (orientation{quarters: 3}); strings.HasSuffix(tt.name, "turned") && p.turn != want {
				t.Errorf("%s: %+v, want %+v", tt.name, p.turn, want)
			}
			p.Rotate(1)
			if math.Abs(p.PixelAspect-1/tt.aspect) > 1e-9 {
				t.Errorf("%s, turned: %v", tt.name, p.PixelAspect)
			}
		})
	}
}

// A JPEG's densities are the aspect of its samples, as FFmpeg writes them, unless they are dots an inch.
func TestJPEGDensity(t *testing.T) {
	data, _ := encodeJPEG(t, corners(64, 48), 64, 48, 64, 48, 90)
	for units, want := range map[string]float64{"\x00": 8.0 / 3, "\x01": 1, "\x02": 1} {
		app0 := "\xff\xe0\x00\x10JFIF\x00\x01\x02" + units + "\x00\x08\x00\x03\x00\x00"
		got := 0.0
		if err := DecodeJPEG(slices.Concat(data[:2], []byte(app0), data[2:]), func(p *Picture) { got = p.PixelAspect }); err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("units %q: %v, %v; want %v", units, got, err, want)
		}
	}
}

// A file says how wide its samples are, too; what would make a picture of a line says nothing.
func TestFileSampleAspect(t *testing.T) {
	data := mp4(t, 64, 32, 2)
	at := bytes.Index(data, []byte("tkhd")) + tkhdWidth
	for width, want := range map[uint32]float64{64: 1, 128: 2, 32: 0.5, 32 * 17: 1, 1: 1} {
		wide := bytes.Clone(data)
		binary.BigEndian.PutUint32(wide[at:], width<<16)
		firstPicture(t, wide, func(_ *Demuxer, p *Picture) {
			if math.Abs(p.PixelAspect-want) > 1e-6 || p.Width != 64 || p.Height != 32 {
				t.Errorf("shown %d wide: %d×%d of %v, want %v", width, p.Width, p.Height, p.PixelAspect, want)
			}
		})
	}
}

// Huffman tables may be missing, as of web cameras, and be the standard's then whatever came before; bytes may not.
func TestDecodeJPEG(t *testing.T) {
	whole, _ := encodeJPEG(t, corners(64, 48), 64, 48, 64, 48, 90)
	var want []byte
	require.NoError(t, DecodeJPEG(whole, func(p *Picture) { want = shown(t, p) }))
	bare := withoutTables(whole)
	if len(bare) == len(whole) {
		t.Fatal("there were no Huffman tables")
	}
	assert.NoError(t, DecodeJPEG(bare, func(p *Picture) {
		if !bytes.Equal(shown(t, p), want) {
			t.Error("without Huffman tables it is another picture")
		}
	}))
	for name, data := range map[string][]byte{
		"nothing": nil, "cut short": whole[:len(whole)/2], "cut near its end": whole[:len(whole)*3/4], "its head alone": whole[:bytes.Index(whole, []byte{0xff, 0xda})], "no JPEG": []byte("\xff\xd8\xff this is none"), //nolint:gocritic // it has a scan
	} {
		if err := DecodeJPEG(data, func(*Picture) {}); err == nil {
			t.Errorf("%s: no error", name)
		} else if !errors.Is(err, ErrUndecodable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutTables is a JPEG without its DHT segments.
func withoutTables(jpeg []byte) []byte {
	const dht, sos = 0xc4, 0xda
	out := bytes.Clone(jpeg[:2])
	for rest := jpeg[2:]; ; {
		if rest[1] == sos {
			return append(out, rest...)
		}
		n := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if rest[1] != dht {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
}
