package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// square is an object with a mask from left on.
func square(left int) *segdv1.Object {
	bits := make([]uint8, width*height)
	for y := range 10 {
		for x := range 10 {
			bits[y*width+left+x] = 1
		}
	}
	return &segdv1.Object{Id: objectID, Label: label("cam"), Area: 100, Counts: mask.Encode(bits, width, height).String()}
}

func got(at time.Duration, lease uint64, run string, objects ...*segdv1.Object) *maskFrame {
	return &maskFrame{at: at, capture: at, lease: lease, run: run, epoch: 1, frame: &segdv1.MaskFrame{Camera: "cam", Objects: objects}}
}

// Each lease begins with its first mask, and masks under an earlier one count nowhere from then on.
func TestTakings(t *testing.T) {
	s, hidden := square(0), &segdv1.Object{Id: objectID}
	masks := []*maskFrame{
		got(1, 5, "a", s), got(2, 5, "a", s),
		got(10, 9, "b", hidden), got(11, 5, "a", s), got(12, 9, "b", s),
		got(20, 12, "a"),
	}
	all, passed := takings("cam", masks)
	if len(all) != 3 || passed != 1 {
		t.Fatalf("%d leases, %d masks passed over; want 3 and 1", len(all), passed)
	}
	if a, b, c := all[0], all[1], all[2]; a.first != 1 || b.last != 2 || b.first != 12 || len(b.masks) != 2 || c.first != 0 || c.last != 12 {
		t.Errorf("%+v, %+v, %+v", a, b, c)
	}
}

func TestDoublePublished(t *testing.T) {
	masks := []*maskFrame{got(1, 5, "a"), got(2, 9, "b"), got(3, 5, "a"), got(4, 9, "a"), got(5, 9, "a")}
	assert.Equal(t, 2, doublePublished(masks), "masks")
	masks[4].run, masks[4].epoch = "b", 2
	assert.Equal(t, 2, doublePublished(masks), "masks")
}

// What comes late has been published before, and is no fault.
func TestOverlapping(t *testing.T) {
	masks := []*maskFrame{got(1, 5, "a"), got(10, 9, "b"), got(11, 5, "a"), got(12, 5, "a"), got(13, 9, "b")}
	for i, published := range []time.Duration{1, 10, 2, 11, 13} {
		masks[i].published = published
	}
	assert.Equal(t, 1, overlapping(masks), "masks")
}

func TestLongestGap(t *testing.T) {
	s := square(0)
	masks := []*maskFrame{got(1, 1, "a", s), got(2, 1, "a", s), got(3, 1, "a"), got(7, 1, "a", s), got(8, 1, "a", s), got(20, 1, "a", s)}
	for _, tt := range []struct{ from, to, least, ended, gap time.Duration }{
		{1, 3, 2, 7, 5},
		{1, 3, 5, 1, 0},
		{1, 8, 2, 20, 12},
		{3, 5, 2, 3, 0},
	} {
		if ended, gap := longestGap(masks, tt.from, tt.to, tt.least); ended != tt.ended || gap != tt.gap {
			t.Errorf("from %d to %d: %d until %d; want %d until %d", tt.from, tt.to, gap, ended, tt.gap, tt.ended)
		}
	}
}

// The frame's number is that of when it was captured, whatever was dropped, and when the camera's clock comes into use.
func TestNumbering(t *testing.T) {
	const fps = 10
	var masks []*maskFrame
	for i, capture := range []time.Duration{5030, 5100, 5320} { // of the frames 0, 1 and 3, some ms late
		m := got(0, 1, "a")
		m.capture, m.seq = capture*time.Millisecond, []uint64{0, 1, 3}[i]
		masks = append(masks, m)
	}
	n := numberingOf(masks, fps)
	for i, want := range []int{0, 1, 3} {
		assert.Equal(t, want, n.number(masks[i]), "frame")
	}
}

// A step of the clock by an hour changes no number, nor does what a camera's own clock says that has not stepped.
func TestMoment(t *testing.T) {
	r := newRecord()
	began := r.began.Round(0)
	for _, off := range []time.Duration{0, step, -step} {
		assert.Equal(t, 90*time.Second, r.moment(began.Add(90*time.Second+off), 91*time.Second), "%v off", off)
	}
}

