package objects

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker"
)

const width, height = 64, 48

// mark is people's mark of objects, by boxes.
func mark(ids ...uint32) *annotation.Annotation {
	a := &annotation.Annotation{Width: width, Height: height}
	for _, id := range ids {
		a.Objects = append(a.Objects, annotation.Object{ID: id, Box: []float64{1, 1, 9, 9}})
	}
	return a
}

// seen is an object with a mask, and hidden one without.
func seen(id uint32) tracker.Object {
	return tracker.Object{ID: id, State: tracker.Visible, Area: 9, Box: image.Rect(1, 1, 4, 4)}
}
func hidden(id uint32) tracker.Object { return tracker.Object{ID: id, State: tracker.Occluded} }
func lost(id uint32) tracker.Object   { return tracker.Object{ID: id, State: tracker.Lost} }

// frame is the n-th, in ten a second.
func frame(n int, all ...tracker.Object) Observe {
	return Observe{
		Result: &tracker.Result{Seq: uint64(n), Width: width, Height: height, Objects: all},
		Time:   time.Duration(n) * 100 * time.Millisecond, Taken: taken(n),
	}
}

func taken(n int) time.Time { return time.Unix(1000, 0).Add(time.Duration(n) * 100 * time.Millisecond) }

// during are the frames from one to another.
func during(from, to int, all ...tracker.Object) (edits []Edit) {
	for n := from; n <= to; n++ {
		edits = append(edits, frame(n, all...))
	}
	return edits
}

// told are events as text.
func told(events []Event) (all []string) {
	kinds := [...]string{"appeared", "back", "occluded", "lost", "renamed", "not followed", "removed"}
	for _, e := range events {
		s := fmt.Sprintf("%d %s", e.Object.ID, kinds[e.Kind])
		if e.Untold {
			s += " untold"
		}
		all = append(all, s)
	}
	return all
}

// What edits tell, one after the other.
func TestEvents(t *testing.T) {
	begin := Begin{Class: "person", Track: 7}
	// frames has an object of a detector's begin, and be in frames from one to another.
	frames := func(from, to int, all ...tracker.Object) []Edit {
		return append([]Edit{begin}, during(from, to, all...)...)
	}
	for _, tt := range []struct {
		name  string
		edits []Edit
		want  []string
	}{
		{"people mark", slices.Concat([]Edit{Annotate{By: mark(1)}, frame(0, seen(1))}, during(1, 6, hidden(1)), during(7, 12, lost(1)), during(13, 18, seen(1))),
			[]string{"1 appeared", "1 not followed", "1 occluded", "1 lost", "1 back"}},
		{"no mask yet", []Edit{Annotate{By: mark(1)}, frame(0, hidden(1)), frame(1, lost(1))}, nil},
		{"hidden later", []Edit{Annotate{By: mark(1)}, frame(0, seen(1)), frame(10, seen(1)), frame(11, hidden(1)), frame(16, hidden(1))}, []string{"1 appeared", "1 occluded"}},
		{"a detector begins", frames(0, 5, seen(FirstID)), []string{"256 appeared"}},
		{"half a second is not over", frames(0, 4, seen(FirstID)), nil},
		{"and it is gone then", append(frames(0, 4, seen(FirstID)), Remove{ID: FirstID}), []string{"256 removed untold"}},
		{"two frames in two seconds", []Edit{begin, frame(0, seen(FirstID)), frame(20, seen(FirstID))}, nil},
		{"three", []Edit{begin, frame(0, seen(FirstID)), frame(10, hidden(FirstID)), frame(20, seen(FirstID)), frame(21, seen(FirstID))}, []string{"256 appeared"}},
		{"hidden when it would be told of", append(frames(0, 4, seen(FirstID)), frame(5, hidden(FirstID)), frame(6, seen(FirstID))), []string{"256 appeared"}},
		{"people keep it", []Edit{begin, frame(0, seen(FirstID)), Keep{FirstID}, frame(1, seen(FirstID))}, []string{"256 appeared"}},
		{"people mark it", []Edit{begin, frame(0, seen(FirstID)), Annotate{By: mark(FirstID)}, frame(1, seen(FirstID))}, []string{"256 appeared"}},
		{"refused", []Edit{begin, Remove{ID: FirstID}}, []string{"256 removed untold"}},
		{"never seen", []Edit{begin, frame(0, lost(FirstID)), Remove{ID: FirstID}}, []string{"256 removed untold"}},
		{"dormant", append(frames(0, 5, seen(FirstID)), Rest{FirstID, true}, frame(6), frame(11), Rest{FirstID, false}, frame(12, seen(FirstID)), frame(17, seen(FirstID))), []string{"256 appeared", "256 lost", "256 back"}},
		{"the tracker lost it", []Edit{Annotate{By: mark(1)}, frame(0, seen(1)), frame(1)}, []string{"1 appeared", "1 removed"}},
		{"people's, never seen, removed", []Edit{Annotate{By: mark(1)}, frame(0, lost(1)), Remove{ID: 1}}, []string{"1 removed"}},
		{"renamed", []Edit{Annotate{By: mark(1)}, frame(0, seen(1)), Rename{1, "Ada"}, Rename{1, "Ada"}, Rename{9, "Bob"}}, []string{"1 appeared", "1 renamed"}},
		{"stages end", append(append([]Edit{Annotate{By: mark(1, 2)}}, frames(0, 5, seen(1), lost(2), seen(FirstID))...), RemoveAll{Automatic: true}, Lose{}, Lose{}, Recall{mark(1).Objects}, frame(6, lost(1)), frame(12, hidden(1)), frame(18, seen(1)), frame(23, seen(1))), []string{"1 appeared", "256 appeared", "256 removed", "1 lost", "2 removed", "1 back"}},
		{"configured, removed before a frame", []Edit{Recall{mark(1).Objects}, RemoveAll{}}, []string{"1 removed untold"}},
	} {
		if _, events := (Table{}).Apply(tt.edits...); !slices.Equal(told(events), tt.want) {
			t.Errorf("%s: told %q; want %q", tt.name, told(events), tt.want)
		}
	}
}

