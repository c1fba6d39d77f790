package ingest

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/demo"
)

// held is what the process holds.
type held struct {
	goroutines, files int
	residentMB        float64
}

func measureHeld(t *testing.T) held {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, resident int
	_, err = fmt.Sscan(string(statm), &size, &resident)
	require.NoError(t, err)
	return held{runtime.NumGoroutine(), len(entries), float64(resident*os.Getpagesize()) / (1 << 20)}
}

// cycles is how often a leak test connects and disconnects. Memory is compared
// only after many, where a leak is more than the noise.
func cycles(t *testing.T) (n int, many bool) {
	t.Helper()
	text := os.Getenv("SEGD_TEST_CYCLES")
	if text == "" {
		return 10, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SEGD_TEST_CYCLES is %q, want a number above 0", text)
	}
	return n, n >= 500
}

// Cameras come and go, by being closed here, cut off by the network, and refused
// by the camera; neither goroutines nor file descriptors nor memory stay behind.
// Not parallel: it counts what the process holds.
func TestNothingStays(t *testing.T) {
	n, many := cycles(t)
	quick := clipConfig
	quick.GOP = 1 // begins with whichever frame comes
	locked := serve(t, clip(t, quick), demo.Config{User: "admin", Password: "s3cret"})
	for _, tc := range []struct {
		name string
		// begin returns what one cycle is.
		begin func(t *testing.T) func()
	}{
		{"opened and closed over TCP", func(t *testing.T) func() {
			s := serve(t, clip(t, quick), demo.Config{})
			return func() {
				require.NoError(t, probe(t.Context(), testConfig(s.URL(), "tcp")))
			}
		}},
		{"opened and closed over UDP", func(t *testing.T) func() {
			s := serve(t, clip(t, quick), demo.Config{})
			return func() {
				require.NoError(t, probe(t.Context(), testConfig(s.URL(), "udp")))
			}
		}},
		{"cut off", func(t *testing.T) func() {
			s := serve(t, clip(t, quick), demo.Config{})
			p, address := throughProxy(t, s.URL())
			w := start(t, testConfig(address, "tcp"))
			w.next()
			again := 0
			return func() {
				p.Cut()
				again++
				eventually(t, "the camera is up again", func() bool {
					w.events.mu.Lock()
					defer w.events.mu.Unlock()
					return w.events.reconnects == again
				})
				for len(w.frames) > 0 {
					<-w.frames
				}
			}
		}},
		{"turned from UDP to TCP", func(t *testing.T) func() {
			c := serveOdd(t, &oddCamera{answer: refuses(454)})
			return func() {
				require.NoError(t, probe(t.Context(), testConfig(c.url(""), "auto")))
				c.forget()
			}
		}},
		{"snapshots", func(t *testing.T) func() {
			url, _ := serveSnapshots(t, func(w http.ResponseWriter, _ *http.Request) { picture(w, numberedJPEG(t, 128, 96, 1)) })
			return func() {
				require.NoError(t, probe(t.Context(), testConfig(url, "")))
			}
		}},
		{"refused", func(t *testing.T) func() {
			cfg := testConfig("rtsp://admin:guess1@"+address(locked)+"/demo", "tcp")
			return func() { mustWrap(t, probe(t.Context(), cfg), ErrUnauthorized) }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cycle := tc.begin(t)
			for range n {
				cycle() // makes what stays for good: pools, FFmpeg's tables; glibc needs hundreds to settle
			}
			before := measureHeld(t)
			for range n {
				cycle()
			}
			// A leak of one in two cycles would show.
			eventually(t, "no more goroutines and file descriptors than before", func() bool {
				now := measureHeld(t)
				return now.goroutines < before.goroutines+n/2 && now.files < before.files+n/2
			})
			after := measureHeld(t)
			t.Logf("%d cycles: before %+v, after %+v", n, before, after)
			if many && after.residentMB > 1.02*before.residentMB {
				t.Errorf("resident memory rose from %.1f to %.1f MiB in %d cycles", before.residentMB, after.residentMB, n)
			}
		})
	}
}
