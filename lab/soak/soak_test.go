package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip/cliptest"
)

func TestToAndFro(t *testing.T) {
	var got []int
	for i := range 9 {
		got = append(got, toAndFro(i, 4))
	}
	assert.Equal(t, []int{0, 1, 2, 3, 2, 1, 0, 1, 2}, got, "four frames are shown as")
	if got := toAndFro(5, 1); got != 0 {
		t.Errorf("frame %d of a clip of one; want 0", got)
	}
}

func TestRun(t *testing.T) {
	root := cliptest.New(t, "square", 6)
	opt := Options{Root: root, Sequence: "square", Features: features.Config{Superpixels: 24}, Frames: Warm + 200}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	if r.J < 0.8 || r.WarmRSSMB < 1 || r.RSSMB < 1 || r.RSSMBHighest < r.RSSMB || r.Ratio != r.RSSMB/r.WarmRSSMB {
		t.Errorf("%+v; want J of at least 0.8 and resident memory", r)
	}
	opt.Frames = Warm
	_, err = Run(t.Context(), opt)
	assert.ErrorContains(t, err, "want more than 2000", "%d frames", opt.Frames)
}
