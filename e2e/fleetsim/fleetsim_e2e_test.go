//go:build e2e

package fleetsim

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/fleet"
)

var (
	boxes      = flag.Int("boxes", 200, "how many boxes there are")
	cameras    = flag.Int("cameras", 10000, "how many cameras there are")
	length     = flag.Duration("for", 10*time.Minute, "for how long boxes crash")
	crashEvery = flag.Duration("crash-every", 20*time.Second, "time from one crash to the next, in the mean")
	quietFor   = flag.Duration("quiet", 30*time.Second, "how long the stretch is before the first crash in which messages are counted")
	startIn    = flag.Duration("start", 0, "in what time the boxes start, one after another")
	settleIn   = flag.Duration("settle", 10*time.Minute, "in what time the cameras are to be placed and even at the beginning")
	ttl        = flag.Duration("ttl", 5*time.Second, "how long a box may be silent; 200 boxes in one process on two cores are late for the 2 s of a fleet")
	seed       = flag.Uint64("seed", 1, "of the moments, the boxes and the cameras' rates")
	grow       = flag.Bool("grow", false, "also count the messages of quiet fleets of 100 to 10,000 cameras, 50 for each box")
	growFor    = flag.Duration("grow-for", time.Minute, "how long each of them is counted")
	asJSON     = flag.Bool("json", false, "end with one JSON object")
)

const (
	// sampleEvery is how often all leases are looked at.
	sampleEvery = 50 * time.Millisecond
	// stillFor is for how many times TTL no camera has changed boxes in a fleet that has settled: longer than
	// it takes until the cameras' rates are told.
	stillFor = 7
)

func TestFleet(t *testing.T) {
	debug.SetGCPercent(400) // so many views of one fleet are in no other process
	f := run(t, *boxes, *cameras)
	if *grow {
		f.Exponent = growing(t)
	}
	var table strings.Builder
	f.table(&table)
	t.Logf("\n%s", table.String())
	out, err := json.Marshal(f)
	require.NoError(t, err)
	if *asJSON {
		fmt.Println(string(out))
	}
	for _, fault := range f.faults() {
		t.Error(fault)
	}
}

// fixture is a fleet and its server.
type fixture struct {
	*sim
	t      *testing.T
	nats   *harness.NATS
	varz   string
	random *rand.Rand
	begun  time.Time
}

// begin starts all boxes at a server of their own, and returns once no camera changes boxes any more.
func begin(t *testing.T, boxes, cameras int) (x *fixture, start, settle time.Duration) {
	http := harness.FreeAddrs(t, 1)[0]
	x = &fixture{t: t, nats: harness.StartNATS(t, fmt.Sprintf("http: %q", http)), varz: "http://" + http + "/varz", random: rand.New(rand.NewPCG(*seed, 1))}
	x.sim = newSim(x.nats.URL, boxes, cameras, fleet.Timing{TTL: *ttl}, x.random)
	var runs []func()
	for _, b := range x.all() {
		run, err := x.prepare(b.name)
		require.NoError(t, err)
		runs = append(runs, run)
	}
	x.begun = time.Now()
	go func() {
		for i, run := range runs {
			time.Sleep(time.Until(x.begun.Add(*startIn * time.Duration(i) / time.Duration(len(runs)))))
			run()
		}
	}()
	said := time.Now()
	for {
		time.Sleep(sampleEvery)
		unplaced := 0
		for _, b := range x.sample() {
			if b == nil {
				unplaced++
			}
		}
		took := time.Since(x.begun)
		if start == 0 && unplaced == 0 {
			start = took
			t.Logf("%d cameras run after %v, imbalance %.3f", cameras, start.Round(time.Millisecond), x.imbalance())
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			t.Logf("%v: %d cameras without a box, imbalance %.3f, %d moves, %d lapses", took.Round(time.Second), unplaced, x.imbalance(), len(x.takeMoves()), x.lapsed.Load())
		}
		if start > 0 && x.quiet() > stillFor**ttl {
			settle = took - stillFor**ttl
			break
		}
		if took > *settleIn {
			t.Fatalf("after %v %d cameras are without a box, and one has changed boxes %v ago", took, unplaced, x.quiet())
		}
	}
	t.Logf("settled after %v, imbalance %.3f", settle.Round(time.Millisecond), x.imbalance())
	return x, start, settle
}

