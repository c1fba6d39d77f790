//go:build e2e

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// edited changes what is not secret, and what is not shown goes on to be known.
func (w *cameraWorld) edited(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, "#edit-camera"))
	if err := h.says(ctx, "#camera-submit", "Save"); err != nil { // nothing is to be tried
		t.Fatal(err)
	}
	var before string
	require.NoError(t, h.Evaluate(ctx, `document.querySelector("#camera-url").value`, &before))
	require.Contains(t, before, "//xxxxx@", "the URL is shown as")
	require.NoError(t, h.picture(ctx, "8-edit"))
	require.NoError(t, h.fill(ctx, "#camera-url", strings.Replace(before, "/locked", "/nothing", 1)))
	require.NoError(t, h.fill(ctx, "#camera-user", cameraUser))
	require.NoError(t, h.fill(ctx, "#camera-password", cameraPassword))
	require.NoError(t, h.Press(ctx, kb.Enter))
	require.NoError(t, h.beside(ctx, "url", "404"))
	require.NoError(t, h.says(ctx, "#camera-anyway", "Save all the same"))
	for field, text := range map[string]string{"url": before, "user": "", "password": ""} {
		require.NoError(t, h.fill(ctx, "#camera-"+field, text))
	}
	if err := h.fill(ctx, "#camera-detect", ""); err != nil { // nothing is to be marked
		t.Fatal(err)
	}
	require.NoError(t, h.press(ctx, "#camera-more summary"))
	require.NoError(t, h.Evaluate(ctx, `((s) => { s.value = "tcp"; s.dispatchEvent(new Event("input", { bubbles: true })); return true; })(document.querySelector("#camera-transport"))`, new(bool)))
	require.NoError(t, h.press(ctx, "#camera-url"))
	if err := h.tested(ctx); err != nil { // with the password that segd has
		t.Fatal(err)
	}
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.outOfSight(ctx, "#camera-dialog"))
	require.NoError(t, h.says(ctx, "#toast", "yard is changed"))
	if all, err := harness.Get(ctx, w.url+"api/v1/cameras"); err != nil || !strings.Contains(string(all), `"detect":{"off":true}`) {
		t.Fatal(errors.Join(err, fmt.Errorf("the cameras are %s; want one that marks nothing", all)))
	}
	require.NoError(t, h.live(ctx, "yard"))
	require.NoError(t, w.is(ctx, "gate", "yard"))
}

func (w *cameraWorld) paused(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, "#edit-camera"))
	require.NoError(t, h.press(ctx, "#camera-pause"))
	require.NoError(t, h.says(ctx, "#state", "Paused"))
	require.NoError(t, h.picture(ctx, "9-paused"))
	require.NoError(t, h.press(ctx, "#resume"))
	require.NoError(t, h.live(ctx, "yard"))
}

// comesAndGoes has another program add a camera and remove it, of which the page learns by itself.
func (w *cameraWorld) comesAndGoes(ctx context.Context, t *testing.T) {
	ask := func(method, path string, body any, want int) error {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, method, w.url+"api/v1/cameras"+path, bytes.NewReader(text))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != want {
			said, _ := io.ReadAll(resp.Body)
			return fmt.Errorf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, said)
		}
		return nil
	}
	require.NoError(t, w.desk.Evaluate(ctx, `(document.querySelector(".tile-link").focus(), true)`, new(bool)))
	require.NoError(t, ask(http.MethodPost, "", map[string]string{"name": "third", "url": w.free.URL()}, http.StatusCreated))
	require.NoError(t, w.desk.says(ctx, "#tiles", "third"))
	require.NoError(t, ask(http.MethodDelete, "/third", nil, http.StatusNoContent))
	require.NoError(t, w.desk.eventually(ctx, "its tile to go", `document.querySelectorAll(".tile").length === 2`))
	require.NoError(t, w.desk.eventually(ctx, "the focus where it was", `document.activeElement === document.querySelector(".tile-link")`))
}

func (w *cameraWorld) removed(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, ".tile-link[href='#gate']"))
	require.NoError(t, h.live(ctx, "gate"))
	require.NoError(t, h.press(ctx, "#edit-camera"))
	require.NoError(t, h.press(ctx, "#camera-remove"))
	require.NoError(t, h.says(ctx, "#camera-status", "Press again"))
	require.NoError(t, h.picture(ctx, "13-remove"))
	if err := w.is(ctx, "gate", "yard"); err != nil { // once is not enough
		t.Fatal(err)
	}
	require.NoError(t, h.press(ctx, "#camera-remove"))
	require.NoError(t, h.live(ctx, "yard"))
	require.NoError(t, w.is(ctx, "yard"))
}

// restarted starts segd anew with tokens and a camera in its configuration.
func (w *cameraWorld) restarted(ctx context.Context, t *testing.T) {
	var err error
	w.segd.End()
	section := fmt.Sprintf("{addr: '%s', token: %q, viewer_token: %q}", w.http, operatorToken, viewerToken)
	yaml := w.config(section, "[{name: door, url: '"+w.free.URL()+"'}]")
	require.NoError(t, os.WriteFile(w.segd.Config, []byte(yaml), 0o600))
	require.NoError(t, w.segd.Start(ctx))
	w.url += "?token=" + url.QueryEscape(operatorToken)
	w.desk, err = w.cameraTab(ctx, browser.Tab{Theme: "dark", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	h := w.desk
	require.NoError(t, h.live(ctx, "door"))
	require.NoError(t, h.inSight(ctx, "#configured"))
	require.NoError(t, h.outOfSight(ctx, "#edit-camera"))
	require.NoError(t, h.picture(ctx, "14-configured"))
	require.NoError(t, h.press(ctx, ".tile-link[href='#yard']"))
	if err := h.live(ctx, "yard"); err != nil { // with its password
		t.Fatal(err)
	}
	require.NoError(t, h.inSight(ctx, "#edit-camera"))
	require.NoError(t, h.outOfSight(ctx, "#configured"))
}

func (w *cameraWorld) viewers(ctx context.Context, t *testing.T) {
	w.url = w.segd.Page + "?token=" + url.QueryEscape(viewerToken)
	h, err := w.cameraTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	w.second = h
	require.NoError(t, h.press(ctx, ".tile-link[href='#yard']"))
	require.NoError(t, h.live(ctx, "yard"))
	for _, hidden := range []string{"#add-camera", "#edit-camera", "#configured", "#resume", "#add-first"} {
		require.NoError(t, h.outOfSight(ctx, hidden))
	}
	require.NoError(t, h.Press(ctx, "a"))
	require.NoError(t, h.outOfSight(ctx, "#camera-dialog"))
}
