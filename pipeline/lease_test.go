package pipeline

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

// testLease is a lease that a test takes away and gives back.
type testLease struct{ lost atomic.Bool }

func (*testLease) Token() uint64 { return 41 }
func (*testLease) Box() string   { return "box-b" }
func (*testLease) Moved() string { return "box box-b for box box-a, which died" }
func (l *testLease) Valid() bool { return !l.lost.Load() }

// While a lease is not valid nothing is published and nothing kept, and the objects are followed all the same.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		lease := &testLease{}
		b.cfg.Lease, b.cfg.Annotation = lease, annotate(nil, 0)
		c, stop := b.start(t)
		time.Sleep(3 * time.Second)
		lease.lost.Store(true)
		time.Sleep(50 * time.Millisecond) // a frame in hand
		whole, short := store.count()
		masks, statuses := len(b.rec.sequences()), b.rec.statusCount()
		time.Sleep(5 * time.Second)
		if n := len(b.rec.sequences()); n != masks {
			t.Errorf("%d masks without a lease", n-masks)
		}
		if n := b.rec.statusCount(); n != statuses {
			t.Errorf("%d statuses without a lease", n-statuses)
		}
		if w, s := store.count(); w != whole || s != short {
			t.Errorf("%d checkpoints without a lease", w+s-whole-short)
		}
		if snap := c.Snapshot(); snap.Unleased < 40 || snap.Dropped != snap.Unleased {
			t.Errorf("%d frames counted, %d dropped; want those of five seconds", snap.Unleased, snap.Dropped)
		}
		lease.lost.Store(false)
		time.Sleep(time.Second)
		stop() // from here on nothing is written that is read
		last := b.rec.masks[len(b.rec.masks)-1]
		if len(b.rec.masks) < masks+5 || len(last.Objects) != 1 || last.Objects[0].State != segdv1.State_STATE_VISIBLE {
			t.Errorf("%d masks, %v, after the lease is valid again", len(b.rec.masks)-masks, last.Objects)
		}
		if last.Lease != 41 || b.rec.events[0].Lease != 41 || b.rec.statuses[0].Lease != 41 || b.rec.statuses[0].Box != "box-b" {
			t.Errorf("the token is not told: %v, %v, %v", last.Lease, b.rec.events[0], b.rec.statuses[0])
		}
		if got := b.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_MOVED); got != lease.Moved() {
			t.Errorf("moved: %q", got)
		}
	})
}
