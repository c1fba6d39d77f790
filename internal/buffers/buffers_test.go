package buffers

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

func TestClass(t *testing.T) {
	last, lastWhich := 0, -1
	for n := 1; n < 100_000; n++ {
		which := class(n)
		size := sizeOf(which)
		if size < n || n > 8 && float64(size) > 1.25*float64(n) {
			t.Fatalf("%d values get %d", n, size)
		}
		if again := class(size); again != which {
			t.Fatalf("%d values are of class %d, of %d values; those are of class %d", n, which, size, again)
		}
		if (size == last) != (which == lastWhich) || which < lastWhich {
			t.Fatalf("%d values are of class %d, of %d values, after %d, of %d", n, which, size, lastWhich, last)
		}
		last, lastWhich = size, which
	}
	if which := class(1 << 40); which >= len(stocks) {
		t.Errorf("no class %d", which)
	}
}

func TestGet(t *testing.T) {
	if got := Get[byte](0); got != nil {
		t.Errorf("%d values for none", len(got))
	}
	Put[byte](nil)
	t.Run("byte", testGet[byte])
	t.Run("int16", testGet[int16])
	t.Run("float32", testGet[float32])
	t.Run("int64", testGet[int64])
}

func testGet[T Number](t *testing.T) {
	Put(make([]T, 91)) // is no size of a class, and is left
	for _, n := range []int{1, 7, 91, 1000, 12345} {
		a, b := Get[T](n), Get[T](n)
		for i := range a {
			a[i], b[i] = 1, 2
		}
		if len(a) != n || len(b) != n || a[0] != 1 || a[n-1] != 1 {
			t.Errorf("%d and %d values; want %d, and not the same", len(a), len(b), n)
		}
		if c := Fit(a, cap(a)); &c[0] != &a[0] {
			t.Errorf("%d values in the room of %d: other memory", len(c), cap(a))
		}
		if c := Fit(a, cap(a)+1); len(c) != cap(a)+1 || &c[0] == &a[0] {
			t.Errorf("%d values where there was room for %d: the same memory", len(c), cap(a))
		} else if d := Get[T](cap(a)); &d[0] != &a[0] {
			t.Error("memory that was too small was not given back")
		}
		Put(a)
		Put(b)
	}
}

// What is idle is lent for less, down to half of it.
func TestLarger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty()
		large := Get[byte](1000 * word)
		Put(large)
		if got := Get[float64](420); &got[:1][0] == (*float64)(unsafe.Pointer(&large[0])) {
			t.Errorf("%d words are lent for 420", cap(got))
		}
		got := Get[float64](520)
		if &got[0] != (*float64)(unsafe.Pointer(&large[0])) || cap(got) != cap(large)/word {
			t.Errorf("%d words for 520; want those that are idle", cap(got))
		}
		Put(got)
		if again := Get[byte](1000 * word); &again[0] != &large[0] {
			t.Error("what was lent for less did not come back whole")
		}
	})
}

// empty forgets what is idle.
func empty() {
	for k := range stocks {
		stocks[k].idle = nil
	}
	swept = time.Time{}
}

// What is given back is lent again, without anything allocated, and let go once it was not borrowed for a while.
func TestReuse(t *testing.T) {
	Put(Get[float32](10_000))
	if n := testing.AllocsPerRun(100, func() {
		Put(Get[float32](9_999))
		Put(Get[uint16](19_999)) // as many bytes
	}); n > 0 {
		t.Errorf("%v allocations each time", n)
	}
	synctest.Test(t, func(t *testing.T) {
		empty()
		Put(Get[float32](10_000))
		which := class(5_000)
		for _, tt := range []struct {
			after time.Duration
			left  int
		}{{patience - time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(tt.after)
			Put(Get[byte](7))
			if got := len(stocks[which].idle); got != tt.left {
				t.Errorf("%v later %d pieces wait; want %d", tt.after, got, tt.left)
			}
		}
	})
}