// That an object is hidden, lost or in sight again is told once it has been so for Settle, as of when it began, and else
// not at all; what a frame has is its state.
func TestSettle(t *testing.T) {
	begin := []Edit{Annotate{By: mark(1)}, frame(0, seen(1)), frame(10, seen(1))} // a second after it was marked
	for _, tt := range []struct {
		name  string
		edits []Edit
		want  []string
		began []int // frames
	}{
		{"hidden for .4 s", slices.Concat(during(11, 15, hidden(1)), during(16, 30, seen(1))), nil, nil},
		{"hidden again and again", slices.Concat(during(11, 15, hidden(1)), during(16, 19, seen(1)), during(20, 24, hidden(1)), during(25, 40, seen(1))), nil, nil},
		{"hidden for longer", slices.Concat(during(11, 16, hidden(1)), during(17, 22, seen(1))), []string{"1 occluded", "1 back"}, []int{11, 17}},
		{"back for a moment", slices.Concat(during(11, 30, hidden(1)), during(31, 33, seen(1)), during(34, 60, hidden(1))), []string{"1 occluded"}, []int{11}},
		{"lost for a moment", slices.Concat(during(11, 30, hidden(1)), during(31, 33, lost(1)), during(34, 40, seen(1))), []string{"1 occluded", "1 back"}, []int{11, 34}},
		{"lost soon after", slices.Concat(during(11, 13, hidden(1)), during(14, 20, lost(1))), []string{"1 lost"}, []int{14}},
		{"a frame in two seconds", []Edit{frame(30, hidden(1)), frame(50, seen(1)), frame(70, hidden(1)), frame(90, hidden(1)), frame(110, seen(1)), frame(130, seen(1))}, []string{"1 occluded", "1 back"}, []int{70, 110}},
		{"it ends meanwhile", append(during(11, 14, hidden(1)), Remove{ID: 1}), []string{"1 removed"}, []int{0}},
		{"the stages end meanwhile", slices.Concat(during(11, 14, hidden(1)), []Edit{Lose{}}, during(15, 18, lost(1)), during(19, 24, seen(1))), []string{"1 lost", "1 back"}, []int{0, 19}},
		{"its track is lost for a moment", slices.Concat([]Edit{Rest{1, true}}, during(11, 14), []Edit{Rest{1, false}}, during(15, 30, seen(1))), nil, nil},
	} {
		table, _ := Table{}.Apply(begin...)
		var events []Event
		for _, e := range tt.edits {
			var more []Event
			table, more = table.Apply(e)
			events = append(events, more...)
			if o, is := e.(Observe); is && len(o.Result.Objects) > 0 && table.All()[0].State != o.Result.Objects[0].State {
				t.Errorf("%s: in frame %d its state is %v; want %v", tt.name, o.Result.Seq, table.All()[0].State, o.Result.Objects[0].State)
			}
		}
		if !slices.Equal(told(events), tt.want) {
			t.Errorf("%s: told %q; want %q", tt.name, told(events), tt.want)
			continue
		}
		for k, ev := range events {
			if want := taken(tt.began[k]); ev.Began.IsZero() != (tt.began[k] == 0) || !ev.Began.IsZero() && !ev.Began.Equal(want) {
				t.Errorf("%s: %s as of %v; want %v", tt.name, tt.want[k], ev.Began, want)
			}
		}
	}

	// After a restart an object is what was told of it until it is something else for long enough.
	for _, tt := range []struct {
		told tracker.State
		now  tracker.Object
		want []string
	}{
		{tracker.Visible, seen(1), nil}, {tracker.Visible, hidden(1), []string{"1 occluded"}}, {tracker.Lost, hidden(1), nil}, {tracker.Lost, seen(1), []string{"1 back"}},
	} {
		table := Restore([]Object{{ID: 1, State: tracker.Lost, Told: tt.told, Appeared: true}}, FirstID)
		table, _ = table.Apply(Recall{mark(1).Objects})
		table, early := table.Apply(during(0, 4, tt.now)...)
		if _, events := table.Apply(frame(5, tt.now)); len(early) > 0 || !slices.Equal(told(events), tt.want) {
			t.Errorf("told %v, now %v: told %q, %q; want %q", tt.told, tt.now.State, told(early), told(events), tt.want)
		}
	}
}

