//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/netfault"
)

var (
	rounds = flag.Int("rounds", 20, "how many faults there are")
	fps    = flag.Int("fps", 5, "frames a second that each camera sends")
	seed   = flag.Uint64("seed", 1, "of the order of the faults, and to whom they happen")
	only   = flag.String("only", "", "faults there are, with commas between; empty: all")
	asJSON = flag.Bool("json", false, "end with one JSON object")
)

// The bars.
const (
	failoverMax    = 5 * time.Second
	failoverMedian = 3 * time.Second
	plannedMax     = time.Second
	betterThan     = 0.8
)

// Faults.
const (
	kill    = "kill"        // a box is killed, and started again
	stop    = "stop"        // a box is stopped past its lease, and goes on
	cut     = "cut"         // a box is cut off from all NATS servers, both ways
	deaf    = "deaf"        // nothing comes from the servers to a box
	mute    = "mute"        // nothing comes from a box to the servers
	leader  = "leader"      // the server that leads the fleet's bucket is killed, and started again
	drain   = "drain"       // a box is drained
	endBox  = "end"         // a box ends by SIGTERM, and is started again
	addBox  = "add"         // another box comes, and ends by SIGTERM
	clock   = "clock"       // the machine's clock steps, and back
	nothing = "undisturbed" // between the beginning and the first
)

// unplanned are the faults after which others have to notice.
var unplanned = []string{kill, stop, cut, deaf, mute, leader}

// order is which faults happen, each as often as any other.
func order(n int, random *rand.Rand) (all []string) {
	kinds := []string{kill, stop, cut, deaf, mute, leader, drain, endBox, addBox, clock}
	if *only != "" {
		kinds = strings.Split(*only, ",")
	}
	for len(all) < n {
		random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		all = append(all, kinds...)
	}
	return all[:n]
}

// round is one fault.
type round struct {
	kind string
	at   time.Duration
	held map[string]uint64 // what the box ran to which it happened
	back time.Duration     // of a clock, when it stepped back
}

// away is for how long a box is stopped or cut off, past its lease.
const away = 6 * time.Second

// takenLimit is how long a camera may take to be published again before it is given up.
const takenLimit = 20 * time.Second

// happen has a fault happen, waits until those whom it disturbs have masks again, and undoes it.
func (w *world) happen(kind string, random *rand.Rand) (r round) {
	w.t.Helper()
	ctx := w.t.Context()
	var b *box
	for b == nil || len(w.holds(b)) == 0 {
		b = w.boxes[random.IntN(len(w.boxes))]
	}
	if err := harness.Pause(ctx, time.Duration(random.Int64N(int64(time.Second)))); err != nil { // some time between two checkpoints
		w.t.Fatal(err)
	}
	r = round{kind: kind, held: w.holds(b), at: w.record.now()}
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatalf("%s: %v", kind, err)
		}
	}
	partition := func(freeze func(*netfault.Proxy)) {
		for _, link := range b.links {
			freeze(link)
		}
		w.taken(r, away)
		for _, link := range b.links {
			link.Thaw()
		}
	}
	w.t.Logf("%v: %s, box %s with %d cameras; %s", r.at.Round(time.Millisecond), kind, b.name, len(r.held), w.loads())
	switch kind {
	case kill:
		for camera := range r.held {
			w.killed[w.record.newest(camera).run] = true
		}
		b.segd.Kill()
		w.taken(r, 0)
		must(b.segd.Start(ctx))
	case stop:
		must(b.segd.Suspend())
		w.taken(r, away)
		must(b.segd.Continue())
	case cut:
		partition(func(p *netfault.Proxy) { p.Freeze(true) })
	case deaf:
		partition(func(p *netfault.Proxy) { p.FreezeWay(netfault.ToClient, true) })
	case mute:
		partition(func(p *netfault.Proxy) { p.FreezeWay(netfault.ToServer, true) })
	case leader:
		node := w.leader()
		r.at, r.held = w.record.now(), nil
		node.Kill()
		must(harness.Pause(ctx, 12*time.Second)) // NATS takes up to 9 s to elect another
		must(node.Start(ctx))
	case drain:
		w.ask(func(ctx context.Context) error { return w.target().OrderBox(ctx, b.name, bus.KindDrain) })
		w.taken(r, 0)
		w.ask(func(ctx context.Context) error { return w.target().OrderBox(ctx, b.name, bus.KindUncordon) })
	case endBox:
		b.segd.End()
		w.taken(r, 0)
		must(b.segd.Start(ctx))
	case addBox:
		another := w.start(fmt.Sprintf("box-%d", len(w.boxes)+1))
		if err := harness.Wait(ctx, takenLimit, "the other box to run a camera", func(context.Context) error {
			if len(w.holds(another)) == 0 {
				return fmt.Errorf("it runs none")
			}
			return nil
		}); err != nil {
			w.t.Error(err)
		}
		w.settle()
		w.end(another)
		r.held = nil
	case clock:
		r.held = nil
		before := time.Now()
		must(setClock(before.Add(step)))
		w.t.Cleanup(func() { _ = setClock(before.Round(0).Add(time.Since(before))) })
		err := harness.Pause(ctx, 8*time.Second)
		r.back = w.record.now()
		must(setClock(before.Round(0).Add(time.Since(before)))) // by the monotonic clock
		must(err)
		must(harness.Pause(ctx, 5*time.Second))
	default:
		w.t.Fatalf("nobody knows how to do %q", kind)
	}
	return r
}

