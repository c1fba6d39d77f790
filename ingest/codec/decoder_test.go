package codec

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Colours survive encoding and decoding whatever matrix the stream uses: the
// decoder must use the one it names.
func TestColours(t *testing.T) {
	colours := [][3]uint8{{40, 40, 200}, {60, 180, 60}, {200, 90, 30}, {128, 128, 128}, {250, 250, 250}}
	for _, tc := range []struct {
		name string
		cfg  EncoderConfig
	}{
		{"601", EncoderConfig{Width: 64, Height: 48}},
		{"709", EncoderConfig{Width: 64, Height: 48, BT709: true}},
		{"601 in high definition", EncoderConfig{Width: 1280, Height: 720}},
		{"width 854", EncoderConfig{Width: 854, Height: 480}},
		{"H.265", EncoderConfig{Width: 64, Height: 64, Codec: H265}},
		{"VP8", EncoderConfig{Width: 64, Height: 64, Codec: VP8}},
		{"VP9", EncoderConfig{Width: 64, Height: 64, Codec: VP9}},
		{"AV1", EncoderConfig{Width: 64, Height: 64, Codec: AV1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.CRF = 1
			const tolerance = 5 // three roundings to 8 bits: to YUV, quantised, back
			for _, c := range colours {
				got := roundTrip(t, tc.cfg, solid(tc.cfg.Width, tc.cfg.Height, c[0], c[1], c[2]))
				for i := range got {
					if d := math.Abs(float64(got[i]) - float64(c[i%3])); d > tolerance {
						t.Fatalf("colour %v: byte %d is %d, off by %v", c, i, got[i], d)
					}
				}
			}
		})
	}
}

// Full range against an independent encoder: JPEG is full-range BT.601.
func TestJPEGColours(t *testing.T) {
	for _, c := range [][3]uint8{{40, 40, 200}, {60, 180, 60}, {200, 90, 30}, {5, 5, 5}, {250, 250, 250}} {
		img := image.NewRGBA(image.Rect(0, 0, 64, 48))
		draw.Draw(img, img.Rect, image.NewUniform(color.RGBA{c[2], c[1], c[0], 255}), image.Point{}, draw.Src)
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}))
		d := newDecoder(t, MJPEG)
		n := 0
		err := d.Decode(b.Bytes(), 0, func(p *Picture) {
			n++
			got := make([]byte, 3*64*48)
			require.NoError(t, p.BGR(got))
			for i := range got {
				if d := math.Abs(float64(got[i]) - float64(c[i%3])); d > 3 {
					t.Fatalf("colour %v: byte %d is %d", c, i, got[i])
				}
			}
		})
		if err != nil || n != 1 {
			t.Errorf("%d pictures, error %v", n, err)
		}
	}
}

func roundTrip(t *testing.T, cfg EncoderConfig, pix []byte) []byte {
	t.Helper()
	e, err := NewEncoder(cfg)
	require.NoError(t, err)
	defer e.Close()
	packets, err := e.BGR(pix, true)
	require.NoError(t, err)
	more, err := e.Flush()
	require.NoError(t, err)
	id := cfg.Codec
	if id == 0 {
		id = H264
	}
	d := newDecoder(t, id)
	var out []byte
	emit := func(p *Picture) {
		out = make([]byte, 3*p.Width*p.Height)
		require.NoError(t, p.BGR(out))
	}
	for _, p := range append(packets, more...) {
		require.NoError(t, d.Decode(p.Data, 0, emit))
	}
	require.NoError(t, d.Flush(emit))
	if len(out) != len(pix) {
		t.Fatalf("decoded %d bytes, want %d", len(out), len(pix))
	}
	return out
}

// Every column is right up to the last, at widths whose tight rows are not a
// multiple of any vector length.
func TestLastColumns(t *testing.T) {
	for _, width := range []int{34, 162, 318, 854, 1366} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			const height = 96
			cfg := EncoderConfig{Width: width, Height: height, CRF: 1}
			pix := ramp(width, height, -100)
			got := roundTrip(t, cfg, pix)
			for i := range got {
				if d := math.Abs(float64(got[i]) - float64(pix[i])); d > 8 {
					t.Fatalf("column %d row %d: got %d, want %d", i/3%width, i/3/width, got[i], pix[i])
				}
			}
		})
	}
}