// What is lost for a moment is not away, and neither is what was lost and is in sight.
func TestAway(t *testing.T) {
	table, _ := Table{}.Apply(Annotate{By: mark(1)}, frame(0, seen(1)))
	for _, tt := range []struct {
		frames []Edit
		want   bool
	}{
		{during(1, 5, lost(1)), false}, {during(6, 8, seen(1)), false}, {during(9, 14, lost(1)), true}, {during(15, 15, seen(1)), false}, {during(16, 16, lost(1)), true}, {during(17, 17, hidden(1)), false},
	} {
		table, _ = table.Apply(tt.frames...)
		if o := table.All()[0]; o.Away() != tt.want {
			t.Errorf("%+v: away: %v", o, !tt.want)
		}
	}
}

// What may not be told is told as soon as it may, unless it has passed by then.
func TestEventsWait(t *testing.T) {
	may, asked := false, []bool(nil)
	table := Table{}
	step := func(want string, edits ...Edit) {
		t.Helper()
		for i, e := range edits {
			if o, is := e.(Observe); is {
				o.May = func(first bool) bool { asked = append(asked, first); return may }
				edits[i] = o
			}
		}
		var events []Event
		table, events = table.Apply(edits...)
		assert.Equal(t, want, strings.Join(told(events), ", "), "told")
	}
	step("", Annotate{By: mark(1, 2)}, frame(0, seen(1), seen(2)), frame(1, seen(1), seen(2)))
	if o, _ := table.Get(1); o.Appeared || o.State != tracker.Visible || !slices.Equal(asked, []bool{true, true, false, false}) {
		t.Errorf("%+v, asked %v; want it to wait, and to be asked for once anew", o, asked)
	}
	step("2 removed, 1 appeared", Remove{ID: 2}, func() Edit { may = true; return frame(2, seen(1)) }(), frame(15, seen(1)))
	may, asked = false, nil
	step("", frame(20, hidden(1)), frame(25, hidden(1)), frame(26, seen(1)), frame(31, seen(1)), frame(32, lost(1)), frame(37, lost(1)), frame(38, hidden(1)), frame(43, hidden(1)))
	if !slices.Equal(asked, []bool{true, false, true, false, false}) {
		t.Errorf("asked %v; want it to be asked for once when it is hidden, and once when it is lost", asked)
	}
	may = true
	step("1 occluded", frame(44, hidden(1)))
	step("1 back", frame(45, seen(1)), frame(50, seen(1)))

	// Once it was told, and when the stages end, it waits no more: the next change is asked for anew.
	may, asked = false, nil
	step("", frame(60, hidden(1)), frame(65, hidden(1)))
	may = true
	step("1 occluded", frame(66, hidden(1)))
	may = false
	step("", frame(67, seen(1)), frame(72, seen(1)))
	step("1 lost", Lose{}, frame(73, seen(1)), frame(78, seen(1)))
	if !slices.Equal(asked, []bool{true, false, true, true}) {
		t.Errorf("asked %v; want it to be asked for anew after it was told and after the stages ended", asked)
	}
}

