//go:build e2e

package page

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// In the demo objects appear without a click; the page says what they are and who marked them,
// and one is kept, renamed and removed there.
func TestAutomatic(t *testing.T) {
	w := &world{pictures: t.ArtifactDir()}
	w.start(t)
	w.steps(t, []step{
		{"objects appear with nobody clicking", w.appear},
		{"one is kept", w.keep},
		{"what is kept is there though others come and go, and is removed for good", w.removeKept},
		{"the console has no complaints", w.console},
	})
}

func (w *world) appear(ctx context.Context, t *testing.T) {
	var err error
	w.desk, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	m, err := w.log.until(ctx, 0, "two persons", func(m *segdv1.MaskFrame) bool {
		n := 0
		for _, o := range m.GetObjects() {
			if o.GetArea() > 500 && o.GetAutomatic() && o.GetClass() == "person" && o.GetId() > 255 {
				n++
			}
		}
		return n >= 2
	})
	require.NoError(t, err)
	w.note("two persons by frame %d", m.GetSequence())
	_, err = w.desk.until(ctx, "two objects in the list", func(said) bool { return len(w.desk.texts(ctx, ".object[data-automatic=true]")) >= 2 })
	require.NoError(t, err)
	if said := w.desk.text(ctx, ".object[data-automatic=true] .object-origin"); !strings.Contains(said, "person, marked automatically") {
		t.Fatalf("the list says %q of them", said)
	}
	require.NoError(t, w.desk.picture(ctx, "1-automatic"))
}

// keep has the first object kept that is well in sight. It may end while the hand is on its way.
func (w *world) keep(ctx context.Context, t *testing.T) {
	for range 20 {
		masks, _, err := w.log.from(w.log.count() - 1)
		require.NoError(t, err)
		for _, o := range masks[0].GetObjects() {
			if !o.GetAutomatic() || o.GetArea() < 1000 {
				continue
			}
			if err := w.desk.press(ctx, fmt.Sprintf(".object[data-id='%d'] .keep-object", o.GetId())); err != nil {
				break // it has ended meanwhile
			}
			moment, cancel := context.WithTimeout(ctx, 10*time.Second)
			_, err := w.log.until(moment, w.log.count(), "a kept object", func(m *segdv1.MaskFrame) bool { return kept(m) != nil })
			cancel()
			if err == nil {
				return
			}
			break
		}
		require.NoError(t, harness.Pause(ctx, 500*time.Millisecond))
	}
	t.Fatal("nothing could be kept")
}

// kept is the object that was detected and is automatic no longer, or nil.
func kept(m *segdv1.MaskFrame) *segdv1.Object {
	for _, o := range m.GetObjects() {
		if !o.GetAutomatic() && o.GetClass() == "person" {
			return o
		}
	}
	return nil
}

func (w *world) removeKept(ctx context.Context, t *testing.T) {
	h := w.desk
	if _, err := h.until(ctx, "word of the kept one", func(said) bool {
		return strings.Contains(h.text(ctx, ".object[data-automatic=false] .object-origin"), "person, kept")
	}); err != nil {
		t.Fatal(err)
	}
	if buttons := h.texts(ctx, ".object[data-automatic=false] .keep-object:not([hidden])"); len(buttons) > 0 {
		t.Fatal("what is kept can be kept again")
	}
	require.NoError(t, h.picture(ctx, "2-kept"))
	if err := harness.Pause(ctx, 10*time.Second); err != nil { // twice as long as the demo keeps others
		t.Fatal(err)
	}
	m, err := w.log.until(ctx, w.log.count(), "masks", func(*segdv1.MaskFrame) bool { return true })
	require.NoError(t, err)
	o := kept(m)
	if o == nil {
		t.Fatal("the kept object has ended")
	}
	require.NoError(t, h.press(ctx, fmt.Sprintf(".object[data-id='%d'] .remove", o.GetId())))
	ctx, cancel := soon(ctx)
	defer cancel()
	_, err = w.log.until(ctx, w.log.count(), "no kept object", func(m *segdv1.MaskFrame) bool { return kept(m) == nil })
	require.NoError(t, err)
}
