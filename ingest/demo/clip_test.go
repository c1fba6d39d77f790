package demo

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// The real sample clip. It fails where Debian's opencv-doc is not installed,
// and says so.
func TestPrepareSample(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s: the whole clip")
	}
	const start = 123 // not a multiple of the key frame interval
	calls, last := 0, 0
	c, err := Prepare(context.Background(), ClipPath, Shape{Start: start}, func(done, total int) {
		calls++
		if done < last || total < done {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
		if calls == 1 && total != 795 {
			t.Errorf("progress promises %d frames", total)
		}
	})
	require.NoError(t, err)
	if c.Len() != 795 || c.Width != 768 || c.Height != 576 || c.FPS != 10 || c.Start != start || c.Codec != codec.H264 {
		t.Fatalf("clip of %d frames %dx%d at %d, start %d, %v", c.Len(), c.Width, c.Height, c.FPS, c.Start, c.Codec)
	}
	if calls < 795 || last != 795 {
		t.Errorf("%d calls of progress, the last at %d", calls, last)
	}

	// Decoding may begin at the start frame, and shows that frame of the clip.
	got := decodeFirst(t, c, start)
	want := sourceFrame(t, start)
	if d := meanDifference(got, want); d > 3 {
		t.Errorf("start frame differs from the clip's by %.1f grey levels on average", d)
	}
	if d := meanDifference(got, sourceFrame(t, start-20)); d < 0.5 {
		t.Errorf("the comparison cannot tell frames apart: %.2f", d)
	}
}

// decodeFirst decodes frame n alone.
func decodeFirst(t *testing.T, c *Clip, n int) []byte {
	t.Helper()
	d, err := codec.NewDecoder(c.Codec)
	require.NoError(t, err)
	defer d.Close()
	var au []byte
	for _, nalu := range c.units[n] {
		au = append(append(au, 0, 0, 0, 1), nalu...)
	}
	var out []byte
	require.NoError(t, d.Decode(au, 0, func(p *codec.Picture) {
		out = make([]byte, 3*p.Width*p.Height)
		require.NoError(t, p.BGR(out))
	}))
	if out == nil {
		t.Fatalf("frame %d does not decode alone", n)
	}
	return out
}

func sourceFrame(t *testing.T, n int) []byte {
	t.Helper()
	m, err := codec.OpenFile(ClipPath)
	require.NoError(t, err)
	defer m.Close()
	for i := 0; ; i++ {
		p, err := m.Next()
		require.NoError(t, err)
		if i == n {
			out := make([]byte, 3*p.Width*p.Height)
			require.NoError(t, p.BGR(out))
			return out
		}
	}
}

func meanDifference(a, b []byte) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(float64(a[i]) - float64(b[i]))
	}
	return sum / float64(len(a))
}

// smallClip writes n frames as a bare H.264 file.
func smallClip(t *testing.T, n int) string {
	t.Helper()
	var raw []byte
	for _, p := range smallPackets(t, codec.EncoderConfig{Width: 64, Height: 48, FPS: 10}, n) {
		raw = append(raw, p.Data...)
	}
	path := filepath.Join(t.TempDir(), "clip.h264")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

func smallPackets(t *testing.T, cfg codec.EncoderConfig, n int) []codec.Packet {
	t.Helper()
	enc, err := codec.NewEncoder(cfg)
	require.NoError(t, err)
	defer enc.Close()
	var out []codec.Packet
	for i := range n {
		pix := make([]byte, 3*cfg.Width*cfg.Height)
		for j := range pix {
			pix[j] = byte(10*i + j/96)
		}
		p, err := enc.BGR(pix, false)
		require.NoError(t, err)
		out = append(out, p...)
	}
	p, err := enc.Flush()
	require.NoError(t, err)
	return append(out, p...)
}

// Clips that are far from the sample: of one frame, and of a size that H.264 does not have.
func TestPrepareOther(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "clip.mjpeg")
	var raw bytes.Buffer
	for range 4 {
		require.NoError(t, jpeg.Encode(&raw, image.NewYCbCr(image.Rect(0, 0, 63, 49), image.YCbCrSubsampleRatio420), nil))
	}
	require.NoError(t, os.WriteFile(odd, raw.Bytes(), 0o600))
	for path, want := range map[string]Clip{
		odd:              {Width: 64, Height: 50, units: make([][][]byte, 4)},
		smallClip(t, 1):  {Width: 64, Height: 48, units: make([][][]byte, 1)},
		smallClip(t, 10): {Width: 64, Height: 48, units: make([][][]byte, 10)},
	} {
		c, err := Prepare(t.Context(), path, Shape{Start: StartOf(path)}, nil)
		if err != nil || c.Len() != want.Len() || c.Width != want.Width || c.Height != want.Height {
			t.Errorf("%s: %v, %+v; want %d frames of %d×%d", filepath.Base(path), err, c, want.Len(), want.Width, want.Height)
		}
	}
}

func TestPrepareErrors(t *testing.T) {
	path := smallClip(t, 5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		path  string
		start int
		wrap  error
		words string
	}{
		{"missing", context.Background(), "/none/vtest.avi", 0, ErrNoClip, "opencv-doc"},
		{"start beyond the end", context.Background(), path, 5, nil, "start frame 5 is not one of its 5 frames"},
		{"negative start", context.Background(), path, -1, nil, "start frame -1"},
		{"cancelled", ctx, path, 0, context.Canceled, ""},
		{"not a video", context.Background(), "/etc/passwd", 0, nil, "not a video file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Prepare(tc.ctx, tc.path, Shape{Start: tc.start}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "demo: ") || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("error %v does not say %q", err, tc.words)
			}
			if tc.wrap != nil && !errors.Is(err, tc.wrap) {
				t.Errorf("error %v does not wrap %v", err, tc.wrap)
			}
		})
	}
	_, err := Prepare(context.Background(), path, Shape{Start: 3}, nil)
	assert.NoError(t, err)
}

// A clip made into another shape: its size, rate and length, and still the same
// picture.
func TestPrepare(t *testing.T) {
	shape := Shape{Width: 384, Height: 144, FPS: 25, Frames: 30}
	last, total := 0, 0
	c, err := Prepare(t.Context(), ClipPath, shape, func(done, of int) { last, total = done, of })
	require.NoError(t, err)
	if c.Len() != 30 || c.Width != 384 || c.Height != 144 || c.FPS != 25 || c.Start != 0 || last != 30 || total != 30 {
		t.Fatalf("clip of %d frames %dx%d at %d, start %d; progress %d of %d", c.Len(), c.Width, c.Height, c.FPS, c.Start, last, total)
	}
	got, large := decodeFirst(t, c, 0), sourceFrame(t, 0)
	small := make([]byte, 0, len(got))
	for y := range 144 { // every second column and fourth row of 768×576
		for x := range 384 {
			o := 3 * (4*y*768 + 2*x)
			small = append(small, large[o:o+3]...)
		}
	}
	if d := meanDifference(got, small); d > 12 {
		t.Errorf("the small picture differs from the large one by %.1f grey levels on average", d)
	}
	_, err = Prepare(t.Context(), ClipPath, Shape{Width: 33}, nil)
	assert.ErrorContains(t, err, "even", "an odd width")
}
