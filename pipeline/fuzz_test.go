package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/tracker"
)

// seenFrames are frames of the pictures, which the caller releases.
func seenFrames(t testing.TB, dir string, n int) (frames []*ingest.Frame) {
	t.Helper()
	source, err := ingest.Open(ingest.Config{Camera: "gate", URL: "dir:" + dir, FPS: 1000})
	require.NoError(t, err)
	require.NoError(t, source.Run(t.Context(), func(f *ingest.Frame) {
		if len(frames) < n {
			frames = append(frames, f)
		} else {
			f.Release()
		}
	}))
	return frames
}

// Whatever a checkpoint holds, it is taken up or refused, and the frames that follow are labelled, or fail, without a
// panic.
func FuzzRestore(f *testing.F) {
	dir := f.TempDir()
	require.NoError(f, writePictures(dir, 4))
	layout := zones.Layout{
		Zones: []zones.Zone{{Name: "all", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}},
		Lines: []zones.Line{{Name: "line", Points: []zones.Point{{0.5, 0}, {0.5, 1}}}},
	}
	whole, short := seeds(f, dir, layout)
	f.Add(whole, short)
	f.Add(whole, []byte{})
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(f, err)
	frames := seenFrames(f, dir, 2)
	detector := &finder{}
	f.Fuzz(func(t *testing.T, whole, short []byte) {
		b := &bench{rec: &recorder{tb: t}, dir: dir}
		cfg := b.config("gate")
		cfg.NewDetector = func() (Detector, error) { return detector, nil }
		cfg.Detect, cfg.Zones, cfg.Checkpoints = Detect{Classes: []string{"person"}}, layout, &shelf{}
		c, err := New(cfg)
		require.NoError(t, err)
		later := w.EncodeAll(short, nil)
		if len(short) == 0 {
			later = nil
		}
		if c.restoreFrom(w.EncodeAll(whole, nil), later, time.Now()) != nil {
			return
		}
		s := &stages{c: c, holds: map[hold]time.Time{}}
		s.extract, err = cfg.NewExtractor()
		require.NoError(t, err)
		s.step, err = tracker.New(tracker.Config{})
		require.NoError(t, err)
		defer s.step.Close()
		defer c.newest.drop()
		c.stages = s
		if err := s.recall(t.Context(), c.seqNext); err != nil {
			return
		}
		for k, frame := range frames {
			it := &item{frame: frame, seq: c.seqNext + uint64(k), pts: c.ptsNext + time.Duration(k)*100*time.Millisecond}
			it.scene = &features.Scene{Seq: it.seq}
			require.NoError(t, s.extract.Extract(it.scene, frame.Pix, frame.Width, frame.Height, s.step.Plan(features.Plan{})))
			s.detector = detector
			s.look(it, k == 1)
			r := &report{item: it}
			s.resize(it)
			d := s.decide(r)
			if r.result, err = s.step.Step(context.Background(), it.scene, nil, d.Annotation, d.Extents); errors.Is(err, annotation.ErrInvalid) {
				continue
			} else if err != nil {
				return
			}
			s.conclude(r)
			c.capture(s, true)
			c.keeper.Take().Drop()
		}
	})
}

// seeds are a whole checkpoint and a short one of an object in the pictures, not packed.
func seeds(t testing.TB, dir string, layout zones.Layout) (whole, short []byte) {
	t.Helper()
	store := &shelf{}
	b := &bench{rec: &recorder{tb: t}, dir: dir}
	cfg := b.config("gate")
	cfg.NewDetector = func() (Detector, error) { return &finder{}, nil }
	cfg.Detect, cfg.Zones, cfg.Checkpoints = Detect{Classes: []string{"person"}}, layout, store
	cfg.Annotation = annotate(ptr(1), 1)
	c, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Run(t.Context()))
	_, all, _ := store.Load(t.Context(), "gate")
	cp, err := checkpoint.Decode(all[0])
	require.NoError(t, err)
	cp.Marked, cp.Last = nil, nil
	cp.Sequence++
	later, err := checkpoint.Encode(cp)
	require.NoError(t, err)
	return unpacked(t, all[0]), unpacked(t, later)
}
