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
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/onvif/onviftest"
)

// Whoever may watch the second camera, and ask it for its streams.
const (
	cameraUser     = "admin"
	cameraPassword = "s3cr&t pass"
)

// cameraWorld is a segd without a camera, and cameras that it can have.
type cameraWorld struct {
	*world

	segd   *harness.Segd
	store  string
	free   *harness.Camera // anybody may watch it
	locked *harness.Camera
	onvif  string // host and port of a device that names the locked one's stream
	http   string // the addresses of segd
	nats   string
	nobody string // an address where nobody listens
}

// Somebody adds cameras in the page, by URL and found by ONVIF, is told what is wrong beside the
// field, changes, pauses and removes them; and after a restart those that were added are there.
func TestCameras(t *testing.T) {
	w := &cameraWorld{world: &world{pictures: t.ArtifactDir()}, store: t.TempDir()}
	w.chromium = harness.Browser(t)
	open, closed := harness.StartRelay(t), harness.StartRelay(t)
	video := harness.Video{Width: 320, Height: 240, Rate: 5}
	w.free = harness.StartCamera(t, open, "free", video)
	w.locked = harness.StartCamera(t, closed, "locked", video)
	closed.Lock(cameraUser, cameraPassword)
	w.onvif = (&onviftest.Camera{User: cameraUser, Password: cameraPassword, Version: 3, Stream: w.locked.URL()}).Start(t)
	addrs := harness.FreeAddrs(t, 3)
	w.http, w.nats, w.nobody = addrs[0], addrs[1], addrs[2]
	w.segd = harness.Run(t, w.config("{addr: '"+w.http+"'}", "[]"))
	w.url = w.segd.Page
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"without a camera the page invites to add one", w.invited},
		{"a wrong port is told beside the URL", w.wrongPort},
		{"the right one shows a picture, and is added", w.byURL},
		{"a name that exists is told beside it", w.nameTaken},
		{"one found by ONVIF is added with its password", w.byONVIF},
		{"it is edited, and keeps its password", w.edited},
		{"it is paused, and resumed", w.paused},
		{"one that somebody else adds comes, and goes", w.comesAndGoes},
		{"by keyboard alone: the dialog opens, holds the focus, and closes", w.dialogKeys},
		{"on a phone the dialog fits", w.dialogOnPhone},
		{"one is removed, when asked twice", w.removed},
		{"after a restart the added one is there, beside one of the configuration, which is not edited", w.restarted},
		{"who has a viewer's token sees none of it", w.viewers},
		{"the console has no complaints", w.cameraConsole},
	} {
		if !t.Run(step.name, func(t *testing.T) { w.take(t, step.do) }) {
			t.FailNow()
		}
	}
}

// Tokens of the second start.
const operatorToken, viewerToken = "the operator's own token", "whoever only looks on"

// config is a configuration with those cameras and that section http, as YAML.
func (w *cameraWorld) config(section, cameras string) string {
	return fmt.Sprintf("http: %s\nnats: {addr: '%s', store_dir: '%s'}\ncameras: %s\n", section, w.nats, w.store, cameras)
}

// cameraTab opens the page and waits until it knows the cameras.
func (w *cameraWorld) cameraTab(ctx context.Context, tab browser.Tab) (*hand, error) {
	tab.URL = w.url
	page, err := w.chromium.Open(ctx, tab)
	if err != nil {
		return nil, err
	}
	h := &hand{Page: page, w: w.world, touch: tab.Touch}
	return h, h.inSight(ctx, "body[data-ready]")
}

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
		`document.querySelector("#camera").textContent === %q && document.querySelector("#state").textContent === "Live"`, camera))
}

func (w *cameraWorld) invited(ctx context.Context) (err error) {
	if w.desk, err = w.cameraTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1}); err != nil {
		return err
	}
	if err := w.desk.says(ctx, "#veil-title", "No camera yet"); err != nil {
		return err
	}
	if err := w.desk.picture(ctx, "1-none"); err != nil {
		return err
	}
	if err := w.desk.outOfSight(ctx, "#mark"); err != nil {
		return err
	}
	return w.desk.press(ctx, "#add-first")
}

func (w *cameraWorld) wrongPort(ctx context.Context) error {
	h := w.desk
	if err := h.fill(ctx, "#camera-url", "rtsp://"+w.nobody+"/free"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-name", "gate"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.beside(ctx, "url", "refused"); err != nil {
		return err
	}
	return h.picture(ctx, "2-wrong-port")
}

