// Package waitfor has tests wait for what happens when it happens.
//
// How long something takes says how fast and how busy a machine is, and no test judges that. What has a
// time to be judged is tested with testing/synctest, or by what has happened before what.
package waitfor

import (
	"testing"
	"time"
)

// Limit is for how long a test waits for what must come. Only what hangs takes that long: the slowest
// waits of all, for segd to begin with its models, take seconds on an idle machine.
const Limit = 5 * time.Minute

// True waits for something to become true.
func True(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(Limit); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v in vain for: %s", Limit, what)
		}
	}
}

// Next returns the next value of c.
func Next[T any](tb testing.TB, what string, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Limit):
		tb.Fatalf("waited %v in vain for: %s", Limit, what)
		panic("unreachable")
	}
}
