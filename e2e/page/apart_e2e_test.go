//go:build e2e

package page

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// apart has the page tell many objects apart: by colour, by number, by labels that do not cover each other, and by
// what the pointer is on.
func (w *world) apart(ctx context.Context, t *testing.T) {
	h := w.desk
	var got struct {
		Colours, Stays int
		Names          []string
		Covered        int
		Behind         []string
		Said           string
	}
	require.NoError(t, h.Evaluate(ctx, tellingApart, &got))
	if got.Colours != 8 || got.Stays != 1 {
		t.Fatalf("eight objects, whose numbers are eight apart, have %d colours, and %d in common when others come; want 8 and 1", got.Colours, got.Stays)
	}
	require.Equal(t, []string{"person 7", "Object 7", "gate 17 7"}, got.Names, "objects are called")
	if got.Covered != 0 {
		t.Fatalf("of five labels of one place %d pairs cover each other", got.Covered)
	}
	if want := []string{"Live", "Behind", "Live", "Live"}; !slices.Equal(got.Behind, want) {
		t.Fatalf("cameras of 9 of 10, 3 of 10 and no frames a second, and one without a status yet, are said to be %q; want %q", got.Behind, want)
	}
	const said = "segd is behind: 3.0 of 10.0 frames a second, 900 ms late. It has 2 objects here, 4 cameras on 2 processor cores. " +
		"Fewer objects, fewer cameras, a lower frame rate of the camera or a GPU help."
	require.Equal(t, said, got.Said, "the page says")
	require.NoError(t, w.pointed(ctx))
}

// pointed clicks on a person of the picture, whom the list shows then. She may have walked on meanwhile.
func (w *world) pointed(ctx context.Context) error {
	h := w.desk
	for range 20 {
		masks, _, err := w.log.from(w.log.count() - 1)
		if err != nil {
			return err
		}
		o := object(masks[0], "person")
		if o.GetArea() < 500 {
			if err := harness.Pause(ctx, 500*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		got, err := decoded(o)
		if err != nil {
			return err
		}
		body, _ := strokes(got)
		if err := h.click(ctx, body[len(body)/2]); err != nil {
			return err
		}
		at := h.texts(ctx, ".object[data-pointed] .object-label")
		if len(at) == 1 && at[0] == "person" {
			return h.picture(ctx, "1-pointed")
		}
	}
	return errors.New("a click on a person never shows who she is in the list")
}

const tellingApart = `(async () => {
  const { Colours } = await import("/assets/palette.js");
  const { nameOf } = await import("/assets/message.js");
  const { drawText } = await import("/assets/draw.js");
  const { health, overload } = await import("/assets/health.js");
  const colours = new Colours();
  const ids = Array.from({ length: 8 }, (_, k) => 1 + 8 * k);
  colours.keep(ids);
  const distinct = new Set(ids.map((id) => colours.of(id)));
  const before = colours.of(ids[7]);
  colours.keep([ids[7], 2, 3]);
  const ctx = document.createElement("canvas").getContext("2d");
  const taken = [];
  for (let k = 0; k < 5; k++) drawText(ctx, "person", "#fff", { x: 150, y: 70 }, 1, taken);
  const over = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  let covered = 0;
  for (const [k, a] of taken.entries()) covered += taken.slice(k + 1).filter((b) => over(a, b)).length;
  const feed = (fpsIn, fpsOut) => ({
    info: {}, place: null, link: "open", status: { up: true, fpsIn, fpsOut, latencyP50Seconds: 0.9 },
    frame: { objects: [{}, {}] }, moving: () => false, quiet: () => 0,
  });
  return {
    colours: distinct.size, stays: Number(colours.of(ids[7]) === before),
    names: [nameOf({ id: 7, label: "person" }), nameOf({ id: 7, label: "Object 7" }), nameOf({ id: 7, label: "gate 17" })],
    covered, behind: [feed(10, 9), feed(10, 3), feed(0, 0), { ...feed(10, 3), status: null }].map((f) => health(f).pill),
    said: overload(feed(10, 3), { cores: 2, cameras: 4 }),
  };
})()`