// Whose an object is, and its track.
func TestOwners(t *testing.T) {
	table, events := Table{}.Apply(Begin{Class: "car", Track: 3}, frame(0, seen(FirstID)), frame(1, seen(FirstID)), frame(5, seen(FirstID)))
	if o, _ := table.OfTrack(3); !o.Automatic() || o.Label != "car" || o.ID != FirstID || table.Automatic() != 1 || table.NextID() != FirstID+1 || events[0].Message != `detected as "car"` {
		t.Errorf("%+v, %v; want one of a detector", o, events)
	}
	kept, _ := table.Apply(Keep{FirstID}, Keep{7})
	if o, _ := kept.Get(FirstID); o.Owner != Kept || o.Track != 3 || kept.Automatic() != 0 || kept.Len() != 1 {
		t.Errorf("%+v; want it kept, with its track", o)
	}
	if o, _ := table.Get(FirstID); o.Owner != Detector {
		t.Error("the table before was changed")
	}
	left, _ := kept.Apply(Bind{ID: FirstID, Gone: true})
	marked, _ := left.Apply(Annotate{By: mark(FirstID), Seq: 5})
	if o, _ := marked.Get(FirstID); o.Owner != People || o.Class != "car" || o.Track != 0 || o.Gone || !o.Fresh {
		t.Errorf("%+v; want people's altogether", o)
	}
	earlier := mark(FirstID)
	earlier.Frame = new(uint64)
	marked, _ = left.Apply(Annotate{By: earlier, Seq: 5})
	if o, _ := marked.Get(FirstID); o.Fresh || !o.Gone {
		t.Errorf("%+v; an earlier frame's mark says nothing of where it is now", o)
	}
	named := mark(FirstID)
	named.Objects[0].Label, named.Objects[0].Box = "van", nil
	marked, events = kept.Apply(Annotate{By: named})
	if o, _ := marked.Get(FirstID); o.Owner != Kept || o.Label != "van" || len(events) != 1 || events[0].Message != `it was "car"` {
		t.Errorf("%+v, %v; want it renamed alone", o, events)
	}
}

// What a frame says of an object: its place is kept while it is out of sight, and its track's.
func TestObserve(t *testing.T) {
	visible := seen(1)
	visible.Extent = image.Rect(-1000, 0, 5, 20)
	table, _ := Table{}.Apply(Annotate{By: mark(1)}, frame(0, visible), frame(1, hidden(1)))
	want := image.Rect(-width, 0, 5, 20) // as far as subscribers are promised
	if o, _ := table.Get(1); o.Extent != want || o.Box != visible.Box || o.Area != 0 || o.InSight() || o.VisibleFrames != 1 || o.Label != "object 1" {
		t.Errorf("%+v; want extent %v", o, want)
	}
	if now, _ := table.Apply(frame(2, seen(1))); !now.All()[0].Extent.Empty() || !now.All()[0].InSight() {
		t.Errorf("%+v; in sight without a track it has no extent", now.All()[0])
	}
	pictured, _ := table.Apply(Annotate{By: mark(2)}, frame(2, hidden(1), seen(2)), Picture{})
	if pictured.All()[0].Pictured || !pictured.All()[1].Pictured {
		t.Error("a picture shows what has a mask")
	}
	_, events := table.Apply(Remove{ID: 1, Reason: "why"})
	if len(events) != 1 || events[0].Object.Extent != want || events[0].Message != "why" {
		t.Errorf("%+v; want its last extent told", events)
	}
}

