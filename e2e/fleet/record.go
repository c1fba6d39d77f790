package fleet

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

// maskFrame is a mask as a subscriber got it.
type maskFrame struct {
	at           time.Duration // since the record began, by the monotonic clock
	run          string        // of the segd that published it
	lease, epoch uint64
	seq          uint64
	capture      time.Duration // since the record began, by the camera's clock or segd's
	published    time.Duration // since the record began, by the machine's clock
	frame        *segdv1.MaskFrame
}

// seen tells whether its object is in sight.
func (m *maskFrame) seen() bool {
	for _, o := range m.frame.Objects {
		if o.Id == objectID && o.Area > 0 {
			return true
		}
	}
	return false
}

// event is one as a subscriber got it or the stream has it.
type event struct {
	run   string
	count int
	of    *segdv1.Event
}

// tenure is a camera under one lease.
type tenure struct {
	camera string
	lease  uint64
}

// record is what a subscriber has got. All methods may be called from any goroutine.
type record struct {
	began time.Time

	mu     sync.Mutex
	ids    map[string]bool // of masks
	masks  map[string][]*maskFrame
	events map[string]event // by id
	boxes  map[tenure]string
	wrong  []string // messages that are none
}

func newRecord() *record {
	return &record{
		began: time.Now(), ids: map[string]bool{}, masks: map[string][]*maskFrame{}, events: map[string]event{}, boxes: map[tenure]string{},
	}
}

// now is the time since the record began, whatever the machine's clock does.
func (r *record) now() time.Duration { return time.Since(r.began) }

// step is by how much the machine's clock is changed, now and then.
const step = time.Hour

// moment is a wall clock's time as one since the record began. Whole hours that it is off are taken for steps of
// the clock.
func (r *record) moment(wall time.Time, now time.Duration) time.Duration {
	t := wall.Sub(r.began.Round(0))
	return t - time.Duration(math.Round(float64(t-now)/float64(step)))*step
}

// mask takes in a mask, which may come several times.
func (r *record) mask(id string, m *segdv1.MaskFrame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return
	}
	r.ids[id] = true
	run, _, _ := strings.Cut(id, ".")
	now := r.now()
	r.masks[m.Camera] = append(r.masks[m.Camera], &maskFrame{
		at: now, run: run, lease: m.Lease, epoch: m.Epoch, seq: m.Sequence, capture: r.moment(m.CaptureTime.AsTime(), now), published: r.moment(m.PublishTime.AsTime(), now), frame: m,
	})
}

// event takes in an event, which may come several times.
func (r *record) event(id string, e *segdv1.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if got, err := parseEvent(id, e); err != nil {
		r.wrong = append(r.wrong, err.Error())
	} else {
		r.events[id] = got
	}
}

// parseEvent reads an id as bus/publish.go makes it: RUN.event.leaseN.COUNT.
func parseEvent(id string, e *segdv1.Event) (event, error) {
	run, rest, _ := strings.Cut(id, ".event.")
	n, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '.')+1:])
	if err != nil || run == "" {
		return event{}, fmt.Errorf("an event's id is %q", id)
	}
	return event{run, n, e}, nil
}

// status takes in what a camera's box says of it.
func (r *record) status(s *segdv1.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.boxes[tenure{s.Camera, s.Lease}] = s.Box
}

// holder is which box published a camera last, and under which lease.
func (r *record) holder(camera string) (box string, lease uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.masks[camera] {
		lease = max(lease, m.lease)
	}
	return r.boxes[tenure{camera, lease}], lease
}

// newest is the newest mask of a camera; nil: there is none.
func (r *record) newest(camera string) *maskFrame {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.masks[camera]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// of are the masks of a camera so far, in the order in which they came.
func (r *record) of(camera string) []*maskFrame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.masks[camera][:len(r.masks[camera]):len(r.masks[camera])]
}
