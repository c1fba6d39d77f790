package mot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

const width, height = 160, 100

// red walks right from frame 1 on, blue comes in from the right edge, whole from
// frame 5 on, and is gone again after frame 16. Both are 20×70.
func red(n int) (left int, there bool)  { return 8 + 2*n, true }
func blue(n int) (left int, there bool) { return 154 - 3*n, n >= 2 && n <= 16 }

const top, tall, wide = 15, 70, 20

// streetTime is when frame n is shown: ten a second.
func streetTime(n int) time.Duration { return time.Duration(n-1) * 100 * time.Millisecond }

// street shows n frames of them.
func street(n int) Video {
	return func(ctx context.Context, show func(*Picture) error) error {
		for i := 1; i <= n; i++ {
			p := &Picture{Width: width, Height: height, BGR: make([]byte, 3*width*height), Time: streetTime(i)}
			for y := range height {
				for x := range width {
					c := [3]byte{60, byte(110 + (x+y)%8), 60}
					in := func(left int, there bool) bool {
						return there && x >= left && x < left+wide && y >= top && y < top+tall
					}
					if in(red(i)) {
						c = [3]byte{30, 30, 200}
					}
					if in(blue(i)) {
						c = [3]byte{220, 60, 20}
					}
					copy(p.BGR[3*(y*width+x):], c[:])
				}
			}
			if err := show(p); err != nil {
				return fmt.Errorf("street: %w", err)
			}
		}
		return ctx.Err()
	}
}

// streetTruth calls red 7 and blue 300; ignored tells in which frames red is not to be
// considered.
func streetTruth(t testing.TB, n int, ignored func(n int) bool) *Truth {
	var lines []string
	for i := 1; i <= n; i++ {
		flag := 1
		if ignored != nil && ignored(i) {
			flag = 0
		}
		left, _ := red(i)
		lines = append(lines, fmt.Sprintf("%d,7,%d,%d,%d,%d,%d", i, left+1, top+1, wide, tall, flag))
		if left, there := blue(i); there {
			lines = append(lines, fmt.Sprintf("%d,300,%d,%d,%d,%d,1,1,1", i, left+1, top+1, wide, tall))
		}
	}
	return parse(t, lines...)
}

func streetOptions(t testing.TB, n int) Options {
	return Options{
		Video: street(n), Truth: streetTruth(t, n, nil),
		ModelName: "none", Features: features.Config{Superpixels: 300},
	}
}

// Two that cannot be mistaken are followed without a fault, alone and together.
func TestRun(t *testing.T) {
	const frames = 20
	for _, mark := range []Mark{MarkBox, MarkEllipse} {
		t.Run(mark.String(), func(t *testing.T) {
			opt := streetOptions(t, frames+5) // of which the truth knows 20
			opt.Truth = streetTruth(t, frames, nil)
			opt.Mark = mark
			steps := 0
			opt.Progress = func(done, total int) {
				if steps++; done != steps || total != frames {
					t.Errorf("%d of %d done; want %d of %d", done, total, steps, frames)
				}
			}
			r, err := Run(t.Context(), opt)
			require.NoError(t, err)
			one := 1.0
			group := Group{&one, &one, &one, 0, nil, []Object{
				{ID: 7, Marked: 1, Present: 19, Right: 19},
				{ID: 300, Marked: 5, Present: 11, Right: 11},
			}}
			// Without tracks the boxes of both kinds are the masks'.
			ways := Ways{group, group}
			want := &Report{
				Mode: "joint", Model: "none", Mark: mark.String(), FirstFrame: 1, LastFrame: frames,
				Ways: ways, Counted: "extent", ByExtent: ways, ByMask: ways,
			}
			boxes := r.Boxes
			r.Boxes, r.Reliability = nil, nil // another test has these
			assert.Empty(t, cmp.Diff(want, r))
			assert.Equal(t, frames, steps, "steps")
			if len(boxes) != 30 || boxes[0].Frame != 2 || boxes[0].ID != 7 || boxes[29].Frame != frames {
				t.Errorf("%d boxes, first of %d in frame %d; want 30 and red in frame 2", len(boxes), boxes[0].ID, boxes[0].Frame)
			}
			var out bytes.Buffer
			require.NoError(t, WriteBoxes(&out, boxes))
			// The result's format is the truth's.
			back, err := ParseTruth(&out, "result")
			require.NoError(t, err)
			for _, f := range boxes {
				if got := back.boxes[f.ID][f.Frame].box; got != f.Box {
					t.Errorf("%v in frame %d is read as %v", f.Box, f.Frame, got)
				}
			}
		})
	}
}

// Who is followed with no one else is followed alone: both ways are one.
func TestRunOfOne(t *testing.T) {
	opt := streetOptions(t, 20)
	opt.First, opt.Last, opt.Follow = 4, 18, []int{300}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(r.Alone, r.Together))
	if got := r.Together.PerObject[0]; got.Marked != 5 || got.Present != 11 || got.Right+got.Missed != 11 {
		t.Errorf("%+v; want a mark in frame 5 and 11 frames", got)
	}
	masks, right := 0, 0.0
	for _, b := range r.Reliability {
		masks, right = masks+b.Masks, right+b.Right*float64(b.Masks)
		if b.Score < b.From || b.Score > b.From+0.1 {
			t.Errorf("%+v; want a mean score of its tenth", b)
		}
	}
	if masks != 2*len(r.Boxes) || math.Abs(right-float64(r.Alone.PerObject[0].Right+r.Together.PerObject[0].Right)) > 1e-9 {
		t.Errorf("reliability of %d masks, %g right; want it of the %d boxes, twice", masks, right, len(r.Boxes))
	}
	text, err := json.Marshal(r.Together)
	require.NoError(t, err)
	for _, key := range []string{"idf1", "idp", "idr", "id_switches", "per_object", "id", "present", "right", "false", "missed"} {
		assert.Contains(t, string(text), `"`+key+`":`, "no %s in %s", key, text)
	}
}

