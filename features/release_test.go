package features

import (
	"testing"
	"testing/synctest"

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

// Scenes that were released lend each other their memory, and so do extractors. No time passes, however slow the machine is.
func TestRelease(t *testing.T) { synctest.Test(t, testRelease) }

func testRelease(t *testing.T) {
	const cameras, frames, width, height = 5, 8, 640, 480
	var scenes [cameras]Scene
	var extractors [cameras]*Extractor
	for k := range extractors {
		var err error
		if extractors[k], err = New(Config{Superpixels: 50}, borrower{}); err != nil {
			t.Fatal(err)
		}
	}
	bgr := make([]byte, 3*width*height)
	look := func(camera int) {
		s := &scenes[camera]
		if err := extractors[camera].Extract(s, bgr, width, height, Plan{Whole: true, Coarse: Everywhere}); err != nil {
			t.Fatal(err)
		}
		if s.N == 0 || len(s.Patches[0].Labels) != width*height {
			t.Fatalf("%d superpixels, %d labels", s.N, len(s.Patches[0].Labels))
		}
		p := s.Patches[0].Maps
		if s.Release(); p[0].Data != nil || s.X != nil {
			t.Fatal("values are there after they were released")
		}
	}
	look(0)
	got := memtest.Allocated(func() {
		for range frames {
			for camera := range cameras {
				look(camera)
			}
		}
	})
	// Without that each camera takes 6 MB of its own, and its frames 30.
	if most := uint64(16 << 20); got > most {
		t.Errorf("%d MB were allocated for %d scenes of other cameras; want at most %d", got>>20, cameras*frames, most>>20)
	}
}
