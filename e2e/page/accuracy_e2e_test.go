//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

// What is true of frozen frames is drawn in the page, segd eval camera tells how the masks agree with it, and these stay
// as they are.
func TestAccuracy(t *testing.T) {
	w := &world{pictures: t.ArtifactDir()}
	w.start(t)
	a := &judged{world: w, segd: harness.Program(t)}
	_, err := harness.Connect(t, w.nats).Subscribe("segd.v1.home.demo.event", a.hear)
	require.NoError(t, err)
	w.steps(t, []step{
		{"objects appear with nobody clicking", w.appear},
		{"without records, segd eval camera says how to make some", a.none},
		{"a box for a person: J is that of the box and the mask", a.box},
		{"a phone in portrait: a mask is right as it is", a.right},
		{"an object is not there", a.absent},
		{"one is missing, and drawn", a.missing},
		{"nothing of it is tracked", a.untracked},
		{"the console has no complaints", w.console},
	})
}

type judged struct {
	*world
	segd   string
	last   uint64          // frame that was frozen
	events []*segdv1.Event // guarded by log.mu
}

func (a *judged) hear(msg *nats.Msg) {
	ev := &segdv1.Event{}
	err := proto.Unmarshal(msg.Data, ev)
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	if err != nil && a.log.fault == nil {
		a.log.fault = err
	}
	a.events = append(a.events, ev)
}

// eval runs segd eval camera.
func (a *judged) eval(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, a.segd, append([]string{"eval", "camera", "demo", "--page", a.url}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// summary is what it says as JSON.
type summary struct {
	Frames  int
	J       float64
	Objects []struct {
		ID            uint32
		Label         string
		Frames        int
		J             float64
		Missed, False *float64
	}
}

func (a *judged) summary(ctx context.Context) (s summary, err error) {
	out, err := a.eval(ctx, "--json")
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, out)
	}
	return s, json.Unmarshal([]byte(out), &s)
}

func (a *judged) none(ctx context.Context, t *testing.T) {
	if out, err := a.eval(ctx); err == nil || !strings.Contains(out, "no records of accuracy") || !strings.Contains(out, "Check accuracy") {
		t.Fatalf("%v, %q", err, out) //nolint:errorlint // it may be none
	}
}

// begin freezes a frame to judge masks of, and returns the object that is chosen, with its mask of that frame.
func (a *judged) begin(ctx context.Context, h *hand) (*segdv1.Object, mask.RLE, error) {
	if _, err := h.until(ctx, "an object in sight in another frame", func(s said) bool {
		seq, err := strconv.ParseUint(s.Sequence, 10, 64)
		return err == nil && seq > a.last && s.Objects != "0"
	}); err != nil {
		return nil, mask.RLE{}, err
	}
	if err := h.begin(ctx); err != nil {
		return nil, mask.RLE{}, err
	}
	if err := h.press(ctx, "#judge"); err != nil {
		return nil, mask.RLE{}, err
	}
	s, err := h.until(ctx, "judging", func(said) bool { return h.text(ctx, "#marking-title") == "Check accuracy" })
	if err != nil {
		return nil, mask.RLE{}, err
	}
	seq, err := strconv.ParseUint(s.Frozen, 10, 64)
	if err != nil {
		return nil, mask.RLE{}, err
	}
	a.last = seq
	var id string
	if err := h.Evaluate(ctx, `document.querySelector("#targets input:checked").value`, &id); err != nil {
		return nil, mask.RLE{}, err
	}
	for _, o := range a.log.of(seq).GetObjects() {
		if strconv.Itoa(int(o.GetId())) == id {
			m, err := mask.Parse(o.GetCounts(), width, height)
			return o, m, err
		}
	}
	return nil, mask.RLE{}, fmt.Errorf("object %s is chosen, which frame %d has not", id, seq)
}

// compared presses Compare and returns what the page says of it.
func (a *judged) compared(ctx context.Context, h *hand) (string, error) {
	if _, err := h.accept(ctx); err != nil {
		return "", err
	}
	_, err := h.until(ctx, "what it came to", func(said) bool { return strings.Contains(h.text(ctx, ".toast-text"), ": J ") })
	return h.text(ctx, ".toast-text"), err
}

