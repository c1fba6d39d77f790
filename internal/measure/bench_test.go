package measure

import (
	"sync/atomic"
	"testing"
)

// What was sent and did not come is counted, of each camera for itself.
func TestDrainCountsLoss(t *testing.T) {
	r := &receivers{whole: make([]atomic.Int64, 3)}
	for i, n := range []int64{10, 12, 9} {
		r.whole[i].Store(n)
	}
	lost, err := r.drain(t.Context(), []int64{10, 10, 12})
	if err != nil || lost != 3 {
		t.Errorf("%d lost, %v; want 3", lost, err)
	}
}
