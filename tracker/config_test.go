package tracker

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFaultsOfConfig(t *testing.T) {
	_, err := New(Config{Nu: -3, Rho: math.NaN(), MaxIter: -1, History: -2, Budget: -time.Nanosecond, OccludedFrames: -4})
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got)
	want := []string{
		"tracker: budget is -1; want ≥ 0", "tracker: history is -2; want ≥ 0", "tracker: max iter is -1; want ≥ 0",
		"tracker: nu is -3; want ≥ 0", "tracker: occluded frames is -4; want ≥ 0", "tracker: rho is NaN; want ≥ 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults %q; want %q", got, want)
	}
}