func (w *cameraWorld) byURL(ctx context.Context) error {
	h := w.desk
	if err := h.fill(ctx, "#camera-url", w.free.URL()); err != nil {
		return err
	}
	if err := h.outOfSight(ctx, "[data-field=url] .field-fault"); err != nil {
		return err
	}
	if err := h.tested(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "3-test-picture"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.outOfSight(ctx, "#camera-dialog"); err != nil {
		return err
	}
	if err := h.live(ctx, "gate"); err != nil {
		return err
	}
	return h.picture(ctx, "4-added")
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
  const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
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

func (w *cameraWorld) nameTaken(ctx context.Context) error {
	h := w.desk
	if err := h.press(ctx, "#add-camera"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-name", "gate"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-url", w.free.URL()); err != nil {
		return err
	}
	if err := h.tested(ctx); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.beside(ctx, "name", "gate"); err != nil {
		return err
	}
	if err := h.picture(ctx, "5-name-taken"); err != nil {
		return err
	}
	return h.press(ctx, "#camera-cancel")
}

func (w *cameraWorld) byONVIF(ctx context.Context) error {
	h := w.desk
	if err := h.press(ctx, "#add-camera"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-ways label:has([value=find])"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-host", w.onvif); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-find"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-found-list", "user and password"); err != nil {
		return err
	}
	if err := h.picture(ctx, "6-found-locked"); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-user", cameraUser); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-password", cameraPassword); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-find"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-found-list", "suits segd best"); err != nil {
		return err
	}
	// The one camera is chosen, and of its streams the one that suits.
	if err := h.eventually(ctx, "the stream that suits to be chosen", fmt.Sprintf(
		`document.querySelector(".stream:has(.stream-best) input").checked && document.querySelector("#camera-url").value === %q && document.querySelector("#camera-name").value !== ""`, w.locked.URL())); err != nil {
		return err
	}
	if err := h.fill(ctx, "#camera-name", "yard"); err != nil {
		return err
	}
	if err := h.tested(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "7-found"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.live(ctx, "yard"); err != nil {
		return err
	}
	return w.is(ctx, "gate", "yard")
}

// is an error unless the API lists just these, and no password.
func (w *cameraWorld) is(ctx context.Context, names ...string) error {
	text, err := harness.Get(ctx, w.url+"api/v1/cameras")
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte("s3cr")) {
		return fmt.Errorf("a password is told: %s", text)
	}
	var list struct{ Cameras []struct{ Name string } }
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	var got []string
	for _, c := range list.Cameras {
		got = append(got, c.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		return fmt.Errorf("the cameras are %q; want %q", got, names)
	}
	return nil
}

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
	if !strings.Contains(before, cameraUser+":xxxxx@") {
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
	if err := ask(http.MethodPost, "", map[string]string{"name": "third", "url": w.free.URL()}, http.StatusCreated); err != nil {
		return err
	}
	if err := w.desk.says(ctx, "#tiles", "third"); err != nil {
		return err
	}
	if err := ask(http.MethodDelete, "/third", nil, http.StatusNoContent); err != nil {
		return err
	}
	return w.desk.eventually(ctx, "its tile to go", `document.querySelectorAll(".tile").length === 2`)
}

func (w *cameraWorld) dialogKeys(ctx context.Context) error {
	h := w.desk
	if err := h.Evaluate(ctx, `(document.activeElement?.blur(), true)`, new(bool)); err != nil {
		return err
	}
	if err := h.Press(ctx, "a"); err != nil {
		return err
	}
	if err := h.eventually(ctx, "the focus in the URL", `document.activeElement?.id === "camera-url"`); err != nil {
		return err
	}
	if err := h.Type(ctx, "man"); err != nil { // letters that are keys of the page
		return err
	}
	for range 20 { // all round, and out of the dialog at no time but to the browser itself
		if err := h.Press(ctx, kb.Tab); err != nil {
			return err
		}
		var inside bool
		if err := h.Evaluate(ctx, `document.activeElement === document.body || document.querySelector("#camera-dialog").contains(document.activeElement)`, &inside); err != nil || !inside {
			return errors.Join(err, errors.New("Tab leads out of the dialog"))
		}
	}
	if err := h.Press(ctx, kb.Escape); err != nil {
		return err
	}
	if err := h.outOfSight(ctx, "#camera-dialog"); err != nil {
		return err
	}
	if s, err := h.said(ctx); err != nil || s.Mode != "live" {
		return errors.Join(err, fmt.Errorf("typing in the dialog did something to the page: %+v", s))
	}
	return nil
}

func (w *cameraWorld) dialogOnPhone(ctx context.Context) (err error) {
	if w.phone, err = w.cameraTab(ctx, browser.Tab{Theme: "dark", Width: 390, Height: 844, Scale: 2, Touch: true}); err != nil {
		return err
	}
	h := w.phone
	if err := h.picture(ctx, "10-phone"); err != nil {
		return err
	}
	if err := h.press(ctx, "#add-camera"); err != nil {
		return err
	}
	if err := h.picture(ctx, "11-phone-add"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-ways label:has([value=find])"); err != nil {
		return err
	}
	for field, text := range map[string]string{"host": w.onvif, "user": cameraUser, "password": cameraPassword} {
		if err := h.fill(ctx, "#camera-"+field, text); err != nil {
			return err
		}
	}
	if err := h.press(ctx, "#camera-find"); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-found-list", "suits segd best"); err != nil {
		return err
	}
	if err := h.press(ctx, "#camera-submit"); err != nil {
		return err
	}
	if err := h.inSight(ctx, "#camera-picture"); err != nil {
		return err
	}
	if err := h.picture(ctx, "12-phone-test"); err != nil {
		return err
	}
	if err := h.eventually(ctx, "nothing to be wider than the phone", `document.documentElement.scrollWidth <= innerWidth && ((d) => d.scrollWidth <= d.clientWidth)(document.querySelector("#camera-dialog"))`); err != nil {
		return err
	}
	return h.press(ctx, "#camera-cancel")
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

// cameraConsole is console, less what Chromium says of answers that are refusals, which some
// requests here were to get.
func (w *cameraWorld) cameraConsole(context.Context) error {
	refused := func(fault string) bool {
		return strings.Contains(fault, "/api/v1/cameras") && (strings.Contains(fault, "422 (") || strings.Contains(fault, "409 ("))
	}
	if faults := slices.DeleteFunc(w.chromium.Faults(), refused); len(faults) > 0 {
		return fmt.Errorf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}
