package codec

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gradient is a picture about as hard as a real one.
func gradient(width, height int) []byte {
	bgr := make([]byte, 3*width*height)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range bgr {
		bgr[i] = byte(127 + 100*math.Sin(float64(i/3%width)/40+float64(i%3)) + 20*math.Cos(float64(i/3/width)/9) + 4*random.Float64())
	}
	return bgr
}

func encodeJPEG(t testing.TB, bgr []byte, width, height, toWidth, toHeight, quality int) ([]byte, image.Image) {
	t.Helper()
	e, err := NewJPEGEncoder(width, height, toWidth, toHeight, quality)
	require.NoError(t, err)
	defer e.Close()
	var out []byte
	for range 2 { // the second of a stream as well
		out, err = e.Encode(bgr)
		require.NoError(t, err)
	}
	img, err := jpeg.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	if img.Bounds() != image.Rect(0, 0, toWidth, toHeight) {
		t.Fatalf("%v, want %d×%d", img.Bounds(), toWidth, toHeight)
	}
	return out, img
}

// A picture comes back with its colours, BGR not RGB and full range, at any size, and smaller.
func TestJPEG(t *testing.T) {
	for _, size := range [][4]int{{64, 48, 64, 48}, {17, 9, 17, 9}, {2, 2, 2, 2}, {1280, 720, 1280, 720}, {1280, 720, 160, 90}, {99, 77, 33, 25}} {
		for _, c := range [][3]byte{{200, 60, 20}, {0, 0, 0}, {255, 255, 255}} {
			_, img := encodeJPEG(t, bytes.Repeat(c[:], size[0]*size[1]), size[0], size[1], size[2], size[3], 90)
			r, g, b, _ := img.At(size[2]/2, size[3]/2).RGBA()
			for i, got := range []uint32{b >> 8, g >> 8, r >> 8} {
				if math.Abs(float64(got)-float64(c[i])) > 4 {
					t.Errorf("%v: %d,%d,%d came back as %d,%d,%d", size, c[2], c[1], c[0], r>>8, g>>8, b>>8)
					break
				}
			}
		}
	}
}

// A quality is about what it is of Go's encoder: the errors left differ by less than 3 dB,
// and a higher one leaves less.
func TestJPEGQuality(t *testing.T) {
	const width, height = 320, 240
	bgr := gradient(width, height)
	psnr := func(img image.Image) float64 {
		var sum float64
		for i := range width * height {
			r, g, b, _ := img.At(i%width, i/width).RGBA()
			for c, v := range []uint32{b, g, r} {
				d := float64(v>>8) - float64(bgr[3*i+c])
				sum += d * d
			}
		}
		return 10 * math.Log10(255*255*3*width*height/sum)
	}
	rgba := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		rgba.Pix[4*i], rgba.Pix[4*i+1], rgba.Pix[4*i+2], rgba.Pix[4*i+3] = bgr[3*i+2], bgr[3*i+1], bgr[3*i], 255
	}
	last := 0.0
	for _, quality := range []int{20, 50, 80, 95} {
		data, img := encodeJPEG(t, bgr, width, height, width, height, quality)
		var theirs bytes.Buffer
		require.NoError(t, jpeg.Encode(&theirs, rgba, &jpeg.Options{Quality: quality}))
		reference, err := jpeg.Decode(bytes.NewReader(theirs.Bytes()))
		require.NoError(t, err)
		got, want := psnr(img), psnr(reference)
		t.Logf("quality %d: %d bytes and %.1f dB, of Go's %d and %.1f", quality, len(data), got, theirs.Len(), want)
		if math.Abs(got-want) > 3 || got <= last {
			t.Errorf("quality %d: %.1f dB, of Go's encoder %.1f", quality, got, want)
		}
		last = got
	}
}

func TestJPEGRefuses(t *testing.T) {
	for _, size := range [][4]int{{0, 1, 1, 1}, {8, 8, 0, 8}, {8, 8, 8, 1 << 20}} {
		if e, err := NewJPEGEncoder(size[0], size[1], size[2], size[3], 80); err == nil {
			e.Close()
			t.Errorf("%v: no error", size)
		}
	}
	e, err := NewJPEGEncoder(2, 2, 2, 2, 80)
	require.NoError(t, err)
	_, err = e.Encode(make([]byte, 10))
	assert.ErrorContains(t, err, "BGR24 of 2x2 is 12 bytes, got 10", "10 bytes")
	e.Close()
	e.Close()
	_, err = e.Encode(make([]byte, 12))
	assert.ErrorIs(t, err, ErrClosed, "closed")
}

func BenchmarkJPEG(b *testing.B) {
	for _, size := range [][4]int{{768, 576, 768, 576}, {1920, 1080, 1920, 1080}, {1920, 1080, 320, 180}} {
		b.Run(fmt.Sprintf("%dx%d/%d", size[0], size[1], size[2]), func(b *testing.B) {
			bgr := gradient(size[0], size[1])
			e, err := NewJPEGEncoder(size[0], size[1], size[2], size[3], 80)
			require.NoError(b, err)
			defer e.Close()
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				out, err := e.Encode(bgr)
				if err != nil { // nothing else is measured
					b.Fatal(err)
				}
				n = len(out)
			}
			b.ReportMetric(float64(n)/1000, "kB")
		})
	}
}