// A camera's stream comes out picture by picture, each as soon as its access
// unit goes in.
func TestNoDelay(t *testing.T) {
	for _, id := range []ID{H264, H265} {
		t.Run(id.String(), func(t *testing.T) {
			packets := encode(t, EncoderConfig{Codec: id, Width: 96, Height: 64, FPS: 10}, 25)
			if len(packets) != 25 {
				t.Fatalf("encoder made %d packets, want 25", len(packets))
			}
			d := newDecoder(t, id)
			for i, p := range packets {
				assert.Equal(t, i%10 == 0, p.Key, "packet %d: key", i)
				n := 0
				err := d.Decode(p.Data, 1000+int64(i), func(pic *Picture) {
					n++
					assert.Equal(t, 1000+int64(i), pic.PTS, "packet %d came out with PTS", i)
					if pic.Width != 96 || pic.Height != 64 || pic.Key != p.Key || pic.Damaged {
						t.Errorf("packet %d: %dx%d key %v damaged %v", i, pic.Width, pic.Height, pic.Key, pic.Damaged)
					}
				})
				if err != nil || n != 1 {
					t.Fatalf("packet %d: %d pictures, error %v", i, n, err)
				}
			}
		})
	}
}

// Reordered streams come out in the order they are shown.
func TestReordered(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 96, Height: 64, FPS: 10, BFrames: 2}, 30)
	d := newDecoder(t, H264)
	var got []int64
	emit := func(p *Picture) { got = append(got, p.PTS) }
	for _, p := range packets {
		require.NoError(t, d.Decode(p.Data, p.PTS, emit))
	}
	require.NoError(t, d.Flush(emit))
	require.Len(t, got, 30, "pictures")
	for i, pts := range got {
		require.Equal(t, int64(i), pts, "shown order %v", got)
	}
}

// A new size in mid-stream is followed.
func TestSizeChange(t *testing.T) {
	d := newDecoder(t, H264)
	for _, size := range [][2]int{{96, 64}, {160, 120}, {64, 64}} {
		for _, p := range encode(t, EncoderConfig{Width: size[0], Height: size[1]}, 3) {
			err := d.Decode(p.Data, 0, func(pic *Picture) {
				if pic.Width != size[0] || pic.Height != size[1] {
					t.Errorf("%dx%d, want %v", pic.Width, pic.Height, size)
				}
				assert.NoError(t, pic.BGR(make([]byte, 3*pic.Width*pic.Height)))
			})
			require.NoError(t, err)
		}
	}
}

func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, id := range []ID{H264, H265, MJPEG, VP8, VP9, AV1} {
		t.Run(id.String(), func(t *testing.T) {
			d := newDecoder(t, id)
			for i := range 200 {
				au := make([]byte, 1+rng.IntN(2000))
				for j := range au {
					au[j] = byte(rng.Uint32())
				}
				if i%2 == 0 {
					copy(au, "\x00\x00\x00\x01")
				}
				// The error does not matter, coming back does.
				_ = d.Decode(au, int64(i), func(*Picture) {})
			}
			assert.ErrorIs(t, d.Decode(nil, 0, nil), ErrUndecodable, "empty access unit")
		})
	}
}

// After damaged units, the next key frame comes out whole.
func TestRecovery(t *testing.T) {
	for _, id := range []ID{H264, H265} {
		t.Run(id.String(), func(t *testing.T) {
			packets := encode(t, EncoderConfig{Codec: id, Width: 96, Height: 64, FPS: 5}, 15)
			d := newDecoder(t, id)
			var keys int
			for i, p := range packets {
				au := bytes.Clone(p.Data)
				if i < 10 {
					for j := 8; j < len(au); j += 7 {
						au[j] ^= 0x5a
					}
				}
				err := d.Decode(au, int64(i), func(pic *Picture) {
					if i == 10 && pic.Key && !pic.Damaged {
						keys++
					}
				})
				if i >= 10 && err != nil {
					t.Errorf("unit %d after the damage: %v", i, err)
				}
			}
			assert.Equal(t, 1, keys, "whole key frames after the damage")
		})
	}
}

func TestTooLarge(t *testing.T) {
	d := newDecoder(t, H264)
	au := append([]byte{0, 0, 0, 1}, hugeSPS(20000, 12000)...)
	err := d.Decode(au, 0, func(*Picture) { t.Error("a picture came out") })
	require.ErrorIs(t, err, ErrTooLarge)
	if want := "20000x12000"; !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("error %q does not name the size %s", err, want)
	}
	// The decoder is not spoilt.
	n := 0
	for _, p := range encode(t, EncoderConfig{Width: 64, Height: 64}, 1) {
		require.NoError(t, d.Decode(p.Data, 0, func(*Picture) { n++ }))
	}
	assert.Equal(t, 1, n, "pictures after the refusal")
}