func setClock(to time.Time) error {
	tv := syscall.NsecToTimeval(to.UnixNano())
	return syscall.Settimeofday(&tv)
}

// ask asks the fleet for something until it is done.
func (w *world) ask(do func(context.Context) error) {
	w.t.Helper()
	harness.Until(w.t, 10*time.Second, "the fleet's answer", do)
}

// taken waits until the cameras that a box ran are published by others, for that time at least.
func (w *world) taken(r round, least time.Duration) {
	w.t.Helper()
	err := harness.Wait(w.t.Context(), takenLimit, r.kind, func(context.Context) error {
		for camera, lease := range r.held {
			if m := w.record.newest(camera); m.lease <= lease || !m.seen() {
				return fmt.Errorf("camera %s is not published again", camera)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Error(err) // the others have something to say, too
	}
	_ = harness.Pause(w.t.Context(), least-(w.record.now()-r.at))
}

// report is what came of it.
type report struct {
	Rounds     int    `json:"rounds"`
	Seed       uint64 `json:"seed"`
	FailoverMS times  `json:"failover_ms"`
	PlannedMS  times  `json:"planned_ms"`
	Double     int    `json:"double_published"`
	// Overlapping are masks that were published when another box did so already, under a greater lease.
	Overlapping int  `json:"overlapping"`
	EventsLost  int  `json:"events_lost"`
	ObjectsKept bool `json:"objects_kept"`
	// IoUMean is of the masks after a move, Undisturbed of those of one showing of the clip with another.
	IoUMean     float64 `json:"iou_mean"`
	Undisturbed float64 `json:"iou_undisturbed"`
	// Passed are masks that came when there were some under a greater lease, which a subscriber that heeds that passes over.
	Passed int `json:"passed_over"`
	// Sudden are cameras that others took though nothing had happened to their box.
	Sudden  int              `json:"sudden"`
	ByFault map[string]*part `json:"by_fault"`
}

// part is what came of one kind of fault.
type part struct {
	Rounds int     `json:"rounds"`
	MS     times   `json:"ms"`
	IoU    float64 `json:"iou"`

	took    []time.Duration
	overlap mean
}

func (r *report) part(kind string) *part {
	if r.ByFault[kind] == nil {
		r.ByFault[kind] = &part{}
	}
	return r.ByFault[kind]
}

// evaluate says what came of the rounds.
func (w *world) evaluate(all []round, stored map[string]event) *report {
	w.t.Helper()
	f := &report{Rounds: len(all), Seed: *seed, ObjectsKept: true, ByFault: map[string]*part{}}
	for _, r := range all {
		f.part(r.kind).Rounds++
	}
	moves := map[tenure]string{}
	for _, e := range stored {
		if e.of.Kind.String() == "EVENT_KIND_CAMERA_MOVED" {
			moves[tenure{e.of.Camera, e.of.Lease}] = e.of.Message
		}
	}
	var failover, planned []time.Duration
	var overlap, quiet mean
	for _, camera := range w.names {
		masks := w.record.of(camera)
		n := numberingOf(masks, *fps)
		table := undisturbed{}
		for _, m := range masks {
			if k := n.number(m); k >= loop/2 && k < loop/2+loop && m.seen() {
				table[k%loop] = m.frame.Objects[0]
			}
			if !same(camera, m) && f.ObjectsKept {
				f.ObjectsKept = false
				w.t.Logf("camera %s: after %v: %v", camera, m.at, m.frame.Objects)
			}
		}
		from := slices.IndexFunc(masks, func(m *maskFrame) bool { return n.number(m) >= loop/2+loop })
		compare(masks[from:], table, n, &quiet)
		f.Double += doublePublished(masks)
		f.Overlapping += overlapping(masks)
		parts, passed := takings(camera, masks)
		f.Passed += passed
		before := map[uint64]*taking{}
		for i, t := range parts {
			if i > 0 {
				before[t.lease] = parts[i-1]
			}
		}
		for _, r := range all {
			switch lease, hit := r.held[camera]; {
			case r.kind == leader, r.kind == clock:
				for _, from := range []time.Duration{r.at, r.back} {
					if from > 0 {
						ended, _ := longestGap(masks, from-time.Second, from+3*time.Second, 3*time.Second/time.Duration(*fps))
						f.part(r.kind).took = append(f.part(r.kind).took, max(0, ended-from))
					}
				}
			case hit && slices.Contains(unplanned, r.kind) && !slices.ContainsFunc(parts, func(t *taking) bool { return t.lease > lease && t.first > 0 }):
				w.t.Errorf("%s after %v: camera %s was never published again", r.kind, r.at, camera)
			}
		}
		for _, t := range parts {
			if before[t.lease] == nil {
				continue
			}
			k := slices.IndexFunc(all, func(r round) bool { return r.at > t.masks[0].at })
			if k < 0 {
				k = len(all)
			}
			r := round{kind: nothing}
			if k > 0 {
				r = all[k-1]
			}
			reason, kind := why(moves[tenure{camera, t.lease}]), r.kind
			lease, hit := r.held[camera]
			hit = hit && lease == before[t.lease].lease
			took := t.first - t.last
			switch {
			case t.first == 0:
				w.t.Errorf("camera %s has lost its object with lease %d, %s", camera, t.lease, kind)
				continue
			case hit && slices.Contains(unplanned, kind):
				took = t.first - r.at
				failover = append(failover, took)
			case reason == "died":
				f.Sudden++
				kind = "sudden"
				w.t.Logf("camera %s came to another box with lease %d after %v, though nothing had happened to its own (%s before)", camera, t.lease, t.masks[0].at, r.kind)
			default:
				if !hit {
					kind = reason
				}
				planned = append(planned, took)
			}
			p, here := f.part(kind), mean{}
			p.took = append(p.took, took)
			compare(t.masks, table, n, &overlap, &p.overlap, &here)
			w.t.Logf("%8.1f s  %-11s %s lease %d: %4d ms, IoU %.2f; %s", t.masks[0].at.Seconds(), kind, camera, t.lease, took.Milliseconds(), here.value(), moves[tenure{camera, t.lease}])
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(f.ByFault)) {
		p := f.ByFault[kind]
		p.MS, p.IoU = timesOf(p.took), p.overlap.value()
		if kind == leader { // those that it has disturbed
			failover = append(failover, slices.DeleteFunc(slices.Clone(p.took), func(d time.Duration) bool { return d == 0 })...)
		}
		w.t.Logf("%-11s %2d rounds, %3d cameras: p50 %5.0f, p95 %5.0f, max %5.0f ms; IoU %.3f", kind, p.Rounds, p.MS.N, p.MS.P50, p.MS.P95, p.MS.Max, p.IoU)
	}
	f.FailoverMS, f.PlannedMS = timesOf(failover), timesOf(planned)
	f.IoUMean, f.Undisturbed = overlap.value(), quiet.value()
	lost := lostEvents(w.record.events, stored, w.killed)
	for _, id := range lost {
		w.t.Logf("event %s is lost", id)
	}
	f.EventsLost = len(lost)
	return f
}

func TestFleet(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 1))
	w := begin(t)
	for i := range 3 {
		w.start(fmt.Sprintf("box-%d", i+1))
	}
	harness.Until(t, settleLimit, "the clip to be shown twice and a half by all cameras", func(context.Context) error {
		for _, name := range w.names {
			if m := w.record.newest(name); m == nil || numberingOf(w.record.of(name), *fps).number(m) < loop/2+2*loop {
				return fmt.Errorf("camera %s is not there yet", name)
			}
		}
		return nil
	})
	var all []round
	for _, kind := range order(*rounds, random) {
		w.settle()
		all = append(all, w.happen(kind, random))
	}
	w.settle()
	for _, b := range slices.Clone(w.boxes) {
		w.end(b)
		if err := b.segd.Err(); err != nil {
			t.Errorf("box %s ended with %v", b.name, err)
		}
	}
	f := w.evaluate(all, w.stored())
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if *asJSON {
		fmt.Println(string(out))
	}
	t.Logf("%s", out)
	for _, wrong := range w.record.wrong {
		t.Error(wrong)
	}
	over := func(what string, is float64, bar time.Duration) {
		if is > float64(bar.Milliseconds()) {
			t.Errorf("%s: %.0f ms; want at most %v", what, is, bar)
		}
	}
	over("a camera after a fault, median", f.FailoverMS.P50, failoverMedian)
	over("a camera after a fault, at most", f.FailoverMS.Max, failoverMax)
	over("a camera that moved, at most", f.PlannedMS.Max, plannedMax)
	over("a camera when the clock steps, at most", f.part(clock).MS.Max, failoverMax)
	if f.Double > 0 {
		t.Errorf("%d masks were published by two boxes under one lease", f.Double)
	}
	if f.Overlapping > 0 {
		t.Errorf("%d masks were published when another box had taken over", f.Overlapping)
	}
	if f.EventsLost > 0 {
		t.Errorf("%d events are lost", f.EventsLost)
	}
	if !f.ObjectsKept {
		t.Error("an object is another, or has another name")
	}
	if f.IoUMean < betterThan && f.FailoverMS.N+f.PlannedMS.N > 0 {
		t.Errorf("mean IoU %.3f with masks that nobody disturbed; want %.2f", f.IoUMean, betterThan)
	}
}
