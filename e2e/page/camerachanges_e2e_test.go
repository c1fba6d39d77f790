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

	"github.com/chromedp/chromedp/kb"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// edited changes what is not secret, and what is not shown goes on to be known.
func (w *cameraWorld) edited(ctx context.Context) error {
	h := w.desk
	if err := h.press(ctx, "#edit-camera"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-submit", "Save"); err != nil { // nothing is to be tried
		return err
	}
	var before string
	if err := h.Evaluate(ctx, `document.querySelector("#camera-url").value`, &before); err != nil {
		return err
	}
	if !strings.Contains(before, "//xxxxx@") {
		return fmt.Errorf("the URL is shown as %q", before)
	}
	if err := h.picture(ctx, "8-edit"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-url", strings.Replace(before, "/locked", "/nothing", 1)); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-user", cameraUser); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-password", cameraPassword); err != nil {
		return err
	}
	if err := h.Press(ctx, kb.Enter); err != nil {
		return err
	}
	if err := h.beside(ctx, "url", "404"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-anyway", "Save all the same"); err != nil {
		return err
	}
	for field, text := range map[string]string{"url": before, "user": "", "password": ""} {
		if err := h.fill(ctx, "#camera-"+field, text); err != nil {
			return err
		}
	}
	if err := h.fill(ctx, "#camera-detect", ""); err != nil { // nothing is to be marked
		return err
	}
	if err := h.press(ctx, "#camera-more summary"); err != nil {
		return err
	}
	if err := h.Evaluate(ctx, `((s) => { s.value = "tcp"; s.dispatchEvent(new Event("input", { bubbles: true })); return true; })(document.querySelector("#camera-transport"))`, new(bool)); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-url"); err != nil {
		return err
	}
	if err := h.tested(ctx); err != nil { // with the password that segd has
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.outOfSight(ctx, "#camera-dialog"); err != nil {
		return err
	}
	if err := h.says(ctx, "#toast", "yard is changed"); err != nil {
		return err
	}
	if all, err := harness.Get(ctx, w.url+"api/v1/cameras"); err != nil || !strings.Contains(string(all), `"detect":{"off":true}`) {
		return errors.Join(err, fmt.Errorf("the cameras are %s; want one that marks nothing", all))
	}
	if err := h.live(ctx, "yard"); err != nil {
		return err
	}
	return w.is(ctx, "gate", "yard")
}

func (w *cameraWorld) paused(ctx context.Context) error {
	h := w.desk
	if err := h.press(ctx, "#edit-camera"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-pause"); err != nil {
		return err
	}
	if err := h.says(ctx, "#state", "Paused"); err != nil {
		return err
	}
	if err := h.picture(ctx, "9-paused"); err != nil {
		return err
	}
	if err := h.press(ctx, "#resume"); err != nil {
		return err
	}
	return h.live(ctx, "yard")
}

// comesAndGoes has another program add a camera and remove it, of which the page learns by itself.
func (w *cameraWorld) comesAndGoes(ctx context.Context) error {
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
	if err := w.desk.Evaluate(ctx, `(document.querySelector(".tile-link").focus(), true)`, new(bool)); err != nil {
		return err
	}
	if err := ask(http.MethodPost, "", map[string]string{"name": "third", "url": w.free.URL()}, http.StatusCreated); err != nil {
		return err
	}
	if err := w.desk.says(ctx, "#tiles", "third"); err != nil {
		return err
	}
	if err := ask(http.MethodDelete, "/third", nil, http.StatusNoContent); err != nil {
		return err
	}
	if err := w.desk.eventually(ctx, "its tile to go", `document.querySelectorAll(".tile").length === 2`); err != nil {
		return err
	}
	return w.desk.eventually(ctx, "the focus where it was", `document.activeElement === document.querySelector(".tile-link")`)
}

func (w *cameraWorld) removed(ctx context.Context) error {
	h := w.desk
	if err := h.press(ctx, ".tile-link[href='#gate']"); err != nil {
		return err
	}
	if err := h.live(ctx, "gate"); err != nil {
		return err
	}
	if err := h.press(ctx, "#edit-camera"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-remove"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-status", "Press again"); err != nil {
		return err
	}
	if err := h.picture(ctx, "13-remove"); err != nil {
		return err
	}
	if err := w.is(ctx, "gate", "yard"); err != nil { // once is not enough
		return err
	}
	if err := h.press(ctx, "#camera-remove"); err != nil {
		return err
	}
	if err := h.live(ctx, "yard"); err != nil {
		return err
	}
	return w.is(ctx, "yard")
}

// restarted starts segd anew with tokens and a camera in its configuration.
func (w *cameraWorld) restarted(ctx context.Context) (err error) {
	w.segd.End()
	section := fmt.Sprintf("{addr: '%s', token: %q, viewer_token: %q}", w.http, operatorToken, viewerToken)
	yaml := w.config(section, "[{name: door, url: '"+w.free.URL()+"'}]")
	if err := os.WriteFile(w.segd.Config, []byte(yaml), 0o600); err != nil {
		return err
	}
	if err := w.segd.Start(ctx); err != nil {
		return err
	}
	w.url += "?token=" + url.QueryEscape(operatorToken)
	if w.desk, err = w.cameraTab(ctx, browser.Tab{Theme: "dark", Width: 1280, Height: 800, Scale: 1}); err != nil {
		return err
	}
	h := w.desk
	if err := h.live(ctx, "door"); err != nil {
		return err
	}
	if err := h.inSight(ctx, "#configured"); err != nil {
		return err
	}
	if err := h.outOfSight(ctx, "#edit-camera"); err != nil {
		return err
	}
	if err := h.picture(ctx, "14-configured"); err != nil {
		return err
	}
	if err := h.press(ctx, ".tile-link[href='#yard']"); err != nil {
		return err
	}
	if err := h.live(ctx, "yard"); err != nil { // with its password
		return err
	}
	if err := h.inSight(ctx, "#edit-camera"); err != nil {
		return err
	}
	return h.outOfSight(ctx, "#configured")
}

func (w *cameraWorld) viewers(ctx context.Context) error {
	w.url = w.segd.Page + "?token=" + url.QueryEscape(viewerToken)
	h, err := w.cameraTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	if err != nil {
		return err
	}
	w.second = h
	if err := h.press(ctx, ".tile-link[href='#yard']"); err != nil {
		return err
	}
	if err := h.live(ctx, "yard"); err != nil {
		return err
	}
	for _, hidden := range []string{"#add-camera", "#edit-camera", "#configured", "#resume", "#add-first"} {
		if err := h.outOfSight(ctx, hidden); err != nil {
			return err
		}
	}
	if err := h.Press(ctx, "a"); err != nil {
		return err
	}
	return h.outOfSight(ctx, "#camera-dialog")
}