func (a *judged) box(ctx context.Context, t *testing.T) {
	h := a.desk
	o, m, err := a.begin(ctx, h)
	require.NoError(t, err)
	require.NoError(t, h.tool(ctx, "polygon"))
	box := m.Box().Intersect(image.Rect(0, 0, width-1, height-1)) // a click beyond the picture is none
	require.NoError(t, h.click(ctx, box.Min, image.Pt(box.Max.X, box.Min.Y), box.Max, image.Pt(box.Min.X, box.Max.Y), box.Min))
	_, err = h.until(ctx, "the truth", func(said) bool { return strings.HasPrefix(h.text(ctx, "#mark-status"), "True: ") })
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "accuracy-1280"))
	told, err := a.compared(ctx, h)
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "accuracy-1280-compared"))
	s, err := a.summary(ctx)
	require.NoError(t, err)
	want := float64(m.Area()) / float64(box.Dx()*box.Dy())
	a.note("%s; the mask has %.3f of its box; %+v", told, want, s)
	const slip = 0.05 // corners are clicked to a pixel of the screen
	if len(s.Objects) != 1 || s.Objects[0].ID != o.GetId() || s.Frames != 1 || math.Abs(s.J-want) > slip || math.Abs(*s.Objects[0].Missed-(1-want)) > slip || *s.Objects[0].False > slip {
		t.Fatalf("segd eval camera says %+v; want one record of object %d with J near %.3f", s, o.GetId(), want)
	}
	if !strings.Contains(told, fmt.Sprintf("J %.2f", s.J)) {
		t.Fatalf("the page says %q, segd eval camera J %.3f", told, s.J)
	}
}

func (a *judged) right(ctx context.Context, t *testing.T) {
	h, err := a.withPhone(ctx)
	require.NoError(t, err)
	if _, _, err := a.begin(ctx, h); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, h.fits(ctx))
	require.NoError(t, h.press(ctx, "#right"))
	require.NoError(t, h.picture(ctx, "accuracy-390"))
	told, err := a.compared(ctx, h)
	if err == nil && !strings.Contains(told, "J 1.00, 0.0 % missed, 0.0 % false") {
		err = fmt.Errorf("the page says %q", told)
	}
	require.NoError(t, err)
}

func (a *judged) absent(ctx context.Context, t *testing.T) {
	if _, _, err := a.begin(ctx, a.desk); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, a.desk.press(ctx, "#absent"))
	told, err := a.compared(ctx, a.desk)
	if err == nil && !strings.Contains(told, "J 0.00, 0.0 % missed, 100.0 % false") {
		err = fmt.Errorf("the page says %q", told)
	}
	require.NoError(t, err)
}

func (a *judged) missing(ctx context.Context, t *testing.T) {
	h := a.desk
	if _, _, err := a.begin(ctx, h); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, h.press(ctx, "#fresh"))
	require.NoError(t, h.name(ctx, "sign"))
	require.NoError(t, h.draw(ctx, sign.Min, sign.Max))
	require.NoError(t, h.picture(ctx, "accuracy-1280-missing"))
	told, err := a.compared(ctx, h)
	require.NoError(t, err)
	table, err := a.eval(ctx)
	require.NoError(t, err, "%s", table)
	a.note("%s\n%s", told, table)
	s, err := a.summary(ctx)
	require.NoError(t, err)
	last := s.Objects[len(s.Objects)-1]
	if s.Frames != 4 || last.ID != 0 || last.Label != "sign" || last.J != 0 || *last.Missed != 1 || last.False != nil || !strings.Contains(table, "sign, not followed") {
		t.Fatalf("%+v and\n%s", s, table)
	}
}

// untracked sees that segd was told of no annotation, and that every object is still one that it marked by itself: what is
// annotated is kept from then on.
func (a *judged) untracked(ctx context.Context, t *testing.T) {
	seen := a.log.count()
	_, err := a.log.until(ctx, seen, "objects", func(m *segdv1.MaskFrame) bool { return len(m.GetObjects()) > 0 })
	require.NoError(t, err)
	masks, _, err := a.log.from(0)
	require.NoError(t, err)
	for _, m := range masks {
		for _, o := range m.GetObjects() {
			if !o.GetAutomatic() || o.GetId() <= 255 {
				t.Fatalf("frame %d has object %d, %q, which is people's", m.GetSequence(), o.GetId(), o.GetLabel())
			}
		}
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	for _, ev := range a.events {
		require.NotContains(t, ev.GetKind().String(), "ANNOTATION", "%v", ev)
	}
	if len(a.events) == 0 {
		t.Fatalf("no events came, of annotations or other")
	}
}
