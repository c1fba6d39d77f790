package pause

import (
	"testing"
	"time"
)

func TestGrowing(t *testing.T) {
	const lo, hi = 100 * time.Millisecond, time.Second
	b := Growing(lo, hi)
	varied := false
	for range 50 {
		b.Reset()
		for i, full := range []time.Duration{lo, 2 * lo, 4 * lo, 8 * lo, hi, hi, hi} {
			d := b.NextBackOff()
			if d > full || d < full/2 {
				t.Fatalf("wait %d is %v, want %v to %v", i, d, full/2, full)
			}
			varied = varied || d != full
		}
	}
	if !varied {
		t.Error("no jitter")
	}
}