// hugeSPS is an H.264 baseline sequence parameter set of the given size.
func hugeSPS(width, height uint32) []byte {
	var w bitWriter
	w.bits(66, 8) // profile
	w.bits(0, 8)  // constraints
	w.bits(51, 8) // level
	w.ue(0)       // id
	w.ue(0)       // log2_max_frame_num - 4
	w.ue(2)       // pic_order_cnt_type
	w.ue(1)       // reference frames
	w.bits(0, 1)  // gaps
	w.ue(width/16 - 1)
	w.ue(height/16 - 1)
	w.bits(1, 1) // frames only
	w.bits(1, 1) // direct 8x8
	w.bits(0, 1) // no cropping
	w.bits(0, 1) // no VUI
	w.bits(1, 1) // stop
	return append([]byte{0x67}, w.buf...)
}

type bitWriter struct {
	buf []byte
	n   int
}

func (w *bitWriter) bits(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.n%8 == 0 {
			w.buf = append(w.buf, 0)
		}
		w.buf[len(w.buf)-1] |= byte(v>>i&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *bitWriter) ue(v uint32) {
	v++
	n := 0
	for x := v; x > 1; x >>= 1 {
		n++
	}
	w.bits(0, n)
	w.bits(v, n+1)
}

func TestMisuse(t *testing.T) {
	d, err := NewDecoder(H264)
	require.NoError(t, err)
	p := encode(t, EncoderConfig{Width: 64, Height: 64}, 1)[0]
	require.NoError(t, d.Decode(p.Data, 0, func(pic *Picture) {
		assert.Error(t, pic.BGR(make([]byte, 10)), "BGR took a buffer that is too small")
	}))
	d.Close()
	d.Close()
	assert.ErrorIs(t, d.Decode(p.Data, 0, nil), ErrClosed, "Decode after Close")
	assert.ErrorIs(t, d.Flush(nil), ErrClosed, "Flush after Close")
	_, err = NewDecoder(99)
	assert.Error(t, err, "NewDecoder(99) worked")
}

func FuzzDecode(f *testing.F) {
	for _, id := range []ID{H264, H265} {
		for _, p := range encode(f, EncoderConfig{Codec: id, Width: 64, Height: 64}, 2) {
			f.Add(uint8(id), p.Data)
			f.Add(uint8(id), p.Data[:len(p.Data)/2])
		}
	}
	f.Add(uint8(H264), append([]byte{0, 0, 0, 1}, hugeSPS(20000, 12000)...))
	f.Add(uint8(H265), []byte{0, 0, 1})
	f.Add(uint8(H264), []byte{})
	f.Fuzz(func(t *testing.T, codec uint8, au []byte) {
		id := H264
		if codec%2 == 0 {
			id = H265
		}
		d, err := NewDecoder(id)
		require.NoError(t, err)
		defer d.Close()
		emit := func(p *Picture) {
			if p.Width > MaxSide || p.Height > MaxSide {
				t.Fatalf("picture of %dx%d came out", p.Width, p.Height)
			}
			require.NoError(t, p.BGR(make([]byte, 3*p.Width*p.Height)))
		}
		_ = d.Decode(au, 0, emit)
		_ = d.Decode(au, 1, emit)
		_ = d.Flush(emit)
	})
}

func TestDecodeAllocations(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 96, Height: 64, FPS: 10}, 60)
	d := newDecoder(t, H264)
	dst := make([]byte, 3*96*64)
	emit := func(p *Picture) {
		assert.NoError(t, p.BGR(dst))
	}
	i := 0
	n := testing.AllocsPerRun(50, func() {
		assert.NoError(t, d.Decode(packets[i].Data, int64(i), emit))
		i++
	})
	// What remains is go-astiav boxing FFmpeg's "try again" into an error and the
	// parsing of the parameter sets of key frames.
	if n > 8 {
		t.Errorf("%v allocations an access unit", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range [][2]int{{768, 576}, {1920, 1080}} {
		for _, id := range []ID{H264, H265} {
			b.Run(fmt.Sprintf("%v/%dx%d", id, size[0], size[1]), func(b *testing.B) {
				packets := encode(b, EncoderConfig{Codec: id, Width: size[0], Height: size[1], FPS: 10}, 30)
				d := newDecoder(b, id)
				dst := make([]byte, 3*size[0]*size[1])
				emit := func(p *Picture) {
					if err := p.BGR(dst); err != nil { // nothing else is measured
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if err := d.Decode(packets[i%len(packets)].Data, int64(i), emit); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
