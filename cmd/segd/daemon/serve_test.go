package daemon

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/segd/segd/internal/resident"
)

// What Go has freed goes back to the system at once, though Go would keep it for a while.
// Not parallel: it measures the process.
func TestGiveBack(t *testing.T) {
	const mib = 64
	rss := func() float64 {
		now, err := resident.MB()
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing is freed before
	block := make([]byte, mib<<20)
	for i := range block {
		block[i] = 1
	}
	held := rss()
	runtime.KeepAlive(block)
	if giveBack(); rss() > held-mib/2 {
		t.Errorf("%.0f MiB resident with %d MiB that nobody uses, %.0f after they were given back", held, mib, rss())
	}
}