func run(t *testing.T, boxes, cameras int) *figures {
	f := &figures{Boxes: boxes, Cameras: cameras, TTL: ttl.Seconds(), Placed: true}
	x, start, settle := begin(t, boxes, cameras)
	f.Start, f.Settle = start.Seconds(), settle.Seconds()
	x.takeMoves()
	imbalances := []float64{x.imbalance()}

	before := x.read()
	for end := time.Now().Add(*quietFor); time.Now().Before(end); time.Sleep(sampleEvery) {
		x.sample()
	}
	after := x.read()
	f.Messages.QuietIn, f.Messages.QuietOut, f.Bytes.QuietIn, f.Bytes.QuietOut = after.since(before)
	f.CPU.QuietServer, f.CPU.QuietBoxes = after.cpuSince(before)

	x.events(f, &imbalances)
	x.still()
	for _, b := range x.sample() {
		if b == nil {
			f.Unplaced++
		}
	}
	f.Placed = f.Placed && f.Unplaced == 0
	imbalances = append(imbalances, x.imbalance())
	f.Imbalance = spreadOf(imbalances)
	end := x.read()
	f.Messages.In, f.Messages.Out, f.Bytes.In, f.Bytes.Out = end.since(counts{at: x.begun})
	f.CPU.Server, f.CPU.Boxes = end.cpuSince(counts{at: x.begun})
	f.Seconds = time.Since(x.begun).Seconds()
	f.Fenced, f.Lapsed = x.fenced.Load(), x.lapsed.Load()
	f.DoubleHeld, f.TokensFell = x.doubleHeld, x.tokensFell
	x.end()
	return f
}

// still waits until no camera changes boxes any more.
func (x *fixture) still() {
	for end := time.Now().Add(*settleIn); x.quiet() < stillFor**ttl; time.Sleep(sampleEvery) {
		x.sample()
		if time.Now().After(end) {
			x.t.Errorf("a camera has changed boxes %v ago, %v after the last event", x.quiet(), *settleIn)
			return
		}
	}
}

// crash is a box that has crashed, and what has come of its cameras.
type crash struct {
	box  *box
	at   time.Time
	left map[int]bool // cameras that no box may publish yet
	had  int
}

// events has boxes crash and join again.
func (x *fixture) events(f *figures, imbalances *[]float64) {
	var (
		until, each, perCrash, perJoin []float64

		now      *crash // the newest
		gone     *box   // crashed before that one
		joined   *box   // the newest
		joinedAt time.Time
		filling  bool // joined has less than its share
		isJoin   bool // the newest event is its join
		moves    float64
		filled   float64 // moves to joined, and all others until the event after its join
		began    = time.Now()
		next     = began.Add(x.soon(1))
		joinAt   time.Time
	)
	// full ends what is counted of a join.
	full := func(at time.Time) {
		had := len(joined.had())
		filling = false
		perJoin = append(perJoin, filled/float64(max(1, had)))
		x.t.Logf("%s: %.0f moves in %v after it joined, it has %d cameras", joined.name, filled, at.Sub(joinedAt).Round(time.Second), had)
	}
	// over ends what is counted of the newest event.
	over := func() {
		if now == nil {
			return
		}
		if !isJoin || !filling {
			*imbalances = append(*imbalances, x.imbalance())
		}
		if isJoin {
			return
		}
		perCrash = append(perCrash, moves/float64(now.had))
		x.t.Logf("%s crashed: %.0f moves for %d cameras, all run again after %.0f ms, imbalance %.3f", now.box.name, moves, now.had, last(until), x.imbalance())
		if len(now.left) > 0 {
			f.Placed = false
			x.t.Logf("%d cameras of %s are without a box after %v", len(now.left), now.box.name, time.Since(now.at))
		}
	}
	for ; ; time.Sleep(sampleEvery) {
		holders := x.sample()
		at := time.Now()
		if now != nil && len(now.left) > 0 {
			for i := range now.left {
				if b := holders[i]; b != nil && b != now.box {
					delete(now.left, i)
					each = append(each, at.Sub(now.at).Seconds()*1000)
				}
			}
			if len(now.left) == 0 {
				until = append(until, at.Sub(now.at).Seconds()*1000)
			}
		}
		// A box that has joined may still be filled when the next one crashes: that is no move for the
		// sake of the crash.
		for _, m := range x.takeMoves() {
			if isJoin || filling && m.why == fleet.WhyRebalance && m.to == joined.name {
				filled++
			} else {
				moves++
			}
		}
		if filling && !isJoin && x.load(joined)/joined.capacity > 0.9*x.mean() {
			full(at)
		}
		switch {
		case at.Sub(began) > *length && !at.Before(next):
			over()
			if filling {
				full(at)
			}
			f.Failover, f.FailoverEach = spreadOf(until), spreadOf(each)
			f.MovesPerCrash, f.MovesPerJoin = spreadOf(perCrash), spreadOf(perJoin)
			return
		case !joinAt.IsZero() && at.After(joinAt):
			over()
			if filling {
				full(at)
			}
			joinAt, filled, isJoin = time.Time{}, 0, true
			if err := x.join(gone.name); err != nil {
				x.t.Fatal(err)
			}
			x.mu.Lock()
			joined = x.boxes[gone.name]
			x.mu.Unlock()
			joinedAt, filling = at, true
			f.Joins++
		case at.After(next):
			over()
			b := x.any(joined)
			had := b.had()
			if now != nil {
				gone = now.box
			}
			x.crash(b)
			now = &crash{box: b, at: time.Now(), left: map[int]bool{}, had: len(had)}
			for _, i := range had {
				now.left[i] = true
			}
			moves, isJoin = 0, false
			f.Crashes++
			wait := x.soon(1)
			next = at.Add(wait)
			if gone != nil {
				joinAt = at.Add(wait / 2)
			}
		}
	}
}

