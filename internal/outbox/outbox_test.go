package outbox_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/segd/segd/internal/outbox"
)

func Example() {
	q := outbox.New(2, 100, func(s string) int { return len(s) })
	for _, event := range []string{"came", "stayed", "went"} {
		if n := q.Put(event); n > 0 {
			fmt.Println("dropped", n)
		}
	}
	event, at, _ := q.Oldest() // and is sent
	fmt.Println(event, q.Done(at), q.Len())
	// Output:
	// dropped 1
	// stayed true 1
}

func TestQueue(t *testing.T) {
	size := func(s string) int { return len(s) }
	for _, tc := range []struct {
		name            string
		most, mostBytes int
		size            func(string) int
		put             []string
		dropped         int
		left            []string
		fits            string // is let in beside them without a drop
		not             string // is not
	}{
		{name: "empty", most: 1, mostBytes: 3, size: size, fits: "abc", not: "abcd"},
		{name: "by number", most: 2, mostBytes: 99, size: size, put: []string{"a", "b", "c", "d"}, dropped: 2, left: []string{"c", "d"}, not: "e"},
		{name: "by bytes", most: 9, mostBytes: 5, size: size, put: []string{"aa", "bb", "ccc"}, dropped: 1, left: []string{"bb", "ccc"}, fits: "", not: "d"},
		{name: "several for a large one", most: 9, mostBytes: 5, size: size, put: []string{"a", "b", "ccccc"}, dropped: 2, left: []string{"ccccc"}, not: "d"},
		{name: "too large by itself", most: 9, mostBytes: 5, size: size, put: []string{"a", "bbbbbb"}, dropped: 2, fits: "ccccc"},
		{name: "without bytes", most: 1, put: []string{"a", "bbbbbb"}, dropped: 1, left: []string{"bbbbbb"}, not: "c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := outbox.New(tc.most, tc.mostBytes, tc.size)
			dropped, bytes := 0, 0
			for _, s := range tc.put {
				dropped += q.Put(s)
			}
			for _, s := range tc.left {
				if tc.size != nil {
					bytes += len(s)
				}
			}
			if dropped != tc.dropped || !slices.Equal(q.All(), tc.left) || q.Len() != len(tc.left) || q.Bytes() != bytes {
				t.Errorf("dropped %d, left %q, %d bytes; want %d, %q, %d", dropped, q.All(), q.Bytes(), tc.dropped, tc.left, bytes)
			}
			if tc.fits != "" && !q.Fits(tc.fits) {
				t.Errorf("%q does not fit beside %q", tc.fits, q.All())
			}
			if tc.not != "" && q.Fits(tc.not) {
				t.Errorf("%q fits beside %q", tc.not, q.All())
			}
		})
	}
}

// What is dropped while it is sent is not there to be taken off, and what came in its place stays.
func TestDone(t *testing.T) {
	q := outbox.New[int](1, 0, nil)
	if _, _, ok := q.Oldest(); ok || q.Done(0) {
		t.Error("an empty queue has an item")
	}
	q.Put(1)
	it, at, ok := q.Oldest()
	q.Put(2)
	if it != 1 || !ok || q.Done(at) || q.Len() != 1 {
		t.Errorf("%d %v, then %v", it, ok, q.All())
	}
	it, at, _ = q.Oldest()
	if it != 2 || !q.Done(at) || q.Done(at) || q.Len() != 0 {
		t.Errorf("%d, then %v", it, q.All())
	}
}
