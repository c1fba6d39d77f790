package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDistanceKey(t *testing.T) {
	if k := distanceKey(keyBias); k != 1 {
		t.Errorf("distance 0 has key %d, want 1", k)
	}
	if k := distanceKey(math.MaxFloat32); k >= keyCount || k >= unseen {
		t.Errorf("the largest distance has key %d of %d", k, keyCount)
	}
	last := uint32(0)
	for d := float32(keyBias); d < 1e12; d *= 1.01 {
		k := distanceKey(d)
		if k < last {
			t.Fatalf("key falls from %d to %d at %v", last, k, d)
		}
		last = k
	}
}

// TestQueueAgainstOracle compares with a slice that is searched for its first
// lowest key, through growth, emptying and reuse.
func TestQueueAgainstOracle(t *testing.T) {
	type item struct {
		key uint32
		w   waiting
	}
	var q queue
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 3))
		q.reset()
		var want []item
		keys := 1 + r.IntN(keyCount-1)
		for step := range 20000 {
			if len(want) == 0 || r.IntN(100) < 52 && step < 15000 {
				it := item{uint32(1 + r.IntN(keys)), makeWaiting(step, int(seed), int32(step))}
				q.push(it.key, it.w)
				want = append(want, it)
				continue
			}
			low := 0
			for i, it := range want {
				if it.key < want[low].key {
					low = i
				}
			}
			if !q.waits() && !q.seek() {
				t.Fatalf("seed %d step %d: nothing waits", seed, step)
			}
			if key, got := q.key, q.pop(); key != want[low].key || got != want[low].w {
				t.Fatalf("seed %d step %d: popped %v of key %d, want %v", seed, step, got, key, want[low])
			}
			want = slices.Delete(want, low, low+1)
		}
		for range want {
			q.seek()
			q.pop()
		}
		if q.seek() {
			t.Error("an empty queue has an entry")
		}
	}
}

func TestQueueAllocs(t *testing.T) {
	var q queue
	fill := func() {
		q.reset()
		for i := range 50000 {
			q.push(uint32(1+i%200), makeWaiting(0, 0, int32(i)))
		}
		for range 50000 {
			q.seek()
			q.pop()
		}
	}
	fill()
	if n := testing.AllocsPerRun(5, fill); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
