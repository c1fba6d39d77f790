package fleet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// window is how many frames after a camera has come to another box are compared.
const window = 50

// numbering tells the frames of a camera by when they were captured.
type numbering struct {
	start time.Duration // of the first frame
	fps   int
}

// number of the frame of a mask.
func (n numbering) number(m *maskFrame) int {
	return int(math.Round((m.capture - n.start).Seconds() * float64(n.fps)))
}

// numberingOf is that of a camera that began to send when the box whose masks come first began to play it.
func numberingOf(masks []*maskFrame, fps int) numbering {
	n := numbering{fps: fps}
	for i, m := range masks {
		if m.epoch != masks[0].epoch {
			break
		}
		if start := m.capture - time.Duration(m.seq)*time.Second/time.Duration(fps); i == 0 || start < n.start {
			n.start = start
		}
	}
	return n
}

// undisturbed are the masks of an undisturbed camera, by the place of the frame in the clip.
type undisturbed map[int]*segdv1.Object

// taking are the masks of a camera from one lease on until the next.
type taking struct {
	camera string
	lease  uint64
	first  time.Duration // when the first came whose object is in sight; 0: none
	last   time.Duration // when the last came of those that were published before, under any lease
	masks  []*maskFrame
}

// takings are the leases under which a camera was published, in order. A mask under a lease when one under a greater was
// there already counts nowhere: a subscriber that keeps to the greatest has passed it over.
func takings(camera string, masks []*maskFrame) (all []*taking, passed int) {
	var last time.Duration
	for _, m := range masks {
		n := len(all)
		if n > 0 && m.lease < all[n-1].lease {
			passed++
			continue
		}
		if n == 0 || m.lease > all[n-1].lease {
			all = append(all, &taking{camera: camera, lease: m.lease, last: last})
			n++
		}
		t := all[n-1]
		t.masks = append(t.masks, m)
		if last = m.at; t.first == 0 && m.seen() {
			t.first = m.at
		}
	}
	return all, passed
}

// doublePublished counts the masks of a lease that others than its first publisher have published, among all that came.
func doublePublished(masks []*maskFrame) (n int) {
	type publisher struct {
		run   string
		epoch uint64
	}
	by := map[uint64]publisher{}
	for _, m := range masks {
		p := publisher{m.run, m.epoch}
		if first, known := by[m.lease]; !known {
			by[m.lease] = p
		} else if first != p {
			n++
		}
	}
	return n
}

// overlapping counts the masks of a camera that a box published when another one had begun to, under a greater lease. All
// of them run on one machine, and have one clock.
func overlapping(masks []*maskFrame) (n int) {
	began := map[uint64]time.Duration{}
	for _, m := range masks {
		if at, ok := began[m.lease]; !ok || m.published < at {
			began[m.lease] = m.published
		}
	}
	for _, m := range masks {
		for lease, at := range began {
			if lease > m.lease && m.published > at {
				n++
				break
			}
		}
	}
	return n
}

// longestGap is when the longest time without the object ended that began between from and to and was longer than
// least; from: there was none.
func longestGap(masks []*maskFrame, from, to, least time.Duration) (ended, gap time.Duration) {
	ended = from
	var last time.Duration
	for _, m := range masks {
		if !m.seen() {
			continue
		}
		if last > 0 && last >= from && last <= to && m.at-last > max(gap, least) {
			ended, gap = m.at, m.at-last
		}
		last = m.at
	}
	return ended, gap
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) value() float64 { return m.sum / float64(max(1, m.n)) }

// compare adds the IoU of masks with the undisturbed ones of the same frames, in the window that begins with the first
// of them.
func compare(masks []*maskFrame, with undisturbed, n numbering, to ...*mean) {
	for _, m := range masks {
		k := n.number(m)
		if k >= n.number(masks[0])+window {
			return
		}
		want := with[k%loop]
		if want == nil {
			continue
		}
		v := 0.
		for _, o := range m.frame.Objects {
			if o.Id == objectID && o.Area > 0 {
				v = iou(o, want)
			}
		}
		for _, t := range to {
			t.add(v)
		}
	}
}

func iou(a, b *segdv1.Object) float64 {
	p, errA := mask.Parse(a.Counts, width, height)
	q, errB := mask.Parse(b.Counts, width, height)
	if errA != nil || errB != nil {
		return 0
	}
	return mask.IoU(p, q)
}

// same tells whether a mask is of the one object that there is, under its name.
func same(camera string, m *maskFrame) bool {
	objects := m.frame.Objects
	return len(objects) == 1 && objects[0].Id == objectID && objects[0].Label == label(camera)
}

// lostEvents counts the events that the stream lacks: those that a subscriber got, and those whose numbers are missing
// between others of the same run of segd. Of runs that were killed what came last may be missing.
func lostEvents(live, stored map[string]event, killed map[string]bool) (lost []string) {
	most := map[string]int{} // by run, of what is stored
	have := map[string]map[int]bool{}
	for _, e := range stored {
		most[e.run] = max(most[e.run], e.count)
		if have[e.run] == nil {
			have[e.run] = map[int]bool{}
		}
		have[e.run][e.count] = true
	}
	for _, id := range slices.Sorted(maps.Keys(live)) {
		e := live[id]
		if _, ok := stored[id]; !ok && !(killed[e.run] && e.count > most[e.run]) {
			lost = append(lost, id)
			if have[e.run] == nil {
				have[e.run] = map[int]bool{}
			}
			have[e.run][e.count] = true // it is counted
		}
	}
	for _, run := range slices.Sorted(maps.Keys(have)) {
		for n := 1; n < most[run]; n++ {
			if !have[run][n] {
				lost = append(lost, fmt.Sprintf("%s.event.….%d", run, n))
			}
		}
	}
	return lost
}

// why is the reason of a move, as the event about it tells people.
func why(message string) string {
	for text, why := range map[string]string{
		"fell silent": "died", "which ended": "left", "is drained": "drain", "less room": "rebalance", "asked for it": "move", "cannot run it": "misfit",
	} {
		if strings.Contains(message, text) {
			return why
		}
	}
	return "new"
}

// times are how long something took, in milliseconds.
type times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
	N   int     `json:"n"`
}

func timesOf(took []time.Duration) times {
	took = slices.Sorted(slices.Values(took))
	n := len(took)
	if n == 0 {
		return times{}
	}
	at := func(part float64) float64 {
		return float64(took[min(n-1, int(part*float64(n)))].Milliseconds())
	}
	return times{P50: at(0.5), P95: at(0.95), Max: at(1), N: n}
}
