package codec

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMuxer(t *testing.T) {
	const n, fps = 30, 10
	path := filepath.Join(t.TempDir(), "out.mp4")
	m, err := CreateFile(path, EncoderConfig{Width: 96, Height: 64, FPS: fps, GOP: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := m.BGR(ramp(96, 64, 8*i%96), time.Duration(i)*time.Second/fps); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := m.BGR(ramp(96, 64, 0), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("BGR after Close: %v; want ErrClosed", err)
	}

	in, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if w, h := in.Size(); w != 96 || h != 64 || in.FrameCount() != n || in.FrameInterval() != time.Second/fps {
		t.Errorf("%d×%d, %d frames, one each %v; want 96×64, %d, %v", w, h, in.FrameCount(), in.FrameInterval(), n, time.Second/fps)
	}
	pix := make([]byte, 3*96*64)
	for i := 0; ; i++ {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			if i != n {
				t.Errorf("%d pictures; want %d", i, n)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.BGR(pix); err != nil {
			t.Fatal(err)
		}
		// The bar is where it was drawn, so the pictures are in order.
		if x := 8*i%96 + 4; pix[3*(32*96+x)] < 200 {
			t.Errorf("picture %d has no bar at column %d", i, x)
		}
		if want := time.Duration(i) * time.Second / fps; time.Duration(p.PTS) != want {
			t.Errorf("picture %d at %v; want %v", i, time.Duration(p.PTS), want)
		}
	}
}

func TestMuxerRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, path string
		cfg        EncoderConfig
		want       string
	}{
		{"no such folder", filepath.Join(dir, "none", "a.mp4"), EncoderConfig{Width: 16, Height: 16}, "a.mp4"},
		{"odd size", filepath.Join(dir, "a.mp4"), EncoderConfig{Width: 15, Height: 16}, "must be even"},
		{"reordering", filepath.Join(dir, "a.mp4"), EncoderConfig{Width: 16, Height: 16, BFrames: 2}, "want 0"},
	} {
		m, err := CreateFile(tt.path, tt.cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v; want one with %q", tt.name, err, tt.want)
		}
		if m != nil {
			m.Close()
		}
	}
}

// What is there of a file that was not closed can be played, each picture at its
// time, or right after the one before where that was not later.
func TestMuxerCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.mp4")
	m, err := CreateFile(path, EncoderConfig{Width: 96, Height: 64, GOP: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	given := []int{0, 40, 140, 139, 139, 300, 2000, 2040, 2080, 2120, 2160, 2200}
	for i, ms := range given {
		if err := m.BGR(ramp(96, 64, 8*i%96), time.Duration(ms)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	in, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := []int{0, 40, 140, 140, 140, 300, 2000, 2040}
	for i, ms := range want {
		p, err := in.Next()
		if err != nil {
			t.Fatalf("picture %d: %v; want %d, those of two key frames that a third followed", i, err, len(want))
		}
		if late := time.Duration(p.PTS) - time.Duration(ms)*time.Millisecond; late < 0 || late > time.Millisecond {
			t.Errorf("picture %d at %v; want %d ms", i, time.Duration(p.PTS), ms)
		}
	}
}

// A disk that is full is an error that says so, and the encoder goes on to the next.
func TestMuxerFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.mp4")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	m, err := CreateFile(path, EncoderConfig{Width: 96, Height: 64, GOP: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 20; i++ {
		err = m.BGR(ramp(96, 64, 8*i%96), time.Duration(i)*time.Second)
	}
	if err := errors.Join(err, m.Close()); err == nil || !strings.Contains(err.Error(), "No space left on device") {
		t.Errorf("error is %v; want one about the space", err)
	}
}