// Frames of flag 0 count neither for nor against.
func TestRunIgnored(t *testing.T) {
	opt := streetOptions(t, 20)
	opt.Truth = streetTruth(t, 20, func(n int) bool { return n == 1 || n > 8 && n <= 12 })
	opt.Follow = []int{7}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	if got, want := r.Together.PerObject[0], (Object{ID: 7, Marked: 2, Present: 14, Right: 14}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if *r.Together.IDF1 != 1 || len(r.Boxes) != 14 {
		t.Errorf("IDF1 %v, %d boxes; want 1 and 14", *r.Together.IDF1, len(r.Boxes))
	}
}

// What a track counts, by results made up.
func TestTrack(t *testing.T) {
	truth := parse(t, "1,7,1,1,20,60,1", "2,7,1,1,20,60,1", "3,7,1,1,20,60,1", "4,7,1,1,20,60,1", "5,7,1,1,20,60,0", "6,7,1,1,20,60,0", "9,7,1,1,20,60,1")
	tr := track{person: person{id: 7, number: 2, mark: 1}, truth: truth.boxes[7]}
	result := func(state tracker.State, id uint32, left int) *tracker.Result {
		bits := make([]uint8, width*height)
		for y := range 60 {
			for x := range 20 {
				bits[y*width+left+x] = 1
			}
		}
		m := mask.Encode(bits, width, height)
		return &tracker.Result{Objects: []tracker.Object{{ID: 1}, {ID: id, State: state, Mask: m, Area: m.Area(), Box: m.Box(), Score: 0.75}}}
	}
	for n, res := range []*tracker.Result{
		1: result(tracker.Visible, 2, 0),  // the mark: not counted
		2: result(tracker.Visible, 2, 2),  // right
		3: result(tracker.Visible, 2, 50), // false
		4: result(tracker.Occluded, 2, 0), // missed
		5: result(tracker.Visible, 2, 0),  // where it is not to be considered: not counted
		6: result(tracker.Visible, 2, 50), // false
		7: result(tracker.Visible, 2, 0),  // false, no one is there
		8: result(tracker.Visible, 3, 0),  // another person
		9: {Objects: []tracker.Object{{ID: 2, State: tracker.Visible}}},
	} {
		if res != nil {
			tr.note(n, res)
		}
	}
	if got, want := tr.object([]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0), (Object{ID: 7, Marked: 1, Present: 4, Right: 1, False: 3, Missed: 3}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got, want := tr.object([]int{1, 2, 3}, 0), (Object{ID: 7, Marked: 1, Present: 2, Right: 1, False: 1, Missed: 1}); got != want {
		t.Errorf("up to frame 3 %+v; want %+v", got, want)
	}
	var out bytes.Buffer
	if err := WriteBoxes(&out, []Found{*tr.at(2)}); err != nil || out.String() != "2,7,3,1,20,60,0.7500,-1,-1,-1\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestRunRefuses(t *testing.T) {
	broken := errors.New("broken film")
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"frames", func(o *Options) { o.First, o.Last = 9, 3 }, "frames 9 to 3; want the first from 1 on and the last not before it"},
		{"no such person", func(o *Options) { o.Follow = []int{7, 8} }, "no person 8 in frames 1 to 6; it has [7 300] in all"},
		{"not in these frames", func(o *Options) { o.First, o.Last, o.Follow = 1, 1, []int{300} }, "no person 300 in frames 1 to 1"},
		{"nobody", func(o *Options) { o.First, o.Last = 50, 60 }, "0 persons in frames 50 to 60; want 1 to 255"},
		{"too short", func(o *Options) { o.Video = street(5) }, "the video ends with frame 5; want 6"},
		{"video", func(o *Options) { o.Video = func(context.Context, func(*Picture) error) error { return broken } }, "mot: broken film"},
		{"superpixels", func(o *Options) { o.Features.Superpixels = -1 }, "superpixels"},
		{"tracker", func(o *Options) { o.Tracker.OccludedFrames = -1 }, "occluded frames"},
		{"another size", func(o *Options) {
			o.Video = func(_ context.Context, show func(*Picture) error) error {
				return errors.Join(show(&Picture{Width: 8, Height: 90, BGR: make([]byte, 3*8*90)}), show(&Picture{Width: 9, Height: 90}))
			}
			o.Truth = parse(t, "2,1,1,1,6,60,1")
		}, "frame 2: it has 9×90 pixels; want 8×90 as before"},
		{"outside", func(o *Options) { o.Truth = parse(t, "2,1,500,1,6,60,1", "6,1,500,1,6,60,1") }, "frame 2: the box of person 1 in frame 2 lies outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := streetOptions(t, 6)
			tt.change(&opt)
			_, err := Run(t.Context(), opt)
			assert.ErrorContains(t, err, tt.want)
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := Run(ctx, streetOptions(t, 6))
	assert.ErrorIs(t, err, context.Canceled, "a run that was ended")
}
