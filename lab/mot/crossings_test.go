package mot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/tracker"
)

// Who crosses a line is counted by the masks as in truth, each way by itself, and who does not is not.
func TestCrossings(t *testing.T) {
	const frames = 20
	opt := streetOptions(t, frames)
	upright := func(x float64) [2]zones.Point { return [2]zones.Point{{x, 0}, {x, 1}} }
	// Red goes right from .13 to .36, blue left from .99 to .73.
	lines := [][2]zones.Point{upright(0.25), upright(0.85), {{0.85, 1}, {0.85, 0}}, upright(0.55)}
	r, err := RunAutomatic(t.Context(), opt, Automatic{Detector: &streetDetector{first: 1, every: 1}, Every: 1, Lines: lines, Marking: persons})
	require.NoError(t, err)
	right, left := Directions{BToA: 1}, Directions{AToB: 1}
	want := []Crossings{
		{Line: [4]float64{0.25, 0, 0.25, 1}, Counted: right, True: right},
		{Line: [4]float64{0.85, 0, 0.85, 1}, Counted: left, True: left},
		{Line: [4]float64{0.85, 1, 0.85, 0}, Counted: right, True: right},
		{Line: [4]float64{0.55, 0, 0.55, 1}},
	}
	assert.Empty(t, cmp.Diff(want, r.Lines))
}

// Without masks no one is counted; a true box that is not to be considered does not count.
func TestCrossingsOfTruth(t *testing.T) {
	lines := [][2]zones.Point{{{0.25, 0}, {0.25, 1}}}
	for _, tt := range []struct {
		name    string
		ignored func(n int) bool
		want    Directions
	}{
		{"all", nil, Directions{BToA: 1}},
		{"hidden at the line", func(n int) bool { return n > 8 && n < 16 }, Directions{BToA: 1}},
		{"not beyond it", func(n int) bool { return n > 8 }, Directions{}},
	} {
		c, err := newCrossings(streetTruth(t, 20, tt.ignored), lines)
		require.NoError(t, err)
		for n := 1; n <= 20; n++ {
			c.observe(n, streetTime(n), &tracker.Result{Width: width, Height: height})
		}
		if got := c.report()[0]; got.True != tt.want || got.Counted != (Directions{}) {
			t.Errorf("%s: %+v; want %+v", tt.name, got, tt.want)
		}
	}
	_, err := RunAutomatic(t.Context(), streetOptions(t, 5), Automatic{
		Detector: &streetDetector{first: 1, every: 5}, Every: 5, Lines: [][2]zones.Point{{{0.5, 0}, {2, 1}}},
	})
	assert.ErrorContains(t, err, "lines[0].points[1]")
}
