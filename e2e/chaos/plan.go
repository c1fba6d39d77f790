package chaos

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds, by whom they happen to.
const (
	CameraKilled  Kind = "camera killed"         // its program is, and comes back
	CameraStalled Kind = "camera stalled"        // the network to it is silent
	CameraSlowed  Kind = "camera slowed"         // the network to it is too slow
	CameraChanged Kind = "camera changed"        // it sends another size and codec
	NATSKilled    Kind = "nats killed"           // and comes back
	NATSPaused    Kind = "nats paused"           // it is stopped, and goes on
	DiskFull      Kind = "disk full"             // that of the NATS server's streams
	ClockStepped  Kind = "clock stepped"         // the machine's, and back
	SegdPaused    Kind = "segd stopped, resumed" // SIGSTOP, SIGCONT
)

// Fault is one that begins At after the start of the plan and lasts For.
type Fault struct {
	Kind    Kind
	Camera  int // to which it happens, of those of cameras
	At, For time.Duration
}

// thing names what it happens to.
func (f Fault) thing() string {
	thing, _, _ := strings.Cut(string(f.Kind), " ")
	if thing == "camera" {
		thing += strconv.Itoa(f.Camera)
	}
	return thing
}

// lane is a thing to which one fault happens at a time.
type lane struct {
	kinds []Kind
	// Between two faults, and during one.
	gap, length span
}

type span struct{ least, most time.Duration }

func (s span) pick(random *rand.Rand) time.Duration {
	return s.least + time.Duration(random.Int64N(int64(s.most-s.least)))
}

var (
	cameraLane = lane{[]Kind{CameraKilled, CameraStalled, CameraSlowed, CameraChanged}, span{10 * time.Second, 40 * time.Second}, span{2 * time.Second, 15 * time.Second}}
	otherLanes = []lane{
		{[]Kind{NATSKilled, NATSPaused}, span{30 * time.Second, 90 * time.Second}, span{2 * time.Second, 10 * time.Second}},
		{[]Kind{DiskFull}, span{40 * time.Second, 2 * time.Minute}, span{5 * time.Second, 20 * time.Second}},
		{[]Kind{ClockStepped}, span{time.Minute, 2 * time.Minute}, span{3 * time.Second, 10 * time.Second}},
		{[]Kind{SegdPaused}, span{time.Minute, 2 * time.Minute}, span{time.Second, 8 * time.Second}},
	}
)

// Plan returns the faults of a seed, in the order in which they begin. All have ended at
// length. Faults of one camera do not overlap, nor do those of any other thing.
func Plan(seed uint64, length time.Duration, cameras int) []Fault {
	var plan []Fault
	fill := func(l lane, camera int, random *rand.Rand) {
		var deck []Kind // so that each kind comes
		for at := l.gap.pick(random); ; at += l.gap.pick(random) {
			if len(deck) == 0 {
				deck = slices.Clone(l.kinds)
				random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
			}
			f := Fault{Kind: deck[0], Camera: camera, At: at, For: l.length.pick(random)}
			if f.At+f.For > length {
				return
			}
			plan, deck = append(plan, f), deck[1:]
			at += f.For
		}
	}
	for c := range cameras {
		fill(cameraLane, c, rand.New(rand.NewPCG(seed, uint64(c))))
	}
	for i, l := range otherLanes {
		fill(l, 0, rand.New(rand.NewPCG(seed, uint64(cameras+i))))
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan
}
