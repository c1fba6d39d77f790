package mot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/objects/privacy"
)

// blurred hides those whom a detector finds every so many frames.
func blurred(every int) Hiding {
	return Hiding{
		Detector: &streetDetector{first: 1, every: every}, Every: every, Marking: persons,
		Privacy: privacy.Config{Blur: []string{"person"}, Margin: 0.1},
	}
}

// Two that a detector finds in every frame are hidden from the first to the last, and not much else.
func TestRunHidden(t *testing.T) {
	const frames = 20
	opt := streetOptions(t, frames)
	r, err := RunHidden(t.Context(), opt, blurred(1))
	require.NoError(t, err)
	if p := r.Persons; p.Pixels < 20*frames*wide || p.Hidden != p.Pixels || p.Share != 1 {
		t.Errorf("persons %+v; want all to be hidden", p)
	}
	if m := r.Masks; m.Pixels == 0 || m.Hidden != m.Pixels || m.Share != 1 {
		t.Errorf("masks %+v; want all to be hidden", m)
	}
	assert.Equal(t, 1, r.WholeFrames, "frames are hidden as a whole")
	if e := r.Elsewhere; e.Pixels < frames*width*height/2 || e.Share < 1./frames || e.Share > 0.4 {
		t.Errorf("elsewhere %+v; want little but the first frame", e)
	}
	if len(r.PerPerson) != 2 || r.PerPerson[0].ID != 7 || r.PerPerson[0].Share != 1 {
		t.Errorf("per person %+v", r.PerPerson)
	}
}

// Where no one is detected, what is not hidden is told.
func TestRunHiddenOverlooked(t *testing.T) {
	hide := blurred(1)
	hide.Detector = &streetDetector{first: 1000, every: 1} // sees no one
	r, err := RunHidden(t.Context(), streetOptions(t, 20), hide)
	require.NoError(t, err)
	if p := r.Persons; p.Share > 0.2 || p.Hidden == 0 {
		t.Errorf("persons %+v; want them hidden in the first frame alone", p)
	}
}

func TestRunHiddenFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options, *Hiding)
		want   string
	}{
		{"frames", func(o *Options, _ *Hiding) { o.First, o.Last = 9, 3 }, "frames 9 to 3"},
		{"every", func(_ *Options, h *Hiding) { h.Every = 0 }, "every 0 frames"},
		{"objects", func(_ *Options, h *Hiding) { h.Marking.MaxObjects = -1 }, "-1 objects"},
		{"video", func(o *Options, _ *Hiding) { o.Last = 40 }, "ends with frame 6; want 40"},
	} {
		opt, hide := streetOptions(t, 6), blurred(1)
		tt.change(&opt, &hide)
		_, err := RunHidden(t.Context(), opt, hide)
		assert.ErrorContains(t, err, tt.want, "%s", tt.name)
	}
}
