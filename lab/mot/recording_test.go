package mot

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhole(t *testing.T) {
	truth := parse(t, "5,1,1,1,20,60,1", "5,2,0,1,20,60,1", "5,3,81,41,20,60,0", "5,4,82,41,20,60,1", "6,5,1,1,20,60,1")
	if got := truth.Whole(5, 100, 100); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("whole are %v; want those inside to the last pixel", got)
	}
	assert.Equal(t, 6, truth.Last(), "the last frame is")
}

// What a recording counts is what one counts by hand, and frames that were dropped are
// not counted.
func TestRecording(t *testing.T) {
	// Person 7 walks right by 2 pixels a frame, person 9 stands and is gone after frame 5,
	// and is not to be considered in frame 4.
	truth := parse(t,
		"1,7,11,11,20,60,1", "2,7,13,11,20,60,1", "3,7,15,11,20,60,1", "4,7,17,11,20,60,1", "5,7,19,11,20,60,1", "6,7,21,11,20,60,1", "7,7,23,11,20,60,1",
		"1,9,61,11,20,60,1", "2,9,61,11,20,60,1", "3,9,61,11,20,60,1", "4,9,61,11,20,60,0", "5,9,61,11,20,60,1")
	r, err := NewRecording(truth, 1, 7, 9)
	require.NoError(t, err)
	a, err := r.Annotation(MarkBox, 100, 100)
	if err != nil || len(a.Objects) != 2 || a.Objects[1].ID != 2 || !slices.Equal(a.Objects[1].Box, []float64{60, 10, 80, 70}) || a.Validate() != nil {
		t.Errorf("annotation %+v, %v", a, err)
	}
	at := func(left float64) Box { return Box{left, 10, 20, 60} }
	r.Look(1, map[uint32]Box{1: at(80), 2: at(80)})  // told, so not counted
	r.Look(2, map[uint32]Box{1: at(12), 2: at(60)})  // both right
	r.Look(4, map[uint32]Box{1: at(60), 2: at(60)})  // 7 is on 9's place; 9 is not considered
	r.Look(5, map[uint32]Box{1: at(18), 2: at(-40)}) // 9 is elsewhere
	r.Look(6, map[uint32]Box{2: at(60)})             // 7 is missed, 9 has gone
	want := []Object{{ID: 7, Marked: 1, Present: 4, Right: 2, False: 1, Missed: 2}, {ID: 9, Marked: 1, Present: 2, Right: 1, False: 2, Missed: 1, Gone: 1, Strangers: 1}}
	got := r.Figures()
	assert.Empty(t, cmp.Diff(want, got.PerObject))
	// 3 true positives, 3 false ones, 3 missed.
	if *got.IDF1 != 0.5 || *got.IDP != 0.5 || *got.IDR != 0.5 {
		t.Errorf("IDF1 %g, IDP %g, IDR %g; want 0.5 each", *got.IDF1, *got.IDP, *got.IDR)
	}
	_, err = NewRecording(truth, 6, 9)
	assert.Error(t, err, "a person is marked where it is not")
}
