package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A box that hears itself, but cannot renew its key, goes on until the lease ends: longer than NATS takes to elect a
// leader, and not for ever.
func TestLeaseEnds(t *testing.T) {
	timing := Timing{}
	require.NoError(t, timing.setDefaults())
	x := begin(timing, 1, 0)
	for now := instant(0); now < time.Minute; now += timing.Beat {
		x.echoed(now, now)
		if got, want := x.valid(now), now < timing.Lease-timing.margin(); got != want {
			t.Fatalf("after %v: valid %v, want %v", now, got, want)
		}
	}
	if election := 9 * time.Second; timing.Lease-timing.margin()-timing.Renew < election {
		t.Errorf("a lease that was renewed %v ago ends before an election of %v", timing.Renew, election)
	}
	x.confirmed(time.Minute, 2, time.Minute)
	if !x.valid(time.Minute) {
		t.Error("a renewal does not end the lapse")
	}
	x.ended = true
	if x.valid(time.Minute) || x.due(time.Minute) {
		t.Error("it goes on though its session was ended")
	}
}

func TestTiming(t *testing.T) {
	for _, bad := range []Timing{{TTL: time.Second, Beat: time.Second}, {TTL: -1}, {Lease: time.Second}, {Renew: time.Millisecond, Beat: time.Second}} {
		assert.Error(t, bad.setDefaults(), "%+v is accepted", bad)
	}
}

// Each box is first for a share of the cameras as large as its weight, and one more box takes cameras from all and
// moves none between the others.
func TestRanked(t *testing.T) {
	boxes := []candidate{{name: "a", capacity: 100}, {name: "b", capacity: 200}, {name: "c", capacity: 100}}
	const n = 4000
	firsts := func(boxes []candidate) map[string]string {
		of := map[string]string{}
		for _, c := range cameras(n) {
			of[c.Name] = ranked(c.Name, 0, 1, boxes)[0].name
		}
		return of
	}
	before := firsts(boxes)
	counts := map[string]int{}
	for _, box := range before {
		counts[box]++
	}
	for box, want := range map[string]float64{"a": n / 4, "b": n / 2, "c": n / 4} {
		if got := float64(counts[box]); math.Abs(got-want) > 4*math.Sqrt(want) {
			t.Errorf("box %s is first for %v of %d cameras, want about %v", box, got, n, want)
		}
	}
	moved := 0
	for camera, box := range firsts(append(slices.Clone(boxes), candidate{name: "d", capacity: 100})) {
		if box != before[camera] {
			if moved++; box != "d" {
				t.Fatalf("camera %s moves from %s to %s as d joins", camera, before[camera], box)
			}
		}
	}
	if want := n / 5.; math.Abs(float64(moved)-want) > 4*math.Sqrt(want) {
		t.Errorf("%d cameras move to a box with a fifth of the capacity, of %d", moved, n)
	}
}

// A box that is fuller than the others comes after them, one that would drop frames after that, and one that takes no
// more not at all.
func TestRankedByRoom(t *testing.T) {
	boxes := []candidate{
		{name: "over", capacity: 100, load: 95}, {name: "fuller", capacity: 100, load: 60}, {name: "free", capacity: 100, load: 10},
		{name: "far over", capacity: 100, load: 150}, {name: "most", capacity: 1000, full: true},
	}
	var got []string
	for _, b := range ranked("x", 10, 0.3, boxes) {
		got = append(got, b.name)
	}
	assert.Equal(t, "free fuller over far over", strings.Join(got, " "), "%q", got)
	if s := score(seed("x"), "free", 90); s <= 0 || math.IsInf(s, 0) {
		t.Errorf("score %v", s)
	}
}