func last(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// soon is a random time, crash-every in the mean.
func (x *fixture) soon(share float64) time.Duration {
	return time.Duration((0.75 + 0.5*x.random.Float64()) * share * float64(*crashEvery))
}

// any is one of the boxes that run and have cameras, not that one.
func (x *fixture) any(but *box) *box {
	list := x.alive()
	for {
		if b := list[x.random.IntN(len(list))]; b != but && len(b.had()) > 0 {
			return b
		}
	}
}

// counts are the server's, and the processor time that it and this process have taken.
type counts struct {
	In       float64 `json:"in_msgs"`
	Out      float64 `json:"out_msgs"`
	InBytes  float64 `json:"in_bytes"`
	OutBytes float64 `json:"out_bytes"`

	at           time.Time
	server, ours time.Duration
}

func (x *fixture) read() (c counts) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), harness.StartLimit)
	defer cancel()
	text, err := harness.Get(ctx, x.varz)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	c.at = time.Now()
	if c.server, err = cpuOf(x.nats.PID()); err != nil {
		x.t.Fatal(err)
	}
	c.ours = ownCPU()
	return c
}

// since are messages and bytes a second.
func (c counts) since(b counts) (in, out, inBytes, outBytes float64) {
	d := c.at.Sub(b.at).Seconds()
	return (c.In - b.In) / d, (c.Out - b.Out) / d, (c.InBytes - b.InBytes) / d, (c.OutBytes - b.OutBytes) / d
}

func (c counts) cpuSince(b counts) (server, ours float64) {
	d := c.at.Sub(b.at).Seconds()
	return (c.server - b.server).Seconds() / d, (c.ours - b.ours).Seconds() / d
}

// cpuOf is the processor time that a process has taken.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// Fields 14 and 15, in hundredths of a second; the name, in brackets, may have spaces.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, text)
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it has no error for itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// growing counts the messages of quiet fleets of several sizes.
func growing(t *testing.T) *growth {
	g := &growth{}
	var x, in, out []float64
	for _, n := range []int{100, 300, 1000, 3000, 10000} {
		one := size{Cameras: n, Boxes: n / 50}
		f, start, _ := begin(t, one.Boxes, n)
		one.Start = start.Seconds()
		before := f.read()
		time.Sleep(*growFor)
		one.In, one.Out, _, one.BytesOut = f.read().since(before)
		f.end()
		f.nats.End()
		t.Logf("%d cameras, %d boxes: %.1f messages a second into the server, %.1f out of it", n, one.Boxes, one.In, one.Out)
		g.Sizes = append(g.Sizes, one)
		x, in, out = append(x, float64(n)), append(in, one.In), append(out, one.Out)
	}
	g.In, g.Out = exponent(x, in), exponent(x, out)
	return g
}
