package buffers

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClass(t *testing.T) {
	last, lastWhich := 0, -1
	for n := 1; n < 100_000; n++ {
		size, which := class(n)
		if size < n || n > 8 && float64(size) > 1.25*float64(n) {
			t.Fatalf("%d values get %d", n, size)
		}
		if again, same := class(size); again != size || same != which {
			t.Fatalf("class(%d) = %d, %d, but class(%d) = %d, %d", n, size, which, size, again, same)
		}
		if (size == last) != (which == lastWhich) || which < lastWhich {
			t.Fatalf("class(%d) = %d, %d after %d, %d", n, size, which, last, lastWhich)
		}
		last, lastWhich = size, which
	}
	if _, which := class(1 << 40); which >= len(idle) {
		t.Errorf("no class %d", which)
	}
}

func TestGet(t *testing.T) {
	if got := Get(0); got != nil {
		t.Errorf("%d values for none", len(got))
	}
	Put(nil)
	Put(make([]float32, 11)) // is no size of a class, and is left
	for _, n := range []int{1, 7, 1000, 12345} {
		a, b := Get(n), Get(n)
		if len(a) != n || len(b) != n || &a[0] == &b[0] {
			t.Errorf("%d and %d values; want %d, and not the same", len(a), len(b), n)
		}
		Put(a)
		Put(b)
	}
}

// What is given back is lent again, without anything allocated, and let go once nobody borrowed it for a while.
func TestReuse(t *testing.T) {
	Put(Get(10_000))
	if n := testing.AllocsPerRun(100, func() { Put(Get(10_000)) }); n > 0 {
		t.Errorf("%v allocations each time", n)
	}
	synctest.Test(t, func(t *testing.T) {
		clear(idle[:])
		swept = time.Time{}
		Put(Get(10_000))
		_, which := class(10_000)
		for _, tt := range []struct {
			after time.Duration
			left  int
		}{{patience - time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(tt.after)
			Put(Get(7))
			if got := len(idle[which]); got != tt.left {
				t.Errorf("%v later %d pieces wait; want %d", tt.after, got, tt.left)
			}
		}
	})
}
