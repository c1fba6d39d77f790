package pipeline

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects/privacy"
)

// spectator looks at every picture, as anybody and as an operator.
type spectator struct {
	*recorder
	mu                   sync.Mutex
	thumbnails           int
	red, grey, all, seen int // pictures with red, with some and with only grey in them, and those that operators see red in
}

// red counts the pixels of the square.
func red(bgr []byte) (n int) {
	for ; len(bgr) >= 3; bgr = bgr[3:] {
		if bgr[0] < 80 && bgr[1] < 80 && bgr[2] > 120 {
			n++
		}
	}
	return n
}

func (s *spectator) Publish(m *segdv1.MaskFrame, p *privacy.Picture) {
	s.recorder.Publish(m, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if red(p.BGR(false)) > 0 {
		s.red++
	}
	if red(p.BGR(true)) > 0 {
		s.seen++
	}
	switch n := bytes.Count(p.BGR(false), []byte{0x80, 0x80, 0x80}); {
	case n == testWidth*testHeight:
		s.all++
	case n > 0:
		s.grey++
	}
}

// Thumbnail counts as a picture.
func (s *spectator) Thumbnail(m *segdv1.MaskFrame, p *privacy.Picture, object uint32) (string, int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thumbnails++; red(p.BGR(false)) > 0 {
		s.red++
	}
	return s.recorder.Thumbnail(m, p, object)
}

// keepMarked has b show what people mark, and mark the square as that.
func (b *bench) keepMarked(label string) {
	b.cfg.Privacy.ExceptKept = true
	b.cfg.Annotation = annotate(ptr(3), 3)
	b.cfg.Annotation.Objects[0].Label = label
}

// No viewer sees a person who is to be hidden, from the first picture to the last, whatever the detector does.
func TestPrivacy(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		change                    func(*bench, *finder)
		red, grey, whole, visible bool // in some pictures; the last for operators
	}{
		{"off", func(b *bench, _ *finder) { b.cfg.Privacy = privacy.Config{} }, true, false, false, true},
		{"filled", func(*bench, *finder) {}, false, true, true, false},
		{"operators see it", func(b *bench, _ *finder) { b.cfg.Privacy.Operators = true }, false, true, true, true},
		{"who is marked as a person, and kept", func(b *bench, _ *finder) { b.keepMarked("person") }, true, true, true, true},
		{"who is before a door that is marked", func(b *bench, _ *finder) { b.keepMarked("door") }, false, true, true, false},
		{"the detector fails", func(_ *bench, f *finder) {
			f.say = func(n int, found []features.Detection) ([]features.Detection, error) {
				if n > 5 {
					return nil, errors.New("no device")
				}
				return found, nil
			}
		}, false, true, true, false},
		{"the detector never works", func(_ *bench, f *finder) {
			f.say = func(int, []features.Detection) ([]features.Detection, error) { return nil, errors.New("no device") }
		}, false, false, true, false},
		{"nothing is detected", func(b *bench, _ *finder) { b.cfg.Detect, b.cfg.NewDetector = Detect{}, nil }, false, false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 30)
				f := &finder{}
				b.detecting(f, 200*time.Millisecond)
				b.cfg.Privacy = privacy.Config{Fill: []string{"person"}, Margin: 0.2}
				s := &spectator{recorder: b.rec}
				b.cfg.Viewer = s
				tt.change(b, f)
				b.run(t.Context(), t)
				assert.Len(t, b.rec.viewed, 30, "pictures")
				if s.red > 0 != tt.red || s.grey > 0 != tt.grey || s.all > 0 != tt.whole || s.seen > 0 != tt.visible {
					t.Errorf("%d pictures with red, %d with grey, %d all grey, %d that operators see red in", s.red, s.grey, s.all, s.seen)
				}
				if s.thumbnails > 0 != (tt.red || tt.grey) {
					t.Errorf("%d thumbnails", s.thumbnails)
				}
				if s.all > 2 && tt.grey && f.say == nil {
					t.Errorf("%d pictures are hidden as a whole; want those before the first look was over", s.all)
				}
			})
		})
	}
}

// Who asks for a picture sees no more of it than who watches.
func TestPrivacyOfOnePicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.detecting(&finder{}, 200*time.Millisecond)
		b.cfg.Privacy = privacy.Config{Fill: []string{"person"}, Margin: 0.2}
		var c *Camera
		asked := 0
		b.cfg.Viewer = &asking{recorder: b.rec, ask: func() {
			assert.NoError(t, c.Picture(func(_ *segdv1.MaskFrame, p *privacy.Picture) error {
				if n := red(p.BGR(false)) + red(p.BGR(true)); n > 0 {
					t.Errorf("%d pixels are red", n)
				}
				asked++
				return nil
			}))
		}}
		var err error
		c, err = New(b.cfg)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
		if b.check(t, c); asked != 30 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// asking asks for a picture when one is shown.
type asking struct {
	*recorder
	ask func()
}

func (a *asking) Publish(m *segdv1.MaskFrame, p *privacy.Picture) {
	a.recorder.Publish(m, p)
	a.ask()
}
