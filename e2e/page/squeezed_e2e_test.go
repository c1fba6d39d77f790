//go:build e2e

package page

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// A picture of 120×240 that is meant to be seen as 4:3 is shown so, a square in it as wide as it is, and what is marked
// there has the coordinates of the picture as it is sent.
func TestSqueezed(t *testing.T) {
	const width, height, name = 120, 240, "squeezed"
	bright := image.Rect(60, 100, 84, 164) // as wide as high where a pixel is 8/3 times as wide
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		x, y := i%width, i/width
		img.Set(x, y, color.Gray{60})
		if image.Pt(x, y).In(bright) {
			img.Set(x, y, color.RGBA{240, 200, 40, 255})
		}
	}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, img))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.png"), file.Bytes(), 0o600))
	s := harness.Run(t, fmt.Sprintf("superpixels: 500\nmodel: {short_side: 64}\ncameras: [{name: %s, url: 'dir:%s', fps: 5, loop: true, aspect: 4:3, detect: {off: true}}]\n", name, dir))
	masks, err := harness.Connect(t, s.NATS).SubscribeSync("segd.v1.home." + name + ".mask")
	require.NoError(t, err)
	var said bytes.Buffer
	b, err := browser.Start(t.Context(), &said, "chromium")
	if err != nil {
		t.Fatalf("%v; it said:\n%s", err, said.String())
	}
	t.Cleanup(b.End)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p, err := b.Open(ctx, browser.Tab{URL: s.Page, Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	until := func(what, expression string) {
		t.Helper()
		must(harness.Wait(ctx, time.Minute, what, func(ctx context.Context) error {
			var is bool
			if err := p.Evaluate(ctx, expression, &is); err != nil || !is {
				return fmt.Errorf("not yet: %v", err) //nolint:errorlint // it may be none
			}
			return nil
		}))
	}
	until("a frame in the page", `!!document.body.dataset.sequence`)

	// Where the bright square is seen, in pixels of the canvas.
	var seen struct{ Left, Top, Right, Bottom, Width, Height float64 }
	must(p.Evaluate(ctx, `(() => {
  const c = document.getElementById("canvas");
  const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
  const box = { left: 1e9, top: 1e9, right: 0, bottom: 0, width: c.width, height: c.height };
  for (let y = 0; y < c.height; y++)
    for (let x = 0; x < c.width; x++)
      if (data[4 * (y * c.width + x)] > 180) {
        box.left = Math.min(box.left, x); box.right = Math.max(box.right, x + 1);
        box.top = Math.min(box.top, y); box.bottom = Math.max(box.bottom, y + 1);
      }
  return box;
})()`, &seen))
	scale := min(seen.Width/320, seen.Height/240)
	left, top := (seen.Width-320*scale)/2, (seen.Height-240*scale)/2
	want := [4]float64{left + 160*scale, top + 100*scale, left + 224*scale, top + 164*scale}
	for i, at := range [4]float64{seen.Left, seen.Top, seen.Right, seen.Bottom} {
		if d := at - want[i]; d > 6 || d < -6 { // a pixel of the picture and a half, and JPEG's edges
			t.Fatalf("the square is seen at %+v, want it at %v", seen, want)
		}
	}

	// A box round it, drawn where it is seen.
	must(p.Press(ctx, "n"))
	until("a frozen picture", `document.getElementById("picture").dataset.kind === "frozen"`)
	must(p.Press(ctx, "x"))
	canvas, err := p.Find(ctx, "#canvas")
	must(err)
	at := func(x, y float64) browser.Point {
		return browser.Point{X: canvas.Left + (left+x*scale)*canvas.Width/seen.Width, Y: canvas.Top + (top+y*scale)*canvas.Height/seen.Height}
	}
	must(p.Drag(ctx, at(150, 90), at(200, 130), at(234, 174)))
	until("a preview", `!document.getElementById("accept").disabled`)
	box, err := p.Find(ctx, "#accept")
	must(err)
	must(p.Click(ctx, box.Middle()))
	for {
		msg, err := masks.NextMsgWithContext(ctx)
		must(err)
		var m segdv1.MaskFrame
		must(bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m))
		if len(m.GetObjects()) == 0 || m.GetObjects()[0].GetArea() == 0 {
			continue
		}
		got := rectangle(m.GetObjects()[0].GetBox())
		if near := 10; !got.In(bright.Inset(-near)) || !bright.Inset(near).In(got) || m.GetWidth() != width || m.GetHeight() != height { // as far as the box that is drawn
			t.Errorf("a mask in %v of %d×%d, want %v of %d×%d", got, m.GetWidth(), m.GetHeight(), bright, width, height)
		}
		break
	}
	if faults := b.Faults(); len(faults) > 0 {
		t.Errorf("the page complains: %q", faults)
	}
}
