package soak

import (
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip/cliptest"
)

func TestToAndFro(t *testing.T) {
	var got []int
	for i := range 9 {
		got = append(got, toAndFro(i, 4))
	}
	if want := []int{0, 1, 2, 3, 2, 1, 0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("four frames are shown as %v; want %v", got, want)
	}
	if got := toAndFro(5, 1); got != 0 {
		t.Errorf("frame %d of a clip of one; want 0", got)
	}
}

func TestRun(t *testing.T) {
	root := cliptest.New(t, "square", 6)
	opt := Options{Root: root, Sequence: "square", Features: features.Config{Superpixels: 24}, Frames: Warm + 200}
	r, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.J < 0.8 || r.WarmRSSMB < 1 || r.RSSMB < 1 || r.RSSMBHighest < r.RSSMB || r.Ratio != r.RSSMB/r.WarmRSSMB {
		t.Errorf("%+v; want J of at least 0.8 and resident memory", r)
	}
	opt.Frames = Warm
	if _, err := Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "want more than 2000") {
		t.Errorf("%d frames: %v; want a refusal that says how many", opt.Frames, err)
	}
}