// Each box has its turn after those before it, whatever it looks at; one that has just joined makes those after it wait.
func TestTurn(t *testing.T) {
	p := patience{settle: time.Second, delay: 100 * time.Millisecond}
	var boxes []candidate
	for i := range 30 {
		b := candidate{name: fmt.Sprintf("box%d", i), capacity: 100, load: float64(i) * 3, full: i%10 == 9, joined: never}
		if i%2 == 0 {
			b.labels = map[string]string{"gpu": "true"}
		}
		boxes = append(boxes, b)
	}
	const at = 10 * time.Second
	for _, wants := range []map[string]string{nil, {"gpu": "true"}} {
		for _, c := range cameras(50) {
			var able []candidate
			for _, b := range boxes {
				if suits(b.labels, wants) {
					able = append(able, b)
				}
			}
			order := ranked(c.Name, 10, 0.5, able)
			for self := range boxes {
				when := at + p.delay*time.Duration(slices.IndexFunc(order, func(b candidate) bool { return b.name == boxes[self].name }))
				if when < at {
					continue // it may not run it
				}
				turn := func(now instant) instant { return p.turn(self, c.Name, 10, wants, 0.5, boxes, at, now) }
				if turn(when) != when || turn(when-1) < when || turn(at+time.Hour) != when {
					t.Fatalf("%s takes %s at %v, %v, %v, want %v", boxes[self].name, c.Name, turn(when-1), turn(when), turn(at+time.Hour), when)
				}
				if next := turn(at - 1); next > when {
					t.Fatalf("%s looks at %s again at %v; it takes it at %v", boxes[self].name, c.Name, next, when)
				}
			}
		}
	}
	order := ranked("x", 10, 0.5, boxes)
	first := slices.IndexFunc(boxes, func(b candidate) bool { return b.name == order[0].name })
	second := slices.IndexFunc(boxes, func(b candidate) bool { return b.name == order[1].name })
	boxes[first].joined = at
	if got, want := p.turn(second, "x", 10, nil, 0.5, boxes, at, at), at+p.settle+p.delay; got != want {
		t.Errorf("the second takes it at %v, want %v", got, want)
	}
}

// A box looks at ten thousand cameras that others take first in little time, and makes no garbage.
func BenchmarkTurn(b *testing.B) {
	p := patience{settle: time.Second, delay: 100 * time.Millisecond}
	boxes := make([]candidate, 200)
	for i := range boxes {
		boxes[i] = candidate{name: fmt.Sprintf("box%d", i), capacity: 100, joined: never}
	}
	list := cameras(10000)
	for b.Loop() {
		for _, c := range list {
			p.turn(0, c.Name, 10, nil, 0.5, boxes, 0, 0)
		}
	}
}

// The plan evens out what is uneven with few moves, does not undo itself, and heeds labels and limits.
func TestPlan(t *testing.T) {
	boxes := []candidate{{name: "a", capacity: 100, load: 80}, {name: "b", capacity: 100, load: 20}, {name: "c", capacity: 100, load: 20, full: true}}
	var placedThere []placed
	for _, c := range cameras(8) {
		placedThere = append(placedThere, placed{camera: c.Name, box: "a", rate: 10})
	}
	moves := plan(boxes, placedThere, 10)
	require.Len(t, moves, 3, "%+v; want three to b: 50 and 50", moves)
	for _, m := range moves {
		if m.from != "a" || m.to != "b" {
			t.Errorf("%+v", m)
		}
	}
	if moves := plan(boxes, placedThere, 1); len(moves) != 1 {
		t.Errorf("%d moves, want at most one", len(moves))
	}
	for i := range placedThere {
		placedThere[i].wants = map[string]string{"gpu": "true"}
	}
	boxes[1].labels = map[string]string{"gpu": "false"}
	if moves := plan(boxes, placedThere, 10); len(moves) > 0 {
		t.Errorf("%+v to a box that lacks a label", moves)
	}
	// A box that has measured nothing takes one camera, and no second one, however little it thinks it can do.
	boxes = []candidate{{name: "a", capacity: 290, load: 30}, {name: "b", capacity: 130}}
	var three []placed
	for _, c := range cameras(3) {
		three = append(three, placed{camera: c.Name, box: "a", rate: 10})
	}
	if moves := plan(boxes, three, 10); len(moves) != 1 || moves[0].to != "b" {
		t.Errorf("%+v; want one to b", moves)
	}
	// Two boxes that differ by less than a camera.
	boxes = []candidate{{name: "a", capacity: 100, load: 20}, {name: "b", capacity: 100, load: 10}}
	if moves := plan(boxes, []placed{{camera: "x", box: "a", rate: 10}, {camera: "y", box: "a", rate: 10}}, 10); len(moves) > 0 {
		t.Errorf("%+v: it would be as uneven the other way round", moves)
	}
}

// Every box is watched by as many as watch anybody, and a box that goes is replaced by one.
func TestRing(t *testing.T) {
	var boxes []string
	for _, c := range cameras(40) {
		boxes = append(boxes, c.Name)
	}
	watched := map[string]int{}
	for _, b := range boxes {
		list := ring(b, boxes, watchers)
		if len(list) != watchers || slices.Contains(list, b) {
			t.Fatalf("%s watches %q", b, list)
		}
		for _, other := range list {
			watched[other]++
		}
	}
	for _, b := range boxes {
		assert.Equal(t, watchers, watched[b], "%s is watched by", b)
	}
	assert.Equal(t, []string{"b"}, ring("a", []string{"a", "b"}, watchers))
}

