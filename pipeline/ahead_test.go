package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/pipeline/internal/pending"
)

// An annotation of any of the next thousand frames is used on its frame, however long
// that takes; the client is told at once when it takes longer than they wait.
func TestAnnotateAhead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ahead   uint64        // of frame 21, the next, at 10 a second
		wait    time.Duration // until the deadline
		pending bool
		within  time.Duration // the answer
	}{
		{"soon", 20, 10 * time.Second, false, 2100 * time.Millisecond},
		{"as late as one waits", 98, 10 * time.Second, false, 10 * time.Second},
		{"later than one waits", 120, 10 * time.Second, true, 0},
		{"the last that may be named", 999, 10 * time.Second, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live(t, nil, func(t *testing.T, b *bench, c *Camera) {
				want := 21 + tt.ahead
				ctx, cancel := context.WithTimeout(t.Context(), tt.wait)
				defer cancel()
				began := time.Now()
				out, err := c.Annotate(ctx, annotate(ptr(want), int(want)))
				require.NoError(t, err)
				if took := time.Since(began); took > tt.within {
					t.Errorf("answered after %v", took)
				}
				if out.Sequence != want || out.Pending != tt.pending || (len(out.Objects) == 0) != tt.pending {
					t.Errorf("answered %v", out)
				}
				if tt.ahead > 200 {
					return // as the one before, only longer
				}
				time.Sleep(time.Duration(tt.ahead)*100*time.Millisecond + time.Second)
				accepted := 0
				for _, e := range b.rec.happened() {
					if e.Kind == segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED && e.Sequence == want {
						accepted++
					}
				}
				if accepted != 1 {
					t.Errorf("frame %d came and %d events say that it is annotated", want, accepted)
				}
			})
		})
	}
}

// happened returns the events so far.
func (r *recorder) happened() []*segdv1.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// slowed delivers one frame a second from number 25 on.
type slowed struct{ Source }

func (s slowed) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	return s.Source.Run(ctx, func(f *ingest.Frame) {
		if f.Seq >= 25 {
			time.Sleep(time.Second)
		}
		sink(f)
	})
}

// A camera that gets slower while a client waits.
func TestAnnotateAheadOfSlowedCamera(t *testing.T) {
	live(t, func(b *bench) {
		b.through(func(s Source) Source { return slowed{s} })
	}, func(t *testing.T, b *bench, c *Camera) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		out, err := c.Annotate(ctx, annotate(ptr(60), 60))
		if took := time.Since(began); err != nil || !out.Pending || took != 10*time.Second {
			t.Errorf("answered %v, %v after %v; want pending after 10 s", out, err, took)
		}
		time.Sleep(30 * time.Second)
		if b.rec.newest().Sequence < 60 {
			t.Fatal("frame 60 has not come")
		}
		rejected := b.rec.event(segdv1.EventKind_EVENT_KIND_ANNOTATION_REJECTED)
		if last := b.rec.happened()[len(b.rec.happened())-1]; rejected != nil || last.Kind != segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED || last.Sequence != 60 {
			t.Errorf("told %v", last)
		}
	})
}

// What waits alone when the camera ends is refused, and the event says what it was. One
// of a frame that has passed does not wait alone.
func TestPendingAtTheEnd(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		ahead, passed := pending.New(annotate(ptr(60), 0)), pending.New(annotate(ptr(15), 0))
		for _, r := range []*pending.Request{ahead, passed} {
			require.NoError(t, c.notes.Add(r))
		}
		if !c.notes.Leave(ahead) || c.notes.Leave(passed) {
			t.Error("want frame 60 to be waited for, and 15 not")
		}
		c.refuse()
		for _, r := range []*pending.Request{ahead, passed} {
			if out := <-r.Done(); !errors.Is(out.Err, api.ErrDown) {
				t.Errorf("answered %v", out)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if m := b.rec.message(segdv1.EventKind_EVENT_KIND_ANNOTATION_REJECTED); !strings.HasPrefix(m, "annotation of frame 60: ") {
			t.Errorf("told %q", m)
		}
	})
}
