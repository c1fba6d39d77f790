//go:build e2e

package page

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// hidden draws an object that is hidden, of which segd knows where it is, and one of which it does not, with the page's
// own modules.
func (w *world) hidden(ctx context.Context, t *testing.T) {
	var got struct {
		Extents              []*struct{ X, Y, Width, Height int }
		Coloured, Dark, Name int // pixels
	}
	require.NoError(t, w.desk.Evaluate(ctx, hiding, &got))
	if e := got.Extents; len(e) != 2 || e[0] == nil || e[0].X != -20 || e[0].Y != 30 || e[0].Width != 60 || e[0].Height != 80 || e[1] != nil {
		t.Fatalf("extents %v; want one of the first object", e)
	}
	if got.Coloured < 20 || got.Dark < 20 || got.Name == 0 {
		t.Fatalf("%d and %d pixels of the box's right side are coloured and dark, %d above it tell the name; want dashes and some",
			got.Coloured, got.Dark, got.Name)
	}
}

const hiding = `(async () => {
  const { drawExtents, drawLabels } = await import("/assets/draw.js");
  const { toObjects } = await import("/assets/message.js");
  const { Colours } = await import("/assets/palette.js");
  const colours = new Colours();
  const hidden = { label: "walker", state: "STATE_OCCLUDED", counts: "" };
  const objects = toObjects({ width: 200, height: 120, objects: [
    { ...hidden, id: 1, extent: { x: -20, y: 30, width: 60, height: 80 } }, { ...hidden, id: 2, extent: null },
  ] });
  const ctx = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const place = { left: 0, top: 0, scale: 1, across: 1 };
  drawExtents(ctx, objects, place, 1, colours);
  const side = ctx.getImageData(39, 30, 1, 80).data;
  const count = (data, is) => data.reduce((n, _, i) => n + (i % 4 === 0 && data[i + 3] > 0 && is(data.slice(i, i + 3))), 0);
  const [red, green, blue] = colours.of(1).match(/\w\w/g).map((hex) => parseInt(hex, 16));
  const coloured = count(side, ([r, g, b]) => r === red && g === green && b === blue);
  const dark = count(side, ([r, g, b]) => r + g + b === 0);
  drawLabels(ctx, objects, place, 1, colours);
  return { extents: objects.map((o) => o.extent), coloured, dark, name: count(ctx.getImageData(0, 0, 200, 30).data, () => true) };
})()`
