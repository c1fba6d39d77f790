//go:build e2e

package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/browser"
)

// inSight waits until something is to be seen.
func (h *hand) inSight(ctx context.Context, selector string) error {
	return h.eventually(ctx, selector+" to be shown", fmt.Sprintf(`document.querySelector(%q)?.checkVisibility() ?? false`, selector))
}

// outOfSight waits until something is not to be seen.
func (h *hand) outOfSight(ctx context.Context, selector string) error {
	return h.eventually(ctx, selector+" to be gone", fmt.Sprintf(`!(document.querySelector(%q)?.checkVisibility() ?? false)`, selector))
}

// eventually waits until an expression is true.
func (h *hand) eventually(ctx context.Context, what, expression string) error {
	ctx, cancel := soon(ctx)
	defer cancel()
	_, err := h.until(ctx, what, func(said) bool {
		var is bool
		return h.Evaluate(ctx, expression, &is) == nil && is
	})
	if err != nil {
		return fmt.Errorf("%w; the dialog says %q", err, h.text(ctx, "#camera-dialog .field-fault:not([hidden]), #camera-status, #camera-faults"))
	}
	return nil
}

// fill puts text in the place of what a field says.
func (h *hand) fill(ctx context.Context, selector, text string) error {
	if err := h.press(ctx, selector); err != nil {
		return err
	}
	if err := h.Evaluate(ctx, fmt.Sprintf(`(document.querySelector(%q).select(), true)`, selector), new(bool)); err != nil {
		return err
	}
	if text == "" {
		return h.Press(ctx, kb.Backspace)
	}
	return h.Type(ctx, text)
}

// beside waits for a fault at a field, which must be told to who does not see it, too.
func (h *hand) beside(ctx context.Context, field, what string) error {
	note := "[data-field=" + field + "] .field-fault"
	if err := h.inSight(ctx, note); err != nil {
		return err
	}
	if said := h.text(ctx, note); !strings.Contains(said, what) {
		return fmt.Errorf("beside %s is %q; want %q", field, said, what)
	}
	return h.eventually(ctx, "the field to name its fault, and have the focus", fmt.Sprintf(
		`((i) => i.getAttribute("aria-invalid") === "true" && document.getElementById(i.getAttribute("aria-describedby"))?.checkVisibility() && document.activeElement === i)(document.querySelector("[data-field=%s] :is(input, select)"))`, field))
}

// live waits until the large picture is that camera's, and live.
func (h *hand) live(ctx context.Context, camera string) error {
	return h.eventually(ctx, camera+" to be live", fmt.Sprintf(
		`document.querySelector("#camera").textContent === %q && /^(Live|Behind)$/.test(document.querySelector("#state").textContent)`, camera))
}

// tested asks for a test picture by Enter in a field, and waits for it: it has to be the test
// video's, which has pure colours.
func (h *hand) tested(ctx context.Context) error {
	if err := h.Press(ctx, kb.Enter); err != nil {
		return err
	}
	if err := h.inSight(ctx, "#camera-picture"); err != nil {
		return err
	}
	var picture struct{ Width, Height, Colours int }
	if err := h.Evaluate(ctx, `(() => {
  const c = document.querySelector("#camera-picture");
  const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  const { data } = copy.getImageData(0, 0, c.width, c.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) if (Math.min(data[i], data[i + 1], data[i + 2]) < 40) seen.add([data[i], data[i + 1], data[i + 2]].map((v) => (v > 215 ? 1 : v < 40 ? 0 : 2)).join(""));
  return { width: c.width, height: c.height, colours: ["100", "010", "001", "110", "011", "101"].filter((k) => seen.has(k)).length };
})()`, &picture); err != nil {
		return err
	}
	if picture.Width != 320 || picture.Height != 240 || picture.Colours < 5 {
		return fmt.Errorf("the test picture is %+v; want 320×240 with the bars of the test video", picture)
	}
	return h.eventually(ctx, "it to be taken", `["Add camera", "Save"].includes(document.querySelector("#camera-submit").textContent)`)
}

func (w *cameraWorld) dialogKeys(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.Evaluate(ctx, `(document.activeElement?.blur(), true)`, new(bool)))
	require.NoError(t, h.Press(ctx, "a"))
	require.NoError(t, h.eventually(ctx, "the focus in the URL", `document.activeElement?.id === "camera-url"`))
	if err := h.Type(ctx, "man"); err != nil { // letters that are keys of the page
		t.Fatal(err)
	}
	for range 20 { // all round, and out of the dialog at no time but to the browser itself
		require.NoError(t, h.Press(ctx, kb.Tab))
		var inside bool
		if err := h.Evaluate(ctx, `document.activeElement === document.body || document.querySelector("#camera-dialog").contains(document.activeElement)`, &inside); err != nil || !inside {
			t.Fatal(errors.Join(err, errors.New("Tab leads out of the dialog")))
		}
	}
	require.NoError(t, h.Evaluate(ctx, `(document.querySelector("#camera-cancel").focus(), true)`, new(bool)))
	if err := h.Press(ctx, "nz"); err != nil { // in no field, too
		t.Fatal(err)
	}
	require.NoError(t, h.Press(ctx, kb.Escape))
	require.NoError(t, h.outOfSight(ctx, "#camera-dialog"))
	if s, err := h.said(ctx); err != nil || s.Mode != "live" {
		t.Fatal(errors.Join(err, fmt.Errorf("typing in the dialog did something to the page: %+v", s)))
	}
}

func (w *cameraWorld) dialogOnPhone(ctx context.Context, t *testing.T) {
	var err error
	w.phone, err = w.cameraTab(ctx, browser.Tab{Theme: "dark", Width: phoneWidth, Height: 844, Scale: 2, Touch: true})
	require.NoError(t, err)
	h := w.phone
	require.NoError(t, h.picture(ctx, "10-phone"))
	require.NoError(t, h.press(ctx, "#add-camera"))
	require.NoError(t, h.picture(ctx, "11-phone-add"))
	require.NoError(t, h.press(ctx, "#camera-ways label:has([value=find])"))
	for field, text := range map[string]string{"host": w.onvif, "user": cameraUser, "password": cameraPassword} {
		require.NoError(t, h.fill(ctx, "#camera-"+field, text))
	}
	require.NoError(t, h.press(ctx, "#camera-find"))
	require.NoError(t, h.says(ctx, "#camera-found-list", "suits segd best"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.inSight(ctx, "#camera-picture"))
	require.NoError(t, h.picture(ctx, "12-phone-test"))
	require.NoError(t, h.eventually(ctx, "nothing to be wider than the phone",
		fmt.Sprintf(`document.documentElement.scrollWidth <= %d && ((d) => d.scrollWidth <= d.clientWidth)(document.querySelector("#camera-dialog"))`, phoneWidth)))
	require.NoError(t, h.press(ctx, "#camera-cancel"))
}
