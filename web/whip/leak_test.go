package whip

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// fileDescriptors counts those of this process.
func fileDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// residentMB is the process's resident memory.
func residentMB(t *testing.T) float64 {
	t.Helper()
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, resident int
	_, err = fmt.Sscan(string(statm), &size, &resident)
	require.NoError(t, err)
	return float64(resident*os.Getpagesize()) / (1 << 20)
}

// cycles is how many publishers come and go. Memory is compared only after many,
// where a leak is more than the noise.
func cycles(t *testing.T) (n int, many bool) {
	t.Helper()
	text := os.Getenv("SEGD_TEST_CYCLES")
	if text == "" {
		return 12, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SEGD_TEST_CYCLES is %q, want a number above 0", text)
	}
	return n, n >= 500
}

// Publishers come and go; neither goroutines nor file descriptors stay behind, and
// the source goes on. Not parallel: it counts what the process has.
func TestNothingStays(t *testing.T) {
	cycles, many := cycles(t)
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
	first := cycles // make what stays for good; FFmpeg and glibc need hundreds to settle
	for n := range first {
		cycle(n + 1)
	}
	goroutines, fds, resident := runtime.NumGoroutine(), fileDescriptors(t), residentMB(t)
	for n := range cycles {
		cycle(first + n + 1)
	}
	// A leak of one a cycle would show as cycles more.
	eventually(t, "no more goroutines and file descriptors than before", func() bool {
		return runtime.NumGoroutine() < goroutines+cycles/2 && fileDescriptors(t) < fds+cycles/2
	})
	after := residentMB(t)
	t.Logf("%d cycles: %.1f MiB before, %.1f after", cycles, resident, after)
	if many && after > 1.02*resident {
		t.Errorf("resident memory rose from %.1f to %.1f MiB in %d cycles", resident, after, cycles)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if all := first + cycles; w.ups != all || w.reconnects != all-1 {
		t.Errorf("%d ups, %d reconnects; want %d and %d", w.ups, w.reconnects, all, all-1)
	}
}