func TestCompare(t *testing.T) {
	n := numbering{fps: 1}
	table := undisturbed{3: square(0), 4: square(0), 5: square(0)}
	var v mean
	compare([]*maskFrame{
		got(3*time.Second, 1, "a", square(0)), got(4*time.Second, 1, "a", square(5)), got(5*time.Second, 1, "a"),
		got(6*time.Second, 1, "a", square(0)), got((3+loop)*time.Second, 1, "a", square(0)),
	}, table, n, &v)
	if v.n != 3 || v.value() < .444 || v.value() > .445 { // 1, 1/3 and 0
		t.Errorf("%v of %d masks", v.value(), v.n)
	}
}

func TestLostEvents(t *testing.T) {
	of := func(ids ...string) map[string]event {
		all := map[string]event{}
		for _, id := range ids {
			e, err := parseEvent(id, nil)
			require.NoError(t, err)
			all[id] = e
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		live   map[string]event
		stored map[string]event
		want   int
	}{
		{"none", of("a.event.lease1.1"), of("a.event.lease1.1", "a.event.lease2.2"), 0},
		{"one that was seen", of("a.event.lease1.2"), of("a.event.lease1.1"), 1},
		{"a gap", nil, of("a.event.lease1.1", "a.event.4"), 2},
		{"a gap in which one was seen", of("a.event.2"), of("a.event.1", "a.event.3"), 1},
		{"the last of who was killed", of("k.event.3"), of("k.event.1", "k.event.2"), 0},
		{"a gap of who was killed", nil, of("k.event.1", "k.event.3"), 1},
	} {
		if lost := lostEvents(tt.live, tt.stored, map[string]bool{"k": true}); len(lost) != tt.want {
			t.Errorf("%s: %q; want %d", tt.name, lost, tt.want)
		}
	}
	_, err := parseEvent("nonsense", nil)
	assert.Error(t, err, "nonsense is an id")
}

func TestTimes(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(99-i)*time.Millisecond)
	}
	if got, want := timesOf(all), (times{P50: 50, P95: 95, Max: 99, N: 100}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got := timesOf(nil); got != (times{}) {
		t.Errorf("%+v", got)
	}
}

func TestRecord(t *testing.T) {
	r := newRecord()
	m := &segdv1.MaskFrame{Camera: "cam", Lease: 7, CaptureTime: timestamppb.Now(), Objects: []*segdv1.Object{square(0)}}
	r.mask("run.cam.lease7.1", m)
	r.mask("run.cam.lease7.1", m)
	r.status(&segdv1.Status{Camera: "cam", Lease: 7, Box: "box"})
	r.event("run.event.lease7.1", &segdv1.Event{})
	r.event("what?", &segdv1.Event{})
	if all := r.of("cam"); len(all) != 1 || all[0].run != "run" || !all[0].seen() || !same("cam", all[0]) || r.newest("cam") != all[0] {
		t.Errorf("%v", all)
	}
	if box, lease := r.holder("cam"); box != "box" || lease != 7 {
		t.Errorf("%s, %d", box, lease)
	}
	if len(r.events) != 1 || len(r.wrong) != 1 {
		t.Errorf("%v; %v", r.events, r.wrong)
	}
}

// The clip's end joins its beginning, and its object stays in the picture.
func TestClip(t *testing.T) {
	for k := range loop {
		x, y := corner(k)
		a, b := corner(k + 1)
		if x < 1 || y < 1 || x+side >= width || y+side >= height || max(a-x, x-a, b-y, y-b) > 3 {
			t.Errorf("frame %d: %d, %d, and then %d, %d", k, x, y, a, b)
		}
	}
	clip, err := newClip(5)
	if err != nil || clip.Len() != loop {
		t.Errorf("%v, %v", clip, err)
	}
	if !slices.Equal(picture(0), picture(loop)) {
		t.Error("it does not begin anew")
	}
}
