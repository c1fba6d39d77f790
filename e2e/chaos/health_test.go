package chaos

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(2)
		assert.Len(t, h.overdue(), 0, "nothing has happened")
		// Two faults at once: well when both have ended.
		h.harm(0)
		h.harm(0, 1)
		h.heal(NATSKilled, 0)
		early := time.Now()
		time.Sleep(time.Second)
		h.mask(0, time.Now())
		h.heal(NATSKilled, 0, 1)
		assert.Equal(t, []int{0, 1}, h.overdue(), "overdue")
		time.Sleep(300 * time.Millisecond)
		h.mask(0, early) // kept up meanwhile
		h.mask(0, time.Now())
		h.mask(0, time.Now())
		// What is interrupted is not measured.
		h.step()
		h.mask(1, time.Now())
		h.harm(1)
		h.heal(NATSKilled, 1)
		h.harm(1)
		h.heal(DiskFull, 1)
		time.Sleep(500 * time.Millisecond)
		h.mask(1, time.Now())
		recovered, broken := h.times()
		want := map[Kind][]time.Duration{NATSKilled: {300 * time.Millisecond}, DiskFull: {500 * time.Millisecond}}
		if !reflect.DeepEqual(recovered, want) || broken != 2 {
			t.Errorf("recovered %v, broken %d", recovered, broken)
		}
		if got := h.overdue(); len(got) != 0 {
			t.Errorf("overdue: %v", got)
		}
	})
}
