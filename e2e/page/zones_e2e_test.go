//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
	"github.com/segd/segd/e2e/harness"
)

// The walker goes from the right to the left through both: over the line by frame 670 of the
// clip, and into the zone by frame 678.
var (
	lawn = []image.Point{{X: 40, Y: 330}, {X: 225, Y: 330}, {X: 225, Y: 540}, {X: 40, Y: 540}}
	path = []image.Point{{X: 270, Y: 350}, {X: 270, Y: 570}} // a is on the right: who looks down has it on the left hand
)

// zoned is what the API says of the camera.
type zoned struct {
	Zones []struct {
		Name    string
		Polygon [][2]float64
	}
	Lines []struct {
		Name   string
		Points [][2]float64
	}
	Status struct {
		Zones []struct{ Name, Entries string }
		Lines []struct{ Name, AToB, BToA string }
	}
}

func (w *world) zoned(ctx context.Context) (z zoned, err error) {
	text, err := harness.Get(ctx, w.url+"api/v1/cameras/demo")
	if err != nil {
		return z, err
	}
	return z, json.Unmarshal(text, &z)
}

// near tells whether fractions of the picture are points of it, to two pixels.
func near(got [][2]float64, want []image.Point) bool {
	return slices.EqualFunc(got, want, func(g [2]float64, w image.Point) bool {
		return math.Abs(g[0]*width-float64(w.X)) <= 2 && math.Abs(g[1]*height-float64(w.Y)) <= 2
	})
}

// zones draws a zone and a line where the walker will go, with no object followed yet. What segd
// refuses is told beside it, and can be mended.
func (w *world) zones(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.drawing(ctx, "#draw-zone"))
	bow := []image.Point{lawn[0], lawn[2], lawn[1], {X: 40, Y: 450}}
	require.NoError(t, h.click(ctx, bow...))
	if err := h.Press(ctx, kb.Enter); err != nil { // closes it
		t.Fatal(err)
	}
	require.NoError(t, h.says(ctx, "#zone-status", "Save it"))
	require.NoError(t, h.press(ctx, "#zone-save"))
	require.NoError(t, h.says(ctx, "#zone-faults", "polygon: the sides from points 0 and 2 cross or touch"))
	require.NoError(t, h.picture(ctx, "1-zone-refused"))
	// The closing and three corners are taken back.
	require.NoError(t, h.Evaluate(ctx, `(document.querySelector("#canvas").focus(), 1)`, new(int)))
	require.NoError(t, h.Press(ctx, strings.Repeat(kb.Backspace, 4)))
	require.NoError(t, h.says(ctx, "#zone-status", "1 of at least 3 corners"))
	if err := h.click(ctx, append(lawn[1:], lawn[0])...); err != nil { // the first closes it
		t.Fatal(err)
	}
	require.NoError(t, h.save(ctx, "lawn"))

	// Escape throws away what was drawn.
	require.NoError(t, h.Press(ctx, "l"))
	require.NoError(t, h.says(ctx, "#zoning-title", "Draw a line"))
	require.NoError(t, h.Press(ctx, kb.ArrowLeft+" "+kb.Escape))
	_, err := h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	require.NoError(t, err)
	require.NoError(t, h.drawing(ctx, "#draw-line"))
	require.NoError(t, h.click(ctx, path...))
	require.NoError(t, h.save(ctx, "path"))
	z, err := w.zoned(ctx)
	require.NoError(t, err)
	if len(z.Zones) != 1 || z.Zones[0].Name != "lawn" || !near(z.Zones[0].Polygon, lawn) ||
		len(z.Lines) != 1 || z.Lines[0].Name != "path" || !near(z.Lines[0].Points, path) {
		t.Fatalf("lawn %v and path %v were drawn; segd has %+v and %+v", lawn, path, z.Zones, z.Lines)
	}

	require.NoError(t, h.says(ctx, "#zone-list", "a→b 0, b→a 0"))
}

// counted sees that the counts have risen since, and then that they can be kept and removed.
func (w *world) counted(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.counted(ctx))
	require.NoError(t, h.picture(ctx, "1-zones"))
	z, err := w.zoned(ctx)
	require.NoError(t, err)
	if z.Status.Zones[0].Entries == "0" || z.Status.Lines[0].AToB == "0" {
		t.Fatalf("the page has counted, and segd says %+v", z.Status)
	}
	require.NoError(t, h.kept(ctx, z))
}

