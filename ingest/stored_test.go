package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// clipFile writes the numbered clip as a file FFmpeg opens.
func clipFile(t testing.TB) string {
	t.Helper()
	var raw []byte
	for _, p := range packets(t, clipConfig, clipFrames) {
		raw = append(raw, p.Data...)
	}
	path := filepath.Join(t.TempDir(), "clip.h264")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

// imageDir writes n numbered images, alternately JPEG and PNG, and things that
// are not images.
func imageDir(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		pix := numbered(128, 96, i)
		img := image.NewRGBA(image.Rect(0, 0, 128, 96))
		for j := range 128 * 96 {
			img.SetRGBA(j%128, j/128, color.RGBA{pix[3*j+2], pix[3*j+1], pix[3*j], 255})
		}
		var b bytes.Buffer
		name := fmt.Sprintf("%05d.jpg", i)
		if i%2 == 0 {
			require.NoError(t, jpeg.Encode(&b, img, nil))
		} else {
			name = fmt.Sprintf("%05d.PNG", i)
			require.NoError(t, png.Encode(&b, img))
		}
		write(t, dir, name, b.Bytes())
	}
	write(t, dir, "readme.txt", []byte("not an image"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00000a.jpg"), 0o700))
	return dir
}

func write(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

// runAll runs a source until it ends, or for at most limit frames.
func runAll(t testing.TB, cfg Config, limit int) ([]seen, error) {
	t.Helper()
	s, err := Open(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got []seen
	err = s.Run(ctx, func(f *Frame) {
		n := number(f)
		f.Release()
		if got = append(got, seen{f, n}); len(got) == limit {
			cancel()
		}
	})
	return got, err
}

func TestStored(t *testing.T) {
	file, dir := clipFile(t), imageDir(t, clipFrames)
	for _, tc := range []struct {
		name, url string
		loop      bool
		step      time.Duration
	}{
		{"file", "file:" + file, false, 20 * time.Millisecond},
		{"plain path", file, false, 20 * time.Millisecond},
		{"file in a loop", "file:" + file, true, 20 * time.Millisecond},
		{"directory", "dir:" + dir, false, 50 * time.Millisecond},
		{"directory in a loop", "dir:" + dir, true, 50 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := clipFrames
			if tc.loop {
				want = 3*clipFrames + 2
			}
			var e events
			got, err := runAll(t, Config{Camera: "c", URL: tc.url, Loop: tc.loop, AsFast: true, FPS: 20, Observer: e.observer()}, want+1-btoi(tc.loop))
			if tc.loop {
				mustWrap(t, err, context.Canceled)
			} else if err != nil {
				t.Fatal(err)
			}
			require.Len(t, got, want, "frames")
			for i, f := range got {
				if f.number != i%clipFrames || f.Seq != uint64(i) || f.Clock != ClockMedia || f.Camera != "c" {
					t.Errorf("frame %d shows picture %d: seq %d, clock %v", i, f.number, f.Seq, f.Clock)
				}
				if want := time.Duration(i) * tc.step; (f.PTS - want).Abs() > time.Millisecond {
					t.Errorf("frame %d has PTS %v, want %v", i, f.PTS, want)
				}
			}
			if e.ups != 1 || e.downs != 0 || e.undecoded != 0 {
				t.Errorf("events: %+v", &e)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A file is played at the speed of its time stamps. No real time passes: what
// is measured is the bubble's clock.
func TestPaced(t *testing.T) {
	dir := imageDir(t, 8)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		got, err := runAll(t, Config{URL: "dir:" + dir, FPS: 2}, 0)
		require.NoError(t, err)
		for i, f := range got {
			assert.Equal(t, time.Duration(i)*500*time.Millisecond, f.Captured.Sub(begin), "frame %d was released after", i)
		}
	})
}

// ivfFile writes the numbered clip as an IVF file whose frames have the given times, in
// milliseconds.
func ivfFile(t testing.TB, times []uint64) string {
	t.Helper()
	b := append([]byte("DKIF\x00\x00\x20\x00H264"), make([]byte, 20)...)
	binary.LittleEndian.PutUint16(b[12:], uint16(clipConfig.Width))
	binary.LittleEndian.PutUint16(b[14:], uint16(clipConfig.Height))
	binary.LittleEndian.PutUint32(b[16:], 1000)
	binary.LittleEndian.PutUint32(b[20:], 1)
	for i, p := range packets(t, clipConfig, len(times)) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Data)))
		b = binary.LittleEndian.AppendUint64(b, times[i])
		b = append(b, p.Data...)
	}
	path := filepath.Join(t.TempDir(), "clip.ivf")
	write(t, filepath.Dir(path), filepath.Base(path), b)
	return path
}

// A file whose times jump is played on as if they did not; no real time passes.
func TestPacedOverCuts(t *testing.T) {
	for _, tc := range []struct {
		name string
		time func(i uint64) uint64 // of the frame, in milliseconds
		step time.Duration
	}{
		{"an hour's gap", func(i uint64) uint64 { return 20*i + i/10*3600e3 }, 20 * time.Millisecond},
		{"joined of parts of ten frames", func(i uint64) uint64 { return i % 10 * 20 }, 20 * time.Millisecond},
		{"a day back", func(i uint64) uint64 { return 95443e3*(1-i/20) + 20*i }, 20 * time.Millisecond},
		{"one frame a day ahead", func(i uint64) uint64 { return 20*i + i/21%2*95443e3*(1-min(1, i%21)) }, 20 * time.Millisecond},
		{"time lapse", func(i uint64) uint64 { return 10e3 * i }, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			times := make([]uint64, 2*clipFrames)
			for i := range times {
				times[i] = tc.time(uint64(i))
			}
			url := "file:" + ivfFile(t, times)
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				got, err := runAll(t, Config{URL: url}, 0)
				if err != nil || len(got) != len(times) {
					t.Fatalf("%d frames, %v", len(got), err)
				}
				for i, f := range got {
					want := time.Duration(i) * tc.step
					if (f.PTS-want).Abs() > tc.step+5*time.Millisecond || (f.Captured.Sub(begin)-f.PTS).Abs() > time.Millisecond || f.number != i {
						t.Errorf("frame %d, picture %d, at %v, was released after %v; want %v", i, f.number, f.PTS, f.Captured.Sub(begin), want)
					}
				}
			})
		})
	}
}

