package whip

import (
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// fileDescriptors counts those of this process.
func fileDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Publishers come and go; neither goroutines nor file descriptors stay behind, and
// the source goes on. Not parallel: it counts what the process has.
func TestNothingStays(t *testing.T) {
	const cycles = 12
	s, base := serve(t, Config{})
	w := follow(t, s, "a", 0)
	cycle := func(n int) {
		t.Run("", func(t *testing.T) { // its own, so that the client is cleaned up
			w.t = t
			c := publish(t, base, "a", clientConfig{codec: codec.VP8, every: 2 * time.Millisecond})
			w.next()
			c.stop()
			if resp, _ := ask(t, http.MethodDelete, base+c.location, "", ""); resp.StatusCode != 200 {
				t.Errorf("DELETE: %d", resp.StatusCode)
			}
			w.down(n + 1)
			for len(w.frames) > 0 {
				<-w.frames
			}
		})
		w.t = t
		plainHTTP.CloseIdleConnections()
	}
	cycle(1) // makes what stays for good
	goroutines, fds := runtime.NumGoroutine(), fileDescriptors(t)
	for n := range cycles {
		cycle(n + 2)
	}
	// A leak of one a cycle would show as cycles more.
	eventually(t, "no more goroutines and file descriptors than before", func() bool {
		return runtime.NumGoroutine() < goroutines+cycles/2 && fileDescriptors(t) < fds+cycles/2
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ups != cycles+1 || w.reconnects != cycles {
		t.Errorf("%d ups, %d reconnects; want %d and %d", w.ups, w.reconnects, cycles+1, cycles)
	}
}
