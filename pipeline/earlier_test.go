package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/tracker"
)

// The stepper keeps the pictures of a video as they were decoded, and makes of them, later and
// with another extractor, the scenes that they made when they came.
func TestPicturesMakeTheScenesThatCame(t *testing.T) {
	const width, height, frames = 320, 240, 12
	path := filepath.Join(t.TempDir(), "clip.h264")
	enc, err := codec.NewEncoder(codec.EncoderConfig{Width: width, Height: height, FPS: testFPS})
	require.NoError(t, err)
	defer enc.Close()
	var raw []byte
	pix := make([]byte, 3*width*height)
	for i := range frames {
		for p := range pix {
			x, y := p/3%width, p/3/width
			pix[p] = byte(3*x+5*i) ^ byte(y*(1+p%3))
		}
		packets, err := enc.BGR(pix, false)
		require.NoError(t, err)
		for _, p := range packets {
			raw = append(raw, p.Data...)
		}
	}
	rest, err := enc.Flush()
	require.NoError(t, err)
	for _, p := range rest {
		raw = append(raw, p.Data...)
	}
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 1)
		b.cfg.Open = func(o ingest.Observer) (Source, error) {
			s, err := ingest.Open(ingest.Config{Camera: "gate", URL: "file:" + path, Observer: o})
			c := &counted{Source: s}
			b.sources = append(b.sources, c)
			return c, err
		}
		made := 0
		extractors := b.cfg.NewExtractor
		b.cfg.NewExtractor = func() (Extractor, error) { made++; return extractors() }
		var pictures []tracker.Picture
		var came []features.Scene
		b.onPicture = func(s *features.Scene, p tracker.Picture) {
			p.Retain()
			c := *s
			c.Thumbnail.Lab = slices.Clone(s.Thumbnail.Lab)
			pictures, came = append(pictures, p), append(came, c)
		}
		b.run(t.Context(), t)
		if len(pictures) != frames || made != 1 {
			t.Fatalf("%d pictures, %d extractors; want %d and 1", len(pictures), made, frames)
		}
		for i, p := range pictures {
			again := features.Scene{Seq: 7}
			require.NoError(t, p.Scene(&again, features.Plan{}))
			if again.Seq != 7 || len(again.Thumbnail.Lab) == 0 || !slices.Equal(again.Thumbnail.Lab, came[i].Thumbnail.Lab) {
				t.Errorf("frame %d has become another scene", i)
			}
			if p.Bytes() > 2*width*height {
				t.Errorf("frame %d: %d bytes for %d pixels; want less than 2 each", i, p.Bytes(), width*height)
			}
			p.Release()
		}
		assert.Equal(t, 2, made, "extractors")
	})
}

// What fails in a scene of an earlier frame costs that preview, and nothing else.
func TestPreviewThatPanics(t *testing.T) {
	var made, fail atomic.Int32
	live(t, func(b *bench) {
		extractors := b.cfg.NewExtractor
		b.cfg.NewExtractor = func() (Extractor, error) {
			e, err := extractors()
			if made.Add(1) == 1 || err != nil { // of the frames that come
				return e, err
			}
			return &extractor{e, func(*features.Scene, features.Plan) error {
				switch fail.Add(1) {
				case 1:
					panic("a wild index")
				case 2:
					return errors.New("out of order")
				}
				return nil
			}}, nil
		}
	}, func(t *testing.T, _ *bench, c *Camera) {
		a := annotate(ptr(12), 12)
		for _, want := range []string{"a wild index", "out of order"} {
			_, err := c.Preview(t.Context(), a)
			assert.ErrorContains(t, err, want)
		}
		for range 2 {
			_, err := c.Preview(t.Context(), a)
			assert.NoError(t, err, "another preview")
		}
		assert.EqualValues(t, 4, made.Load(), "extractors")
		if s := c.Snapshot(); s.Restarts != 0 || s.Failed != 0 {
			t.Errorf("%d restarts, %d frames failed", s.Restarts, s.Failed)
		}
	})
}

// The memory for scenes of earlier frames goes a while after the last one, unless a frame is held that people draw on.
func TestRemakerRests(t *testing.T) {
	live(t, nil, func(t *testing.T, _ *bench, c *Camera) {
		_, err := c.Preview(t.Context(), annotate(ptr(12), 12))
		require.NoError(t, err)
		_, err = c.Hold(t.Context(), 12, "page")
		require.NoError(t, err)
		rested := func() (rested bool) {
			t.Helper()
			require.NoError(t, c.atTurn(t.Context(), func(s *stages) error {
				s.letGoExpired(time.Now())
				s.earlier.mu.Lock()
				defer s.earlier.mu.Unlock()
				rested = s.earlier.extract == nil
				return nil
			}))
			return rested
		}
		idle := func(d time.Duration) {
			require.NoError(t, c.atTurn(t.Context(), func(s *stages) error {
				s.earlier.mu.Lock()
				defer s.earlier.mu.Unlock()
				s.earlier.used = time.Now().Add(-d)
				return nil
			}))
		}
		if idle(2 * restAfter); rested() {
			t.Error("it is gone while a frame is held")
		}
		require.NoError(t, c.LetGo(t.Context(), 12, "page"))
		if idle(restAfter / 2); rested() {
			t.Error("it is gone at once")
		}
		if idle(2 * restAfter); !rested() {
			t.Error("it is still there")
		}
		if _, err := c.Preview(t.Context(), annotate(ptr(12), 12)); err != nil || rested() {
			t.Errorf("another preview: %v", err)
		}
	})
}