// A paced source that was held up goes on from now, at the same speed.
func TestPacedAfterDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		begin := time.Now()
		var at []time.Duration
		for i := range 6 {
			require.NoError(t, p.wait(context.Background(), time.Duration(i)*100*time.Millisecond))
			at = append(at, time.Since(begin).Round(time.Millisecond))
			if i == 2 {
				time.Sleep(5 * time.Second)
			}
		}
		assert.Equal(t, "[0s 100ms 200ms 5.2s 5.3s 5.4s]", fmt.Sprint(at), "released at %v", at)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		assert.ErrorIs(t, p.wait(ctx, time.Hour), context.Canceled, "wait after cancel")
	})
}

func TestDamagedImages(t *testing.T) {
	dir := imageDir(t, 4)
	write(t, dir, "00001a.jpg", []byte("\xff\xd8\xff this is no JPEG"))
	write(t, dir, "00001b.png", hugePNG())
	var e events
	got, err := runAll(t, Config{URL: "dir:" + dir, AsFast: true, Observer: e.observer()}, 0)
	if err != nil || len(got) != 4 || e.undecoded != 2 {
		t.Errorf("%d frames, %d undecodable, error %v; want 4, 2 and none", len(got), e.undecoded, err)
	}
}

// hugePNG is the head of a PNG of 100000×100000 pixels.
func hugePNG() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	data := b.Bytes()
	copy(data[16:], "\x00\x01\x86\xa0\x00\x01\x86\xa0")
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// The size in an image's head is believed before memory is set aside for it.
func TestHugeImage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.png", hugePNG())
	_, err := new(Source).readImage(t.Context(), filepath.Join(dir, "a.png"))
	mustWrap(t, err, codec.ErrTooLarge)
	mustWrap(t, err, codec.ErrUndecodable)
}

func TestStoredErrors(t *testing.T) {
	empty, bad := t.TempDir(), t.TempDir()
	write(t, bad, "a.jpg", []byte("no"))
	text := filepath.Join(bad, "a.jpg")
	for _, tc := range []struct {
		name, url, words string
		wrap             error
	}{
		{"no file", "file:/none/such.mp4", "no such file", os.ErrNotExist},
		{"no file, nor a URL", "/none/cam.local", "no such file or folder: /none/cam.local; if a camera is meant, a URL with its scheme is accepted: rtsp://", os.ErrNotExist},
		{"no directory", "dir:/none", "no such file", os.ErrNotExist},
		{"no images", "dir:" + empty, ".jpg, .jpeg and .png are accepted", nil},
		{"only bad images", "dir:" + bad, "no frame could be decoded", ErrNoFrames},
		{"not a video", "file:" + text, "not a video file", nil},
		{"directory as file", "file:" + empty, "is a folder; accepted: a regular file", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var e events
			_, err := runAll(t, Config{URL: tc.url, AsFast: true, Loop: true, Observer: e.observer()}, 0)
			if err == nil || !strings.Contains(err.Error(), tc.words) || !strings.HasPrefix(err.Error(), "ingest: ") {
				t.Errorf("error %v does not say %q", err, tc.words)
			}
			if tc.wrap != nil {
				mustWrap(t, err, tc.wrap)
			}
			assert.Equal(t, 1, e.downs, "events: %+v", &e)
			if perr := probe(context.Background(), Config{URL: tc.url}); perr == nil || perr.Error() != err.Error() {
				t.Errorf("First says %v, Run says %v", perr, err)
			}
		})
	}
}

func TestFirstStored(t *testing.T) {
	for _, url := range []string{"file:" + clipFile(t), "dir:" + imageDir(t, 2)} {
		assert.NoError(t, probe(context.Background(), Config{URL: url}), "%s", url)
	}
}

// Every kind of image the decoders make comes out in the right order of
// channels.
func TestToBGR(t *testing.T) {
	b := image.Rect(3, 5, 7, 8) // not at the origin
	c := color.NRGBA{200, 100, 50, 255}
	nrgba, rgba, pal, rgba64 := image.NewNRGBA(b), image.NewRGBA(b), image.NewPaletted(b, color.Palette{color.Black, c}), image.NewRGBA64(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			nrgba.Set(x, y, c)
			rgba.Set(x, y, c)
			pal.Set(x, y, c)
			rgba64.Set(x, y, c)
		}
	}
	for _, img := range []image.Image{nrgba, rgba, pal, rgba64} {
		dst := make([]byte, 3*b.Dx()*b.Dy())
		toBGR(dst, img)
		for i, got := range dst {
			want := [3]uint8{50, 100, 200}[i%3]
			if d := int(got) - int(want); d < -2 || d > 2 {
				t.Fatalf("%T: byte %d is %d, want %d", img, i, got, want)
			}
		}
	}
}
