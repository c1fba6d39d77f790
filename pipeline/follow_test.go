package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

const notFollowed = segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED

// rectangle is an object marked by an outline.
func rectangle(id uint32, left, top, right, bottom float64) annotation.Object {
	return annotation.Object{ID: id, Polygon: []annotation.Point{{left, top}, {right, top}, {right, bottom}, {left, bottom}}}
}

// told lists the events that an object is not followed.
func (r *recorder) told() (events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == notFollowed {
			events = append(events, fmt.Sprintf("%d %q in frame %d: %s", e.ObjectId, e.ObjectLabel, e.Sequence, e.Message))
		}
	}
	return events
}

// hide takes an object's mask out of a result.
func hide(res *tracker.Result, id uint32) {
	for k := range res.Objects {
		if o := &res.Objects[k]; o.ID == id {
			*o = tracker.Object{ID: o.ID, State: tracker.Occluded, Mask: mask.Encode(make([]uint8, res.Width*res.Height), res.Width, res.Height)}
		}
	}
}

// The answer tells what each object of the annotation has become, and which have no mask.
func TestEmptyObject(t *testing.T) {
	hidden := atomic.Bool{}
	live(t, func(b *bench) {
		b.onResult = func(res *tracker.Result) {
			if hidden.Load() {
				hide(res, 4)
			}
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		a := &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{
			rectangle(3, 6, 34, 12, 40), rectangle(2, 2, 32, 30, 46), // what overlaps is the later object
		}}
		out, err := c.Annotate(t.Context(), a)
		require.NoError(t, err)
		if len(out.Objects) != 2 || out.Objects[0].Id != 2 || out.Objects[0].Area < 100 || out.Objects[0].State != segdv1.State_STATE_VISIBLE ||
			out.Objects[1].Id != 3 || out.Objects[1].Area != 0 || out.Objects[1].State != segdv1.State_STATE_OCCLUDED || out.MasksSequence != out.Sequence {
			t.Errorf("answered %v", out)
		}
		if w := out.Warnings; len(w) != 1 || w[0].ObjectId != 3 || !strings.Contains(w[0].Message, "others cover them; mark more of it") {
			t.Errorf("warned of %v", w)
		}
		synctest.Wait() // events go out on a goroutine of their own
		want := fmt.Sprintf(`3 "object 3" in frame %d: %s`, out.Sequence, out.Warnings[0].Message)
		if got := b.rec.told(); !slices.Equal(got, []string{want}) {
			t.Errorf("told %q, want %q", got, want)
		}

		// Known, so that the watch after its last mark has an end as well.
		_, err = c.Annotate(t.Context(), &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{rectangle(4, 40, 4, 60, 12)}})
		require.NoError(t, err)
		hidden.Store(true)
		for _, tt := range []struct {
			name   string
			frame  *uint64
			object annotation.Object
			want   string // "": no warning
		}{
			{"a box", nil, annotation.Object{ID: 4, Box: []float64{40, 4, 60, 12}}, "nothing in its box looks unlike what is around it; mark it with strokes or a polygon"},
			{"an earlier frame", ptr(out.Sequence), annotation.Object{ID: 4, Box: []float64{40, 4, 60, 12}}, fmt.Sprintf("marked on frame %d", out.Sequence)},
			{"strokes", nil, annotation.Object{ID: 4, Scribbles: []annotation.Stroke{{Width: 8, Points: []annotation.Point{{50, 8}}}}}, "too little"},
			{"only named, out of sight", nil, annotation.Object{ID: 4, Label: "four"}, ""},
		} {
			a := &annotation.Annotation{Frame: tt.frame, Width: testWidth, Height: testHeight, Objects: []annotation.Object{tt.object}}
			if tt.want == "" {
				a.Background = []annotation.Stroke{{Width: 2, Points: []annotation.Point{{62, 2}}}}
			}
			out, err := c.Annotate(t.Context(), a)
			require.NoError(t, err, "%s", tt.name)
			if len(out.Objects) != 1 || out.Objects[0].Id != 4 || (len(out.Warnings) == 1) != (tt.want != "") {
				t.Errorf("%s: %v", tt.name, out)
			}
			if len(out.Warnings) == 1 && !strings.Contains(out.Warnings[0].Message, tt.want) {
				t.Errorf("%s: %q, want %q", tt.name, out.Warnings[0].Message, tt.want)
			}
		}
		time.Sleep(2 * time.Second)
		got := slices.DeleteFunc(b.rec.told(), func(s string) bool { return !strings.HasPrefix(s, "4 ") })
		assert.Len(t, got, 3, "told %q, want one event for each warning", got)
	})
}

// An object whose mask goes within a second of stream time after its mark is told of,
// once; one that goes later is only hidden.
func TestGoneAfterMark(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to uint64 // frames after the marked one in which there is no mask
		again    uint64 // marked once more that many frames later; 0: not
		remove   bool
		want     string
	}{
		{name: "at once", from: 1, to: 40, want: "0.1 s after frame %d"},
		{name: "for one frame", from: 4, to: 4, want: "0.4 s after frame %d"},
		{name: "again and again", from: 7, to: 7, want: "0.7 s after frame %d"},
		{name: "a second later", from: 10, to: 40, want: "1.0 s after frame %d"},
		{name: "more than a second later", from: 11, to: 40},
		{name: "never"},
		{name: "marked again", from: 12, to: 40, again: 5, want: "0.7 s after frame %d"},
		{name: "removed", from: 5, to: 40, remove: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var marked atomic.Uint64
			live(t, func(b *bench) {
				b.onResult = func(res *tracker.Result) {
					if m := marked.Load(); m > 0 && tt.from > 0 && res.Seq >= m+tt.from && res.Seq <= m+tt.to {
						hide(res, 1)
					}
				}
			}, func(t *testing.T, b *bench, c *Camera) {
				out, err := c.Annotate(t.Context(), annotate(nil, 21))
				require.NoError(t, err)
				first := out.MasksSequence
				marked.Store(first)
				if tt.remove {
					time.Sleep(250 * time.Millisecond)
					require.NoError(t, c.Clear(t.Context(), 1))
				}
				if tt.again > 0 {
					out, err := c.Annotate(t.Context(), annotate(ptr(first+tt.again), int(first+tt.again)))
					require.NoError(t, err)
					first = out.MasksSequence
				}
				time.Sleep(3 * time.Second)
				var want []string
				if tt.want != "" {
					want = []string{fmt.Sprintf(tt.want, first)}
				}
				got := b.rec.told()
				if len(got) != len(want) || len(want) == 1 && !strings.Contains(got[0], want[0]) {
					t.Errorf("told %q, want %q", got, want)
				}
			})
		})
	}
}
