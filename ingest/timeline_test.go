package ingest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
		{"one frame five seconds ahead",
			[]in{{}, {media: 40 * ms, now: 40 * ms}, {media: 5080 * ms, now: 80 * ms}, {media: 120 * ms, now: 120 * ms}, {media: 160 * ms, now: 160 * ms}},
			[]time.Duration{0, 40 * ms, 80 * ms, 120 * ms, 160 * ms}},
		{"frames lost while the network stood still",
			[]in{{}, {media: 40 * ms, now: 40 * ms}, {media: 80 * ms, now: 4080 * ms}, {media: 3 * time.Second, now: 4081 * ms}, {media: 3040 * ms, now: 4082 * ms}},
			[]time.Duration{0, 40 * ms, 80 * ms, 3000 * ms, 3040 * ms}},
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
			assert.Equal(t, tc.want, got)
		})
	}
}

// The step over a cut in a file is the usual one, and rare pictures are left as they are.
func TestStoredTimeline(t *testing.T) {
	const ms, usual = time.Millisecond, 40 * time.Millisecond
	seconds := func(s ...float64) (out []time.Duration) {
		for _, x := range s {
			out = append(out, time.Duration(x*float64(time.Second)))
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		nominal time.Duration
		in      []time.Duration // media times
		want    []time.Duration
	}{
		{"an hour's gap", usual, seconds(0, .04, 3600, 3600.04), seconds(0, .04, .08, .12)},
		{"33 bits of MPEG-TS wrap", usual, seconds(95443, 95443.04, 0, .04), seconds(0, .04, .08, .12)},
		{"a day's gap, and back", usual, seconds(0, .04, 95443, .12, .16), seconds(0, .04, .08, .12, .16)},
		{"files joined", usual, seconds(0, .04, .08, .12, .16, 0, .04, .08), seconds(0, .04, .08, .12, .16, .2, .24, .28)},
		{"disorder", usual, seconds(0, .08, .04, .16, .12, .2), seconds(0, .08, .081, .16, .161, .2)},
		{"pictures missing", usual, seconds(0, .04, 2, 2.04), seconds(0, .04, 2, 2.04)},
		{"a picture that stands still for some seconds", usual, seconds(0, .04, 4.8, 4.84), seconds(0, .04, 4.8, 4.84)},
		{"time lapse", 10 * time.Second, seconds(0, 10, 20, 40, 50, 3600, 3610), seconds(0, 10, 20, 40, 50, 60, 70)},
		{"time lapse whose rate is not known", usual, seconds(0, 10, 20, 30, 3600, 3610, 3620), seconds(0, .04, 10.04, 20.04, 30.04, 40.04, 50.04)},
		{"a picture a minute", time.Minute, seconds(0, 60, 120), seconds(0, 20, 40)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var tl timeline
			var got []time.Duration
			for _, x := range tc.in {
				got = append(got, tl.nextStored(x, tc.nominal).Round(ms))
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// arrivals are the times at which the frames of a camera come: by the time of each since
// the connection began.
type arrivals func(taken time.Duration) time.Duration

func prompt(taken time.Duration) time.Duration { return taken }

// hiccup lets nothing through for d from at on, and what waited at once then.
func hiccup(at, d time.Duration) arrivals {
	return func(taken time.Duration) time.Duration {
		if taken >= at && taken < at+d {
			return at + d + (taken-at)/1000
		}
		return taken
	}
}

// queued lets through a share only of what comes from at on, until the frames are d late, and
// twice what comes once for as long has passed after that.
func queued(at, d time.Duration, share float64) arrivals {
	return func(taken time.Duration) time.Duration {
		late := min(max(0, time.Duration(float64(taken-at)*(1/share-1))), d)
		return taken + max(0, min(late, d-(taken-at-10*d)/2))
	}
}

// slowly has frames come later and later from at on, by d after fill, and less and less for empty after that.
func slowly(at, d, fill, empty time.Duration) arrivals {
	return func(taken time.Duration) time.Duration {
		since := (taken - at).Seconds()
		late := min(since/fill.Seconds(), 1-(since-fill.Seconds())/empty.Seconds())
		return taken + time.Duration(max(0, late)*float64(d))
	}
}

// A camera whose RTP time runs faster or slower than time passes is timed by arrival after a
// few seconds, which are made up for; one whose frames come late for a while is not.
func TestDrift(t *testing.T) {
	jittery := func(most time.Duration) arrivals {
		r := rand.New(rand.NewPCG(1, 2))
		return func(taken time.Duration) time.Duration { return taken + time.Duration(r.Int64N(int64(most))) }
	}
	const crystal = 1 + 500e-6
	for _, tc := range []struct {
		name      string
		clock     string
		speed     float64
		fps       int
		came      arrivals
		byArrival bool
		off       time.Duration // stream time at the end, from the wall clock
	}{
		{"constant", "auto", 0, 25, prompt, true, 0},
		{"milliseconds for ticks", "auto", 1. / 90, 25, prompt, true, 0},
		{"half", "auto", .5, 25, prompt, true, 0},
		{"double", "auto", 2, 25, prompt, true, 0},
		{"slower by 16 %", "", .84, 25, prompt, true, 0},
		{"slower by 7 %", "auto", .93, 25, jittery(200 * time.Millisecond), true, 0},
		{"faster by 20 %, one picture a second", "auto", 1.2, 1, jittery(300 * time.Millisecond), true, 0},
		{"one picture in ten seconds", "auto", 0, 0, prompt, true, 0},
		{"half, and followed", "sender", .5, 25, prompt, false, -150 * time.Second},
		{"double, and followed", "sender", 2, 25, prompt, false, 300 * time.Second},
		{"right, and not followed", "arrival", 1, 25, hiccup(10*time.Second, time.Second), true, 0},
		{"a crystal", "auto", crystal, 25, jittery(40 * time.Millisecond), false, 0},
		{"a film", "auto", 25. / 24, 25, prompt, false, 13 * time.Second},
		{"much jitter, one picture a second", "auto", crystal, 1, jittery(900 * time.Millisecond), false, 0},
		{"a hiccup", "auto", crystal, 25, hiccup(10*time.Second, 4500*time.Millisecond), false, 0},
		{"what waited before the connection", "auto", crystal, 25, hiccup(0, 6*time.Second), false, 0},
		{"a queue that fills, and empties", "auto", crystal, 25, queued(20*time.Second, 2500*time.Millisecond, .6), false, 0},
		{"a queue that fills slowly, and empties", "auto", crystal, 25, slowly(20*time.Second, 4*time.Second, 100*time.Second, 6*time.Second), false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl, last := timeline{clock: tc.clock}, time.Duration(-1)
			step := 10 * time.Second
			if tc.fps > 0 {
				step = time.Second / time.Duration(tc.fps)
			}
			const long = 300 * time.Second
			at, took := time.Duration(0), time.Duration(0)
			for taken := time.Duration(0); taken < long; taken += step {
				at = max(at, tc.came(taken)) // frames do not overtake each other
				media := time.Duration(tc.speed * float64(taken))
				pts := tl.next(time.Hour+media, time.Unix(1000, 0).Add(at))
				if pts <= last {
					t.Fatalf("%v follows %v", pts, last)
				}
				if took == 0 && tl.byArrival {
					took = at
				}
				last = pts
			}
			assert.Equal(t, tc.byArrival, tl.byArrival, "by arrival")
			if off := last - at; (off - tc.off).Abs() > time.Second {
				t.Errorf("stream time is off by %v, want %v", off, tc.off)
			}
			if tc.byArrival && tc.clock != clockArrival {
				if math.Abs(tl.speed-tc.speed) > .02 {
					t.Errorf("a speed of %v was measured, want %v", tl.speed, tc.speed)
				}
				t.Logf("found after %v", took)
			}
		})
	}
}

// Media time is followed again once it has been right for a minute, and that on this
// connection or a later one.
func TestDriftEnds(t *testing.T) {
	var tl timeline
	now, media, last := time.Unix(1000, 0), time.Duration(0), time.Duration(-1)
	run := func(d time.Duration, speed float64) {
		for range d / (40 * time.Millisecond) {
			now = now.Add(40 * time.Millisecond)
			media += time.Duration(speed * float64(40*time.Millisecond))
			pts := tl.next(media, now)
			if pts <= last {
				t.Fatalf("%v follows %v", pts, last)
			}
			last = pts
		}
	}
	run(20*time.Second, .5)
	if !tl.byArrival {
		t.Fatal("it was not found")
	}
	tl.restart()
	run(20*time.Second, .5)
	if off := last - now.Sub(time.Unix(1000, 0)); !tl.byArrival || off.Abs() > 200*time.Millisecond {
		t.Errorf("on a new connection: by arrival %v, off by %v", tl.byArrival, off)
	}
	tl.restart()
	run(70*time.Second, 1)
	if tl.byArrival {
		t.Error("it is right again, and not followed")
	}
	if off := last - now.Sub(time.Unix(1000, 0)); off.Abs() > 200*time.Millisecond {
		t.Errorf("off by %v", off)
	}
}

func FuzzTimeline(f *testing.F) {
	f.Add(int64(0), int64(40e6), int64(80e6), int64(10e6), uint8(2))
	f.Add(int64(1)<<62, int64(-1)<<62, int64(0), int64(-5), uint8(0))
	f.Fuzz(func(t *testing.T, a, b, c, gap int64, restart uint8) {
		var tl, file timeline
		last, lastStored := time.Duration(-1), time.Duration(-1)
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
			// What a demuxer can give.
			if pts := file.nextStored(time.Duration(media>>2), time.Duration(uint64(gap)%(1<<45))); pts <= lastStored {
				t.Fatalf("%v follows %v", pts, lastStored)
			} else {
				lastStored = pts
			}
			now = now.Add(time.Duration(gap % (1 << 45)))
		}
	})
}

func TestRepeats(t *testing.T) {
	var r repeats
	var got []int
	for _, msg := range []string{"a", "a", "a", "b", "b", "a"} {
		if n, ok := r.say(msg); ok {
			got = append(got, n)
		}
	}
	assert.Equal(t, []int{1, 3, 2}, got, "attempts said")
}
