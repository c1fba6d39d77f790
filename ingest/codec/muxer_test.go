package codec

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMuxer(t *testing.T) {
	const n, fps = 30, 10
	path := filepath.Join(t.TempDir(), "out.mp4")
	m, err := CreateFile(path, EncoderConfig{Width: 96, Height: 64, FPS: fps, GOP: 8})
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, m.BGR(ramp(96, 64, 8*i%96), time.Duration(i)*time.Second/fps))
	}
	require.NoError(t, m.Close())
	assert.NoError(t, m.Close(), "second Close")
	assert.ErrorIs(t, m.BGR(ramp(96, 64, 0), 0), ErrClosed, "BGR after Close")

	in, err := OpenFile(path)
	require.NoError(t, err)
	defer in.Close()
	if w, h := in.Size(); w != 96 || h != 64 || in.FrameCount() != n || in.FrameInterval() != time.Second/fps {
		t.Errorf("%d×%d, %d frames, one each %v; want 96×64, %d, %v", w, h, in.FrameCount(), in.FrameInterval(), n, time.Second/fps)
	}
	pix := make([]byte, 3*96*64)
	for i := 0; ; i++ {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			assert.Equal(t, n, i, "pictures")
			return
		}
		require.NoError(t, err)
		require.NoError(t, p.BGR(pix))
		// The bar is where it was drawn, so the pictures are in order.
		if x := 8*i%96 + 4; pix[3*(32*96+x)] < 200 {
			t.Errorf("picture %d has no bar at column %d", i, x)
		}
		assert.Equal(t, time.Duration(i)*time.Second/fps, time.Duration(p.PTS), "picture %d at", i)
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
		assert.ErrorContains(t, err, tt.want, "%s: error is", tt.name)
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
	require.NoError(t, err)
	defer m.Close()
	given := []int{0, 40, 140, 139, 139, 300, 2000, 2040, 2080, 2120, 2160, 2200}
	for i, ms := range given {
		require.NoError(t, m.BGR(ramp(96, 64, 8*i%96), time.Duration(ms)*time.Millisecond))
	}
	in, err := OpenFile(path)
	require.NoError(t, err)
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
	require.NoError(t, os.Symlink("/dev/full", path))
	m, err := CreateFile(path, EncoderConfig{Width: 96, Height: 64, GOP: 2})
	require.NoError(t, err)
	for i := 0; err == nil && i < 20; i++ {
		err = m.BGR(ramp(96, 64, 8*i%96), time.Duration(i)*time.Second)
	}
	assert.ErrorContains(t, errors.Join(err, m.Close()), "No space left on device")
}
