package mot

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every second of frames 3 to 8, in both directions of time: pictures, times and truth go together.
func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		backwards bool
		frames    []int
		times     []time.Duration // in frames
	}{{false, []int{3, 5, 7}, []time.Duration{3, 5, 7}}, {true, []int{7, 5, 3}, []time.Duration{0, 2, 4}}} {
		truth, err := ParseTruth(strings.NewReader("1,1,1,1,9,9,1\n3,1,31,1,9,9,1\n5,1,51,1,9,9,1\n7,2,71,1,9,9,1\n8,2,81,1,9,9,1\n"), "gt.txt")
		require.NoError(t, err)
		opt := Options{Truth: truth, First: 3, Last: 8, Video: func(_ context.Context, show func(*Picture) error) error {
			bgr := make([]byte, 3)
			for n := 1; n < 20; n++ {
				bgr[0] = byte(n)
				if err := show(&Picture{Width: 1, Height: 1, BGR: bgr, Time: time.Duration(n)}); err != nil {
					return err
				}
			}
			return nil
		}}
		require.NoError(t, opt.Replay(2, tt.backwards))
		var frames []int
		var times []time.Duration
		require.NoError(t, opt.play(t.Context(), func(_ context.Context, n int, p *Picture) error {
			if n != len(frames)+1 {
				t.Errorf("frame %d after %d", n, len(frames))
			}
			frames, times = append(frames, int(p.BGR[0])), append(times, p.Time)
			return nil
		}))
		if !slices.Equal(frames, tt.frames) || !slices.Equal(times, tt.times) {
			t.Errorf("backwards %t: frames %v at %v; want %v at %v", tt.backwards, frames, times, tt.frames, tt.times)
		}
		for k, n := range tt.frames {
			id := map[bool]int{false: 1, true: 2}[n == 7]
			if e, is := opt.Truth.boxes[id][k+1]; !is || e.box.Left != float64(10*n) {
				t.Errorf("backwards %t: the truth of frame %d is %v; want that of %d", tt.backwards, k+1, e, n)
			}
		}
	}
	opt := Options{Truth: &Truth{last: 3}}
	assert.Error(t, opt.Replay(0, false), "every 0 frames")
}

// byHeight counts, in each range of heights, the true boxes, those of them that were found, and the found boxes that
// match no true box.
func TestByHeight(t *testing.T) {
	low, tall := Box{0, 0, 20, 30}, Box{100, 0, 40, 90}
	got := byHeight([]frame{
		{truth: []named{{1, low}, {2, tall}}, found: []named{{1, low}, {3, Box{300, 0, 20, 50}}}},
		{truth: []named{{1, low}, {2, tall}}, found: []named{{2, tall}}},
	})
	for k, want := range []struct {
		of     int
		recall float64
		wrong  int
	}{{2, .5, 0}, {0, 0, 1}, {2, .5, 0}} {
		if h := got[k]; h.True != want.of || want.of > 0 && *h.Recall != want.recall || want.of == 0 && h.Recall != nil || h.False != want.wrong {
			t.Errorf("from %v on: %+v; want %+v", h.From, h, want)
		}
	}
	if got[2].To != nil || *got[1].To != 80 {
		t.Errorf("%+v", got)
	}
}
