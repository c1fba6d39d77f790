package mailbox

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is a frame by its number.
type item struct {
	seq           uint64
	pinned, cored bool
}

func (it *item) Pinned() bool { return it.pinned }
func (it *item) Cored() bool  { return it.cored }

// collect returns a drop function and where it puts the sequence numbers.
func collect() (func(*item), func() []uint64) {
	var mu sync.Mutex
	var seqs []uint64
	return func(it *item) {
			mu.Lock()
			defer mu.Unlock()
			seqs = append(seqs, it.seq)
		}, func() []uint64 {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(seqs)
		}
}

func bare(seq uint64) *item   { return &item{seq: seq} }
func pinned(seq uint64) *item { return &item{seq: seq, pinned: true} }

func TestPut(t *testing.T) {
	tests := []struct {
		name           string
		put            []*item
		taken, dropped []uint64
	}{
		{"one", []*item{bare(1)}, []uint64{1}, nil},
		{"the newest replaces the unread", []*item{bare(1), bare(2), bare(3)}, []uint64{3}, []uint64{1, 2}},
		{"a pinned one replaces the unread", []*item{bare(1), pinned(2)}, []uint64{2}, []uint64{1}},
		{"a pinned one is not replaced", []*item{pinned(1), bare(2), bare(3)}, []uint64{1}, []uint64{2, 3}},
		{"pinned ones queue in order", []*item{bare(1), pinned(2), pinned(3), bare(4)}, []uint64{2, 3}, []uint64{1, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drop, dropped := collect()
			m := New(drop)
			for _, it := range tt.put {
				m.Put(it)
			}
			m.Close()
			var taken []uint64
			for it, ok := next(m); ok; it, ok = next(m) {
				taken = append(taken, it.seq)
			}
			if !slices.Equal(taken, tt.taken) || !slices.Equal(dropped(), tt.dropped) {
				t.Errorf("taken %v, dropped %v; want %v and %v", taken, dropped(), tt.taken, tt.dropped)
			}
		})
	}
}

func TestAfterClose(t *testing.T) {
	drop, dropped := collect()
	m := New(drop)
	m.Close()
	m.Put(bare(1))
	m.Put(pinned(2))
	if _, ok := m.Take(); ok {
		t.Error("took something out of a closed box")
	}
	assert.Equal(t, []uint64{1, 2}, dropped(), "dropped")
}

func TestAbort(t *testing.T) {
	drop, dropped := collect()
	m := New(drop)
	m.Put(pinned(1))
	m.Put(pinned(2))
	m.Abort()
	if _, ok := m.Take(); ok {
		t.Error("took something out of an aborted box")
	}
	assert.Equal(t, []uint64{1, 2}, dropped(), "dropped")
}

// next is how a stage takes items.
func next(m *Box[*item]) (*item, bool) {
	if _, _, ok := m.Wait(); !ok {
		return nil, false
	}
	return m.Take()
}

// Wait tells since when there is something unread, however often it was replaced; Drain sleeps
// until there is nothing.
func TestWaitAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drop, _ := collect()
		m := New(drop)
		time.Sleep(time.Second)
		began := time.Now()
		for seq := range uint64(3) {
			m.Put(bare(seq))
			time.Sleep(time.Second)
		}
		if since, _, ok := m.Wait(); !ok || !since.Equal(began) {
			t.Errorf("unread since %v, %v; want %v", since, ok, began)
		}
		drained := 0
		go func() { m.Drain(); drained++ }()
		synctest.Wait()
		if drained > 0 {
			t.Error("drained with an item unread")
		}
		if it, ok := m.Take(); !ok || it.seq != 2 {
			t.Errorf("took %v", it)
		}
		if _, ok := m.Take(); ok {
			t.Error("took what is not there")
		}
		synctest.Wait()
		m.Put(bare(3))
		go func() { m.Drain(); drained++ }()
		synctest.Wait()
		m.Abort()
		synctest.Wait()
		if drained != 2 {
			t.Errorf("drained %d times, want once it was empty and once it was closed", drained)
		}
	})
}

// Wait sleeps until Put or Close wakes it.
func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drop, _ := collect()
		m := New(drop)
		var got []uint64
		ended := false
		go func() {
			for it, ok := next(m); ok; it, ok = next(m) {
				got = append(got, it.seq)
			}
			ended = true
		}()
		synctest.Wait()
		for seq := range uint64(3) {
			m.Put(bare(seq))
			synctest.Wait()
		}
		if !slices.Equal(got, []uint64{0, 1, 2}) || ended {
			t.Errorf("got %v, ended %v", got, ended)
		}
		m.Close()
		synctest.Wait()
		if !ended {
			t.Error("Wait did not return after close")
		}
	})
}

// Whatever two sides do at once, each item is either taken or dropped, once, and
// pinned ones are always taken.
func TestLosesNothing(t *testing.T) {
	const n = 5000
	drop, dropped := collect()
	m := New(drop)
	var taken []uint64
	var reader sync.WaitGroup
	reader.Go(func() {
		for it, ok := next(m); ok; it, ok = next(m) {
			taken = append(taken, it.seq)
		}
	})
	for seq := range uint64(n) {
		if seq%97 == 0 {
			m.Put(pinned(seq))
		} else {
			m.Put(bare(seq))
		}
	}
	m.Close()
	reader.Wait()
	if !slices.IsSorted(taken) {
		t.Error("items were taken out of order")
	}
	for seq := uint64(0); seq < n; seq += 97 {
		if _, ok := slices.BinarySearch(taken, seq); !ok {
			t.Errorf("pinned item %d was not taken", seq)
		}
	}
	all := slices.Concat(taken, dropped())
	slices.Sort(all)
	for i, seq := range all {
		require.Equal(t, seq, uint64(i), "item %d is missing or there twice", i)
	}
	if len(all) != n {
		t.Errorf("%d items came out, %d went in", len(all), n)
	}
}

// Who puts is told whether a reader waits; who takes, whether the first item has a core, however long it has waited.
func TestAwaitedAndCored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drop, _ := collect()
		m := New(drop)
		if m.Awaited() || m.Unread() {
			t.Error("nobody waits for an item, and there is none")
		}
		var cored []bool
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			for range 2 {
				_, has, _ := m.Wait()
				cored = append(cored, has)
				m.Take()
			}
		}()
		synctest.Wait()
		if !m.Awaited() {
			t.Error("somebody waits")
		}
		m.Put(&item{cored: true})
		synctest.Wait()
		m.Put(bare(1))
		<-waited
		if !slices.Equal(cored, []bool{true, false}) {
			t.Errorf("the items had cores: %v", cored)
		}
		if m.Put(bare(2)); m.Awaited() || !m.Unread() {
			t.Error("an item is unread, and nobody waits")
		}
	})
}

// A frame in and out costs no memory.
func TestPutAllocs(t *testing.T) {
	m, it := New(func(*item) {}), bare(1)
	if n := testing.AllocsPerRun(100, func() {
		m.Put(it)
		m.Take()
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
