package soak

import (
	"bytes"
	"context"
	"errors"
	"image"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/tracker"
)

const width, height, clipFrames = 96, 64, 40

// In each loop of the clip red walks through it from frame 0 to 17, and blue from 8 to 24.
var posts = []struct {
	bgr         [3]byte
	from, until int
}{{[3]byte{30, 30, 200}, 0, 17}, {[3]byte{220, 60, 20}, 8, 24}}

// boxOf is where a post is in frame n of the clip, empty if it is not.
func boxOf(k, n int) image.Rectangle {
	if p := posts[k]; n >= p.from && n <= p.until {
		left := 4 + 4*(n-p.from)
		return image.Rect(left, 6+4*k, left+18, 50+4*k)
	}
	return image.Rectangle{}
}

// clipOf plays the clip over and over, for n frames.
func clipOf(n int) offline.Video {
	pictures := make([]*offline.Picture, clipFrames)
	for i := range pictures {
		p := offline.Blank(width, height, [3]byte{60, 120, 40})
		for k, post := range posts {
			b := boxOf(k, i)
			for y := b.Min.Y; y < b.Max.Y; y++ {
				copy(p.BGR[3*(y*width+b.Min.X):], bytes.Repeat(post.bgr[:], b.Dx()))
			}
		}
		pictures[i] = p
	}
	return func(_ context.Context, show func(*offline.Picture) error) error {
		for i := range n {
			p := *pictures[i%clipFrames]
			p.Time = time.Duration(i) * 100 * time.Millisecond
			if err := show(&p); err != nil {
				return err
			}
		}
		return nil
	}
}

// clipDetector finds the posts in every so many-th frame, from the first on.
type clipDetector struct {
	every, looks int
	err          error
}

func (d *clipDetector) Detect(dst []features.Detection, _ []byte, _, _ int, _ float64) ([]features.Detection, error) {
	n := d.every * d.looks % clipFrames
	d.looks++
	dst = dst[:0]
	for k := range posts {
		if b := boxOf(k, n); !b.Empty() {
			dst = append(dst, features.Detection{Box: b, Class: "person", Score: 0.8})
		}
	}
	return dst, d.err
}

func clipOptions() AutomaticOptions {
	const frames = Warm + 2*clipFrames
	return AutomaticOptions{
		Video: clipOf(frames + 1), VideoName: "clip", Detector: &clipDetector{every: 4}, Every: 4,
		// They are others in the next loop.
		Marking:  marking.Config{Classes: []string{"person"}, Track: track.Config{Keep: 1200 * time.Millisecond, Reidentify: 1}},
		Tracker:  tracker.Config{OccludedFrames: 3},
		Features: features.Config{Superpixels: 48}, Frames: frames,
	}
}

// Each object that begins, two a loop, is gone or left.
func TestRunAutomatic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: a sequence of pictures in a loop")
	}
	opt := clipOptions()
	steps := 0
	opt.Progress = func(done, total int) {
		if steps++; done != steps || total != opt.Frames {
			t.Errorf("%d of %d done; want %d of %d", done, total, steps, opt.Frames)
		}
	}
	d := opt.Detector.(*clipDetector)
	r, err := RunAutomatic(t.Context(), opt)
	require.NoError(t, err)
	if r.Begun != r.Gone+r.Left || r.Begun < 2*opt.Frames/clipFrames || r.Left > 2 {
		t.Errorf("%+v; want two objects in each of %d loops, gone or, two at most, left", r.Objects, opt.Frames/clipFrames)
	}
	if r.MostTracked < 2 || r.MostTracked > 4 || r.MostResting > 4 {
		t.Errorf("%+v; want two to four to be followed, and no more to rest", r.Objects)
	}
	if steps != opt.Frames || r.Frames != opt.Frames || d.looks != opt.Frames/opt.Every || r.MSPerFrame <= 0 {
		t.Errorf("%+v, %d steps, %d looks; want %d frames, of which each fourth was looked at", r, steps, d.looks, opt.Frames)
	}
	if r.WarmRSSMB < 1 || r.RSSMB < 1 || r.RSSMBHighest < r.RSSMB || r.Ratio != r.RSSMB/r.WarmRSSMB {
		t.Errorf("%+v; want resident memory", r.Memory)
	}
}

func TestRunAutomaticFaults(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name   string
		change func(*AutomaticOptions)
		want   string
	}{
		{"frames", func(o *AutomaticOptions) { o.Frames = Warm }, "want more than 2000"},
		{"every", func(o *AutomaticOptions) { o.Every = 0 }, "every 0 frames"},
		{"marking", func(o *AutomaticOptions) { o.Marking.MaxObjects = -1 }, "-1 objects"},
		{"detector", func(o *AutomaticOptions) { o.Detector = &clipDetector{every: 4, err: boom} }, "frame 0: boom"},
		{"video", func(o *AutomaticOptions) { o.Video = clipOf(6) }, "ends with frame 6; want 2080"},
		{"size", func(o *AutomaticOptions) {
			o.Video = func(_ context.Context, show func(*offline.Picture) error) error {
				return errors.Join(show(offline.Blank(96, 64, [3]byte{})), show(offline.Blank(64, 96, [3]byte{})))
			}
		}, "frame 1 has 64×96 pixels; want 96×64"},
	} {
		opt := clipOptions()
		tt.change(&opt)
		_, err := RunAutomatic(t.Context(), opt)
		assert.ErrorContains(t, err, tt.want, "%s", tt.name)
	}
}

// An object that is neither gone nor left is told, and one that is both.
func TestCountLost(t *testing.T) {
	followed := func(marked []uint32, gone []uint32, left ...uint32) offline.Followed {
		f := offline.Followed{Result: &tracker.Result{}, Tracked: len(left)}
		for _, id := range gone {
			f.Decision.Edits = append(f.Decision.Edits, objects.Remove{ID: id})
		}
		f.Decision.Annotation = &annotation.Annotation{}
		for _, id := range marked {
			f.Decision.Annotation.Objects = append(f.Decision.Annotation.Objects, annotation.Object{ID: id})
		}
		for _, id := range left {
			f.Objects = append(f.Objects, tracker.Object{ID: id})
		}
		return f
	}
	const first = objects.FirstID
	for _, tt := range []struct {
		name  string
		after offline.Followed
		want  string
	}{
		{"gone", followed(nil, []uint32{first}, first+1), ""},
		{"neither", followed(nil, nil, first+1), "2 objects were begun, but 0 are gone and 1 left"},
		{"both", followed(nil, []uint32{first}, first, first+1), "2 objects were begun, but 1 are gone and 2 left"},
	} {
		var o Objects
		require.NoError(t, o.count(followed([]uint32{first, first + 1}, nil, first, first+1)))
		err := o.count(tt.after)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}