// What others have put into the bucket does no harm.
func FuzzApply(f *testing.F) {
	f.Add("box.a", []byte(`{"session":"s","capacity":1e308,"labels":{"a":"b"}}`), "camera.x", []byte(`{"box":"a","session":"s","rate":-1}`))
	f.Add("camera.x", []byte(`{"box":"a","session":"s"}`), "box.a", []byte(`{"session":"s","over":true}`))
	f.Add("plan", []byte(`null`), "order.a", []byte(`{"cordoned":true}`))
	f.Add("box.", []byte("\xff"), "else", []byte(strings.Repeat("x", maxRecord+1)))
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte) {
		v := newView()
		_, _ = v.apply(key1, value1, 1, 0)
		_, _ = v.apply(key2, value2, 2, 0)
		_, _ = v.apply(key1, value2, 3, 0)
		for name, b := range v.boxes {
			var load float64
			for camera := range b.cameras {
				l := v.leases[camera]
				if v.holder(l) != b {
					t.Fatalf("box %s counts %s, which it does not hold", name, camera)
				}
				load += l.rate()
			}
			if math.Abs(load-b.load) > 1e-9*load || !(b.Capacity > 0) {
				t.Fatalf("box %s: load %v, of %v in all; capacity %v", name, b.load, load, b.Capacity)
			}
		}
		boxes := v.candidates(nil, "")
		for camera, l := range v.leases {
			ranked(camera, l.rate(), meanUse(1, boxes), boxes)
		}
	})
}

func FuzzHeartbeat(f *testing.F) {
	f.Add([]byte("session 1 2"))
	f.Add([]byte(" 1 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, ok := parseHeartbeat(text)
		if !ok {
			return
		}
		if again, ok := parseHeartbeat(h.text()); !ok || again != h {
			t.Errorf("%q is %+v, which is told as %q", text, h, h.text())
		}
	})
}

// However the boxes are filled, those that run on take over what a box had that died without becoming so uneven that
// the plan moves many more.
func TestTakeOverStaysEven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const n, each = 100, 50
	var boxes []candidate
	var load, capacity float64
	held := make([]placed, n*each)
	for i := range held {
		held[i] = placed{camera: fmt.Sprintf("camera%d", i), rate: 5 + 20*random.Float64()}
		load += held[i].rate
	}
	for i := range n {
		boxes = append(boxes, candidate{name: fmt.Sprintf("box%d", i), capacity: []float64{1, 2, 4}[i%3], joined: never})
		capacity += boxes[i].capacity
	}
	for i := range boxes {
		boxes[i].capacity *= load / 0.6 / capacity
	}
	at := func(name string) int {
		return slices.IndexFunc(boxes, func(b candidate) bool { return b.name == name })
	}
	place := func(c *placed) {
		best := ranked(c.camera, c.rate, meanUse(load, boxes), boxes)[0].name
		c.box = best
		boxes[at(best)].load += c.rate
	}
	even := func() (moves int) {
		for {
			list := plan(boxes, held, 100)
			if len(list) == 0 {
				return moves
			}
			for _, m := range list {
				i := slices.IndexFunc(held, func(c placed) bool { return c.camera == m.camera })
				boxes[at(m.from)].load -= held[i].rate
				boxes[at(m.to)].load += held[i].rate
				held[i].box = m.to
				moves++
			}
		}
	}
	for i := range held {
		place(&held[i])
	}
	even()
	had, moved := 0, 0
	for range n / 4 {
		dead := random.IntN(len(boxes))
		name := boxes[dead].name
		boxes = slices.Delete(boxes, dead, dead+1)
		for i := range held {
			if held[i].box == name {
				place(&held[i])
				had++
			}
		}
		moved += even()
		mean := meanUse(load, boxes)
		for _, b := range boxes {
			if b.use(0) > 1.08*mean {
				t.Errorf("%s is used by %.3f, all together by %.3f", b.name, b.use(0), mean)
			}
		}
	}
	if moved > had/50 {
		t.Errorf("%d more cameras were moved for %d that had no box", moved, had)
	}
}

func TestMovesASecond(t *testing.T) {
	fleet := func(n int, loads ...float64) []candidate {
		boxes := make([]candidate, n)
		for i := range boxes {
			boxes[i] = candidate{capacity: 100, load: 60}
		}
		for i, load := range loads {
			boxes[i].load = load
		}
		return boxes
	}
	for _, tc := range []struct {
		what  string
		boxes []candidate
		want  int
	}{
		{"small", fleet(3), 4},
		{"large", fleet(200), 50},
		{"one drops frames", fleet(3, 150, 10, 10), 16},
		{"all do", fleet(3, 150, 110, 110), 4},
		{"none", nil, 4},
	} {
		assert.Equal(t, tc.want, movesASecond(tc.boxes), "%s", tc.what)
	}
}
