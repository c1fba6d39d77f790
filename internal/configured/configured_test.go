package configured

import (
	"testing"
	"time"
)

// A thousand cameras are dialled over a second, no more than 1 in 50 at once.
func TestStagger(t *testing.T) {
	at := map[time.Duration]int{}
	for i := range 1000 {
		d := Stagger(i)
		if d < 0 || d > time.Second {
			t.Fatalf("camera %d waits %v", i, d)
		}
		at[d]++
	}
	for d, n := range at {
		if n > 20 {
			t.Errorf("%d cameras after %v", n, d)
		}
	}
}
