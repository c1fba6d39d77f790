package features

import (
	"testing"

	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/internal/memtest"
)

// borrower makes maps as package dnn does, each of 256 kB.
type borrower struct{}

func (borrower) Features(dst Sight, _ []byte, width, height int, _ View) (Sight, error) {
	dst.Maps = append(dst.Maps[:0], Map{Channels: 1 << 16, Height: 1, Width: 1, StrideX: float64(width), StrideY: float64(height)})
	dst.Maps[0].Data = buffers.Get[float32](1 << 16)
	clear(dst.Maps[0].Data)
	return dst, nil
}

// Scenes whose maps were released lend each other the memory.
func TestReleaseMaps(t *testing.T) {
	const frames, width, height = 40, 64, 48
	e, err := New(Config{Superpixels: 1}, borrower{})
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	bgr := make([]byte, 3*width*height)
	look := func() {
		if err := e.Extract(&s, bgr, width, height, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		s.ReleaseMaps()
		if s.Patches[0].Maps[0].Data != nil {
			t.Fatal("a map is there after it was released")
		}
	}
	look()
	got := memtest.Allocated(func() {
		for range frames {
			look()
		}
	})
	if got > 4<<16 {
		t.Errorf("%d kB were allocated for %d maps of 256 kB", got>>10, frames)
	}
}