// An object that was marked before the stages were is awaited until it is found, or told of once.
func TestAwaited(t *testing.T) {
	restored := Restore([]Object{{ID: FirstID, Owner: Detector, Track: 4}, {ID: 2, Label: "two"}, {ID: 1, Label: "one", Appeared: true, Told: tracker.Lost}}, FirstID+9)
	table, events := restored.Apply(Recall{mark(1, 2, 3).Objects})
	if o, _ := table.Get(FirstID); len(events) > 0 || !table.Awaited() || !o.Dormant || !slices.Equal(table.IDs(), []uint32{1, 2, 3, FirstID}) || table.NextID() != FirstID+9 {
		t.Fatalf("%+v, %v", table, told(events))
	}
	for n := range searchFrames {
		one := seen(1)
		if n < 3 {
			one = lost(1)
		}
		var more []Event
		table, more = table.Apply(Observe{
			Result: &tracker.Result{Seq: uint64(n), Objects: []tracker.Object{one, lost(2), lost(3)}}, Time: time.Duration(n) * 2 * time.Second,
		})
		if len(more) > 0 && n != 4 && n != searchFrames-1 {
			t.Errorf("frame %d: %v", n, told(more))
		}
		events = append(events, more...)
	}
	if want := []string{"1 back", "2 not followed", "3 not followed"}; !slices.Equal(told(events), want) || table.Awaited() {
		t.Errorf("told %v; want %v", told(events), want)
	}
	assert.Contains(t, events[1].Message, "not found within 48.0 s of frame 0", "message")
}

// With people's there are never more objects than a tracker has labels.
func TestAdmit(t *testing.T) {
	var table Table
	for table.Len() < 2 {
		table, _ = table.Apply(Begin{Class: "car"})
	}
	for id := uint32(1); table.Len() < annotation.MaxFollowed-1; id++ {
		table, _ = table.Apply(Annotate{By: mark(id)})
	}
	for _, tt := range []struct {
		ids  []uint32
		want string
	}{
		{[]uint32{1, 256, 255}, ""},
		{[]uint32{255, 254, 1}, "objects: 2 new ones beside 254; a camera follows 255 at most"},
		{[]uint32{1, 300}, "objects[1].id: 300, and there is no such object; want 1…255 for a new one"},
	} {
		err := table.Admit(mark(tt.ids...))
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !errors.Is(err, annotation.ErrInvalid)) {
			t.Errorf("%v: %v; want %q", tt.ids, err, tt.want)
		}
	}
}

// A label is of 1 to 100 printable characters.
func TestRenameCheck(t *testing.T) {
	for label, ok := range map[string]bool{"the red one ✓": true, "": false, "a\nb": false, "\xff": false, strings.Repeat("x", annotation.MaxLabel+1): false} {
		var f *annotation.Fault
		if err := (Rename{1, label}).Check(); (err == nil) != ok || err != nil && (!errors.As(err, &f) || f.Field != "label") {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// A user who marks what has lost its mask again within a second is told so, however much else there is to tell of.
func TestNotFollowedIsNotLimited(t *testing.T) {
	first, then := frame(0, seen(1)), frame(1, hidden(1))
	first.May = func(bool) bool { return false }
	then.May = first.May
	if _, events := (Table{}).Apply(Annotate{By: mark(1)}, first, then); !slices.Equal(told(events), []string{"1 not followed"}) {
		t.Errorf("told %q; want that it is not followed", told(events))
	}
}

// A frame in which nothing happens takes three pieces of memory: of the list of edits, of the change, and of the table that it
// makes.
func TestObserveAllocs(t *testing.T) {
	table, _ := Table{}.Apply(Annotate{By: mark(1, 2, 3)}, frame(1, seen(1), seen(2), seen(3)))
	edits := []Edit{frame(30, seen(1), seen(2), seen(3))}
	table, _ = table.Apply(edits...)
	if n := testing.AllocsPerRun(20, func() { table, _ = table.Apply(edits...) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}
