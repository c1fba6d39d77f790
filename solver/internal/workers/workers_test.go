package workers

import (
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachDoesEveryPieceOnce(t *testing.T) {
	var c Pool
	for _, workers := range []int{0, 1, 2, 7} {
		for _, count := range []int{0, 1, 5, 1000} {
			done := make([]atomic.Int32, count)
			c.Each(func(i int) { done[i].Add(1) }, count, workers)
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d workers: piece %d of %d was done %d times; want once", workers, i, count, n)
				}
			}
		}
	}
}

func TestEachAllocatesNothing(t *testing.T) {
	var c Pool
	var sum atomic.Int64
	do := func(i int) { sum.Add(int64(i)) }
	c.Each(do, 10, 3)
	if allocs := testing.AllocsPerRun(100, func() { c.Each(do, 10, 3) }); allocs > 0 {
		t.Errorf("%g allocations a call; want none", allocs)
	}
}