// kept sees that the YAML offered is the layout, that what is removed is gone, and that undo
// brings it back.
func (h *hand) kept(ctx context.Context, z zoned) error {
	var yaml string
	if err := h.Evaluate(ctx, `document.querySelector("#zone-yaml").value`, &yaml); err != nil {
		return err
	}
	cfg, err := config.Parse("segd.yaml", []byte("cameras:\n  - name: demo\n    url: 'whip:'\n"+yaml), nil)
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, yaml)
	}
	layout := cfg.Cameras[0].Layout()
	if len(layout.Zones) != 1 || layout.Zones[0].Name != "lawn" || layout.Zones[0].Polygon[2] != z.Zones[0].Polygon[2] ||
		len(layout.Lines) != 1 || layout.Lines[0].Points[1] != z.Lines[0].Points[1] {
		return fmt.Errorf("segd has %+v, and the page offers\n%s", z, yaml)
	}
	for _, name := range []string{"lawn", "path"} {
		if err := h.press(ctx, ".zone[data-name="+name+"] .remove"); err != nil {
			return err
		}
		if err := h.says(ctx, "#toast:not([hidden])", name+" is removed"); err != nil {
			return err
		}
	}
	if err := h.undo(ctx, "path is removed"); err != nil {
		return err
	}
	if err := h.says(ctx, "#zone-list", "a→b 0, b→a 0"); err != nil {
		return err
	}
	now, err := h.w.zoned(ctx)
	if err != nil || len(now.Zones) != 0 || len(now.Lines) != 1 {
		return errors.Join(err, fmt.Errorf("lawn was removed, and path brought back: %+v", now))
	}
	if err := h.press(ctx, ".zone .remove"); err != nil {
		return err
	}
	return h.says(ctx, "#zone-empty:not([hidden])", "None.")
}

// counted waits until the page says that an object has entered the zone and crossed the line from
// a to b.
func (h *hand) counted(ctx context.Context) error {
	entered := regexp.MustCompile(`[1-9]\d* entered`)
	crossed := regexp.MustCompile(`a→b [1-9]`)
	_, err := h.until(ctx, "counts of who walks there", func(said) bool {
		text := h.text(ctx, "#zone-list")
		return entered.MatchString(text) && crossed.MatchString(text)
	})
	if err != nil {
		return fmt.Errorf("%w; the list is %q", err, h.text(ctx, "#zone-list"))
	}
	return nil
}

// drawing presses a button that begins drawing, again if the list above it has moved it away
// under the finger.
func (h *hand) drawing(ctx context.Context, selector string) (err error) {
	for range 3 {
		if err := h.press(ctx, selector); err != nil {
			return err
		}
		moment, cancel := context.WithTimeout(ctx, time.Second)
		_, err = h.until(moment, "the mode to draw", func(s said) bool { return s.Mode == "zoning" })
		cancel()
		if err == nil {
			break
		}
	}
	return err
}

// save gives what was drawn a name and saves it.
func (h *hand) save(ctx context.Context, name string) error {
	if err := h.says(ctx, "#zone-status", "Save it"); err != nil {
		return err
	}
	if err := h.press(ctx, "#zone-name"); err != nil {
		return err
	}
	if err := h.Evaluate(ctx, `(document.querySelector("#zone-name").select(), 1)`, new(int)); err != nil {
		return err
	}
	if err := h.Type(ctx, name); err != nil {
		return err
	}
	if err := h.press(ctx, "#zone-save"); err != nil {
		return err
	}
	if err := h.says(ctx, "#toast:not([hidden])", name+" is watched"); err != nil {
		return err
	}
	return h.says(ctx, "#zone-list", name)
}

// says waits until what a selector finds says something.
func (h *hand) says(ctx context.Context, selector, what string) error {
	ctx, cancel := soon(ctx)
	defer cancel()
	_, err := h.until(ctx, strconv.Quote(what), func(said) bool { return strings.Contains(h.text(ctx, selector), what) })
	if err != nil {
		return fmt.Errorf("%w; %s says %q", err, selector, h.text(ctx, selector))
	}
	return nil
}

func (w *world) lineOnPhone(ctx context.Context, t *testing.T) {
	h, err := w.withPhone(ctx)
	require.NoError(t, err)
	require.NoError(t, h.drawing(ctx, "#draw-line"))
	require.NoError(t, h.click(ctx, path...))
	require.NoError(t, h.says(ctx, "#zone-status", "from its side a to b"))
	require.NoError(t, h.press(ctx, "#turn-line"))
	require.NoError(t, h.picture(ctx, "8-phone-line"))
	require.NoError(t, h.save(ctx, "gate"))
	require.NoError(t, h.picture(ctx, "8-phone-zones"))
	z, err := w.zoned(ctx)
	if err != nil || len(z.Lines) != 1 || !near(z.Lines[0].Points, []image.Point{path[1], path[0]}) {
		t.Fatal(errors.Join(err, fmt.Errorf("%v was drawn and turned round; segd has %+v", path, z.Lines)))
	}
	require.NoError(t, h.undo(ctx, "gate is watched"))
	require.NoError(t, h.says(ctx, "#zone-empty:not([hidden])", "None."))
}
