package stats

import (
	"math"
	"testing"
)

func TestReliability(t *testing.T) {
	var r Reliability
	for score, right := range map[float64]bool{0.91: true, 0.95: false, 1: true, 0.42: false} {
		r.Add(score, right)
	}
	got := r.Bins()
	if len(got) != 2 || got[0] != (Bin{0.4, 1, 0.42, 0}) || got[1].From != 0.9 || got[1].Masks != 3 ||
		math.Abs(got[1].Score-2.86/3) > 1e-12 || math.Abs(got[1].Right-2./3) > 1e-12 {
		t.Errorf("%+v; want one mask from .4 on that is wrong, and two of three right from .9 on", got)
	}
	if none := new(Reliability).Bins(); none != nil {
		t.Errorf("%v of nothing", none)
	}
}
