package ingest

import (
	"slices"
	"testing"
	"time"
)

func TestTimeline(t *testing.T) {
	const ms = time.Millisecond
	type in struct {
		media   time.Duration // camera's time
		now     time.Duration // arrival
		restart bool
	}
	for _, tc := range []struct {
		name string
		in   []in
		want []time.Duration
	}{
		{"starts at 0", []in{{media: 5000 * ms}, {media: 5040 * ms, now: 41 * ms}}, []time.Duration{0, 40 * ms}},
		{"jitter of arrival does not matter",
			[]in{{}, {media: 40 * ms, now: 300 * ms}, {media: 80 * ms, now: 301 * ms}}, []time.Duration{0, 40 * ms, 80 * ms}},
		{"reconnect counts the time away",
			[]in{{}, {media: 40 * ms, now: 40 * ms}, {media: 9 * time.Hour, now: 3040 * ms, restart: true}, {media: 9*time.Hour + 40*ms, now: 3080 * ms}},
			[]time.Duration{0, 40 * ms, 3040 * ms, 3080 * ms}},
		{"same time twice", []in{{}, {now: 40 * ms}, {media: 80 * ms, now: 80 * ms}}, []time.Duration{0, ms, 80 * ms}},
		{"a step back within reordering is flattened",
			[]in{{}, {media: 100 * ms, now: 40 * ms}, {media: 50 * ms, now: 80 * ms}, {media: 150 * ms, now: 120 * ms}},
			[]time.Duration{0, 100 * ms, 101 * ms, 150 * ms}},
		{"camera's clock jumps back",
			[]in{{}, {media: time.Hour, now: 40 * ms}, {media: 0, now: 80 * ms}, {media: 40 * ms, now: 120 * ms}},
			[]time.Duration{0, 40 * ms, 80 * ms, 120 * ms}},
		{"camera's clock jumps ahead",
			[]in{{}, {media: 40 * ms, now: 40 * ms}, {media: 5 * time.Hour, now: 80 * ms}, {media: 5*time.Hour + 40*ms, now: 120 * ms}},
			[]time.Duration{0, 40 * ms, 80 * ms, 120 * ms}},
		{"frames after a pause of the camera keep their times",
			[]in{{}, {media: 8 * time.Second, now: 8 * time.Second}}, []time.Duration{0, 8 * time.Second}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var tl timeline
			var got []time.Duration
			for _, x := range tc.in {
				if x.restart {
					tl.restart()
				}
				got = append(got, tl.next(x.media, time.Unix(1000, 0).Add(x.now)))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func FuzzTimeline(f *testing.F) {
	f.Add(int64(0), int64(40e6), int64(80e6), int64(10e6), uint8(2))
	f.Add(int64(1)<<62, int64(-1)<<62, int64(0), int64(-5), uint8(0))
	f.Fuzz(func(t *testing.T, a, b, c, gap int64, restart uint8) {
		var tl timeline
		last := time.Duration(-1)
		now := time.Unix(1000, 0)
		for i, media := range []int64{a, b, c} {
			if restart>>i&1 == 1 {
				tl.restart()
			}
			// What 32-bit RTP steps and this machine's clock can give.
			pts := tl.next(time.Duration(media%(1<<50)), now)
			if pts <= last {
				t.Fatalf("%v follows %v", pts, last)
			}
			last = pts
			now = now.Add(time.Duration(gap % (1 << 45)))
		}
	})
}

func TestRepeats(t *testing.T) {
	r := repeats{every: time.Hour}
	var got []int
	for _, msg := range []string{"a", "a", "a", "b", "b", "a"} {
		if n, ok := r.say(msg); ok {
			got = append(got, n)
		}
	}
	if want := []int{1, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("attempts said %v, want %v", got, want)
	}
}
