//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// fleetWorld is two boxes that share cameras. The page is box a's.
type fleetWorld struct {
	*world

	a, b    *harness.Segd
	video   *harness.Camera
	watched string // the camera that is looked at, and moves
}

// What a fleet tells, as far as the test asks.
type fleetStatus struct {
	Boxes []struct {
		Name              string
		Alive             bool
		Cameras           int
		Cordoned, Drained bool
	}
	Cameras []struct{ Name, Box, Fault string }
}

// A user looks at the page of one of two boxes: the cameras of both are there and live, one is moved while it is
// watched, a box is drained, and one is killed.
func TestFleet(t *testing.T) {
	w := &fleetWorld{world: &world{pictures: t.ArtifactDir()}}
	w.chromium = harness.Browser(t)
	relay := harness.StartRelay(t)
	w.video = harness.StartCamera(t, relay, "video", harness.Video{Width: 320, Height: 240, Rate: 5})
	store := t.TempDir()
	nats := harness.StartNATSIn(t, store, fmt.Sprintf("jetstream: {store_dir: %q, max_file_store: 1GB}", store)) // checkpoints too
	key := filepath.Join(t.TempDir(), "cameras.key")
	addrs := harness.FreeAddrs(t, 4)
	cameras := ""
	for _, name := range []string{"east", "north", "south"} {
		cameras += fmt.Sprintf("  - {name: %s, url: '%s', transport: tcp, detect: {off: true}}\n", name, w.video.URL())
	}
	start := func(name string, i int) *harness.Segd {
		return harness.Run(t, fmt.Sprintf(`http: {addr: '%s', token: %q, viewer_token: %q}
whip: {addr: '%s'}
site: yard
nats: {url: '%s', cameras_key: '%s'}
fleet: {box: %s, ttl: 1s, labels: [near=%s], max_cameras: 8, page: 'http://%s/'}
superpixels: 96
model: {short_side: 64}
cameras:
%s`, addrs[i], operatorToken, viewerToken, addrs[i+1], nats.URL, key, name, name, addrs[i], cameras))
	}
	w.a, w.b = start("a", 0), start("b", 2)
	w.url = w.a.Page + "?token=" + url.QueryEscape(operatorToken)
	w.steps(t, []step{
		{"the page lists the cameras of both boxes, and which runs each", w.lists},
		{"another box's camera is live, and can be marked", w.marksElsewhere},
		{"its zones are there, and are not lost by another", w.zonesElsewhere},
		{"the panel tells of the boxes", w.panel},
		{"a camera is moved here while it is watched, and goes on", w.movedHere},
		{"and away again", w.movedAway},
		{"what is drawn while it moves is not taken for marks on another picture", w.movedWhileMarking},
		{"a box that is cordoned is given no camera, and that is said beside it", w.refused},
		{"a box is drained when that is confirmed, and its cameras move", w.drained},
		{"uncordoned, it takes cameras again", w.uncordoned},
		{"on a phone the panel fits", w.boxesOnPhone},
		{"whatever the API may tell of boxes is shown", w.anyFleet},
		{"a camera is added that requires a label", w.addedWithLabel},
		{"a box is killed, and its cameras come here, but for one that nobody else may run", w.killed},
		{"the console has no complaints", w.fleetConsole},
		{"who has a viewer's token sees the boxes and no buttons", w.fleetViewers},
	})
}

// ask has the API of box a do something.
func (w *fleetWorld) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.a.Page+"api/v1"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+operatorToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, err
}

// settled waits until the fleet is as is wants it.
func (w *fleetWorld) settled(ctx context.Context, what string, is func(fleetStatus) error) error {
	return harness.Wait(ctx, time.Minute, what, func(ctx context.Context) error {
		text, err := w.ask(ctx, http.MethodGet, "/fleet", "")
		if err != nil {
			return err
		}
		var s fleetStatus
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if err := is(s); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		return nil
	})
}

// of are the cameras that a box runs.
func (s fleetStatus) of(box string) (names []string) {
	for _, c := range s.Cameras {
		if c.Box == box {
			names = append(names, c.Name)
		}
	}
	return names
}

// hold cordons that box and no other. So nothing is evened out, and what is to happen is up to the test.
func (w *fleetWorld) hold(ctx context.Context, box string) error {
	other := map[string]string{"a": "b", "b": "a"}[box]
	if _, err := w.ask(ctx, http.MethodPost, "/fleet/boxes/"+box+"/cordon", ""); err != nil {
		return err
	}
	_, err := w.ask(ctx, http.MethodPost, "/fleet/boxes/"+other+"/uncordon", "")
	return err
}

// give has a box, which the other one is cordoned for, run a camera.
func (w *fleetWorld) give(ctx context.Context, camera, box string) error {
	if err := w.hold(ctx, map[string]string{"a": "b", "b": "a"}[box]); err != nil {
		return err
	}
	return harness.Wait(ctx, 10*time.Second, "the move", func(ctx context.Context) error { // the box may not know yet that it is no longer cordoned
		_, err := w.ask(ctx, http.MethodPost, "/fleet/cameras/"+camera+"/move", fmt.Sprintf(`{"box": %q}`, box))
		return err
	})
}

// prepare has box b run two cameras of three, and cordons it.
func (w *fleetWorld) prepare(ctx context.Context) error {
	if err := w.hold(ctx, "b"); err != nil {
		return err
	}
	if err := w.settled(ctx, "two cameras on box b, one on box a", func(s fleetStatus) (err error) {
		a, b := s.of("a"), s.of("b")
		switch {
		case len(a)+len(b) < 3:
		case len(a) > 1:
			err = w.give(ctx, a[0], "b")
		case len(b) > 2:
			err = w.give(ctx, b[0], "a")
		default:
			return nil
		}
		return errors.Join(errors.New("it is not so yet"), err)
	}); err != nil {
		return err
	}
	return w.hold(ctx, "b")
}

// tile is a selector in the tile of a camera.
func tile(camera, selector string) string {
	return fmt.Sprintf(".tile:has([href='#%s']) %s", camera, selector)
}

// shows waits for a camera's tile to be live, and to name the box.
func (h *hand) shows(ctx context.Context, camera, box string) error {
	return h.eventually(ctx, camera+" to be live from box "+box, fmt.Sprintf(
		`((t) => t?.dataset.kind === "live" && t.textContent.includes(%q))(document.querySelector(%q))`, "box "+box, tile(camera, "")))
}

func (w *fleetWorld) lists(ctx context.Context, t *testing.T) {
	var err error
	require.NoError(t, w.settled(ctx, "both boxes", func(s fleetStatus) error {
		if len(s.Boxes) < 2 {
			return errors.New("they are not there")
		}
		return nil
	}))
	require.NoError(t, w.prepare(ctx))
	w.desk, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	require.NoError(t, w.settled(ctx, "the tiles", func(s fleetStatus) error {
		for _, c := range s.Cameras {
			if err := w.desk.shows(ctx, c.Name, c.Box); err != nil {
				return err
			}
		}
		w.watched = s.of("b")[0]
		return nil
	}))
}

func (w *fleetWorld) marksElsewhere(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, tile(w.watched, "a")))
	require.NoError(t, h.live(ctx, w.watched))
	require.NoError(t, h.says(ctx, "#camera-box", "box b"))
	require.NoError(t, h.picture(ctx, "1-both"))
	require.NoError(t, h.eventually(ctx, "a whole picture", `!document.querySelector("#mark").disabled`))
	require.NoError(t, h.begin(ctx))
	require.NoError(t, h.tool(ctx, "box"))
	require.NoError(t, h.draw(ctx, image.Pt(80, 60), image.Pt(300, 300)))
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.name(ctx, "bars"))
	_, err := h.accept(ctx)
	require.NoError(t, err)
	require.NoError(t, h.listed(ctx, "bars"))
}

// zonesElsewhere has the page remove one of two zones: the other stays.
func (w *fleetWorld) zonesElsewhere(ctx context.Context, t *testing.T) {
	h := w.desk
	square := func(name string, at float64) string {
		return fmt.Sprintf(`{"name": %q, "polygon": [[%g, 0.1], [%g, 0.1], [%g, 0.4]]}`, name, at, at+0.2, at+0.2)
	}
	body := fmt.Sprintf(`{"zones": [%s, %s], "lines": []}`, square("door", 0.1), square("desk", 0.5))
	if _, err := w.ask(ctx, http.MethodPut, "/cameras/"+w.watched+"/zones", body); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, h.says(ctx, "#zone-list", "desk"))
	require.NoError(t, h.press(ctx, ".zone[data-name=desk] .remove"))
	require.NoError(t, h.outOfSight(ctx, ".zone[data-name=desk]"))
	text, err := w.ask(ctx, http.MethodGet, "/cameras/"+w.watched, "")
	require.NoError(t, err)
	var left struct{ Zones []struct{ Name string } }
	if err := json.Unmarshal(text, &left); err != nil || len(left.Zones) != 1 || left.Zones[0].Name != "door" {
		t.Fatal(errors.Join(err, fmt.Errorf("the zones are %+v", left.Zones)))
	}
}

// card is a selector in what the panel shows of a box.
func card(box, selector string) string { return fmt.Sprintf(".box[data-box=%s] %s", box, selector) }

func (w *fleetWorld) panel(ctx context.Context, t *testing.T) {
	h := w.desk
	var asked int
	requests := `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/api/v1/fleet")).length`
	require.NoError(t, h.Evaluate(ctx, requests, &asked))
	require.NoError(t, h.Press(ctx, "b"))
	for selector, text := range map[string]string{
		"#boxes-sum": "2 of 2 run, 3 cameras", card("a", ".pill"): "Runs", card("b", ".pill"): "Cordoned", card("b", ".box-figures"): "2 of 8 cameras",
		card("b", ".box-labels"): "near=b", card("b", ".box-cameras"): w.watched, card("a", ".box-head"): "this page's",
	} {
		require.NoError(t, h.says(ctx, selector, text))
	}
	require.NoError(t, h.eventually(ctx, "a link to box b", fmt.Sprintf(`document.querySelector(%q)?.href === %q`, card("b", "a.box-name"), w.b.Page)))
	require.NoError(t, h.eventually(ctx, "it to be asked again", fmt.Sprintf(`%s >= %d`, requests, asked+3)))
	require.NoError(t, h.picture(ctx, "2-panel"))
}

// noteFlashes has the page note, from now on, what it says beside that the camera is live or moves, and the longest time
// without a new picture.
const noteFlashes = `(() => {
  window.flashes = [];
  window.gap = 0;
  let last = performance.now(), frames = document.body.dataset.frames;
  new MutationObserver(() => {
    const veil = document.querySelector("#veil"), state = document.querySelector("#state").textContent;
    if (!veil.hidden) flashes.push(veil.textContent.trim().replace(/\s+/g, " "));
    if (!["Live", "Behind", "Moving"].includes(state)) flashes.push(state);
  }).observe(document.querySelector(".stage"), { subtree: true, childList: true, characterData: true, attributes: true });
  new MutationObserver(() => {
    if (document.body.dataset.frames === frames) return;
    frames = document.body.dataset.frames;
    gap = Math.max(gap, performance.now() - last);
    last = performance.now();
  }).observe(document.body, { attributes: true, attributeFilter: ["data-frames"] });
  return true;
})()`

// moves moves the camera that is watched to a box by what do does, and finds that the page goes on showing it.
func (w *fleetWorld) moves(ctx context.Context, box string, do func() error) error {
	h := w.desk
	if err := h.live(ctx, w.watched); err != nil {
		return err
	}
	if err := h.Evaluate(ctx, noteFlashes, new(bool)); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := h.says(ctx, "#camera-box", "box "+box); err != nil {
		return err
	}
	if err := h.shows(ctx, w.watched, box); err != nil {
		return err
	}
	var before int
	if err := h.Evaluate(ctx, `Number(document.body.dataset.frames)`, &before); err != nil {
		return err
	}
	if err := h.eventually(ctx, "pictures from there", fmt.Sprintf(`Number(document.body.dataset.frames) > %d`, before+5)); err != nil {
		return err
	}
	var seen struct {
		Flashes []string
		Gap     float64
	}
	if err := h.Evaluate(ctx, `({ flashes, gap })`, &seen); err != nil {
		return err
	}
	w.note("the longest time without a picture: %.0f ms", seen.Gap)
	if len(seen.Flashes) > 0 {
		return fmt.Errorf("while it moved the page said %q", slices.Compact(seen.Flashes))
	}
	return h.listed(ctx, "bars")
}

// openMove opens the dialog that moves a camera from a box.
func (h *hand) openMove(ctx context.Context, camera, box string) error {
	if err := h.press(ctx, card(box, fmt.Sprintf(".box-camera[data-camera=%s] button", camera))); err != nil {
		return err
	}
	return h.inSight(ctx, "#box-to")
}

func (w *fleetWorld) movedHere(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.moves(ctx, "a", func() error {
		if err := h.openMove(ctx, w.watched, "b"); err != nil {
			return err
		}
		if err := h.picture(ctx, "3-move"); err != nil {
			return err
		}
		if err := h.Press(ctx, kb.Tab+kb.Enter); err != nil { // from the choice to the button
			return err
		}
		if err := h.outOfSight(ctx, "#box-dialog"); err != nil {
			return err
		}
		if err := h.says(ctx, "#toast", "Box a runs "+w.watched); err != nil {
			return err
		}
		return h.says(ctx, card("a", ".box-cameras"), w.watched)
	}))
}

func (w *fleetWorld) movedAway(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.hold(ctx, "a"))
	require.NoError(t, w.moves(ctx, "b", func() error {
		if err := h.openMove(ctx, w.watched, "a"); err != nil {
			return err
		}
		if err := h.press(ctx, "#box-submit"); err != nil {
			return err
		}
		return h.outOfSight(ctx, "#box-dialog")
	}))
}

func (w *fleetWorld) movedWhileMarking(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.begin(ctx))
	require.NoError(t, w.give(ctx, w.watched, "a"))
	require.NoError(t, h.says(ctx, "#toast", "Freeze a newer one"))
	_, err := h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	require.NoError(t, err)
	require.NoError(t, h.live(ctx, w.watched))
	require.NoError(t, w.give(ctx, w.watched, "b"))
}

func (w *fleetWorld) refused(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.hold(ctx, "b"))
	require.NoError(t, h.says(ctx, card("a", ".pill"), "Runs"))
	require.NoError(t, h.press(ctx, card("a", "[data-order=cordon]")))
	require.NoError(t, h.says(ctx, card("a", ".pill"), "Cordoned"))
	require.NoError(t, h.eventually(ctx, "the focus at what undoes it", fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, card("a", "[data-order=uncordon]"))))
	require.NoError(t, h.openMove(ctx, w.watched, "b"))
	require.NoError(t, h.press(ctx, "#box-submit"))
	require.NoError(t, h.beside(ctx, "box", "cordoned"))
	require.NoError(t, h.picture(ctx, "4-refused"))
	require.NoError(t, h.Press(ctx, kb.Escape))
	require.NoError(t, h.outOfSight(ctx, "#box-dialog"))
	require.NoError(t, h.press(ctx, card("a", "[data-order=uncordon]")))
	require.NoError(t, h.says(ctx, card("a", ".pill"), "Runs"))
}

func (w *fleetWorld) drained(ctx context.Context, t *testing.T) {
	h := w.desk
	drained := func(s fleetStatus) error {
		for _, b := range s.Boxes {
			if b.Name == "b" && b.Drained && b.Cameras == 0 && len(s.of("a")) == 3 {
				return nil
			}
		}
		return errors.New("it is not drained")
	}
	require.NoError(t, h.press(ctx, card("b", "[data-order=drain]")))
	require.NoError(t, h.says(ctx, "#box-dialog-title", "Drain b?"))
	require.NoError(t, h.picture(ctx, "5-drain"))
	require.NoError(t, h.press(ctx, "#box-cancel"))
	require.NoError(t, h.outOfSight(ctx, "#box-dialog"))
	if err := h.says(ctx, card("b", ".pill"), "Cordoned"); err != nil { // nothing was done
		t.Fatal(err)
	}
	require.NoError(t, w.moves(ctx, "a", func() error {
		if err := h.press(ctx, card("b", "[data-order=drain]")); err != nil {
			return err
		}
		if err := h.press(ctx, "#box-submit"); err != nil {
			return err
		}
		if err := h.says(ctx, card("b", ".pill"), "Drained"); err != nil {
			return err
		}
		return w.settled(ctx, "box b to have no cameras", drained)
	}))
	require.NoError(t, h.says(ctx, card("b", ".box-figures"), "0 of 8 cameras"))
	dark, err := w.fleetTab(ctx, browser.Tab{Theme: "dark", Width: 1280, Height: 1000, Scale: 1})
	require.NoError(t, err)
	require.NoError(t, dark.picture(ctx, "6-drained-dark"))
}

// fleetTab opens another tab with the panel, once all of it is there.
func (w *fleetWorld) fleetTab(ctx context.Context, tab browser.Tab) (*hand, error) {
	h, err := w.tab(ctx, tab)
	if err != nil {
		return nil, err
	}
	w.second = h
	if err := h.eventually(ctx, "all cameras to be live", `[...document.querySelectorAll(".tile")].every((t) => t.dataset.kind === "live" || t.textContent.includes("no box"))`); err != nil {
		return nil, err
	}
	// Pictures that come in just then may move it away from a finger: as people do, it is tried again.
	for try := range 3 {
		if err := h.press(ctx, "#boxes-summary"); err != nil {
			return nil, err
		}
		moment, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := h.inSight(moment, card("a", ""))
		cancel()
		if err == nil {
			break
		}
		if try == 2 {
			return nil, err
		}
	}
	return h, h.Evaluate(ctx, `(document.querySelector("#boxes").scrollIntoView({ block: "nearest" }), true)`, new(bool))
}

func (w *fleetWorld) uncordoned(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, card("b", "[data-order=uncordon]")))
	require.NoError(t, h.says(ctx, card("b", ".pill"), "Runs"))
	require.NoError(t, w.prepare(ctx))
}

func (w *fleetWorld) boxesOnPhone(ctx context.Context, t *testing.T) {
	h, err := w.fleetTab(ctx, browser.Tab{Theme: "dark", Width: phoneWidth, Height: 844, Scale: 2, Touch: true})
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "7-phone"))
	require.NoError(t, h.press(ctx, card("b", "[data-order=drain]")))
	require.NoError(t, h.inSight(ctx, "#box-submit"))
	require.NoError(t, h.picture(ctx, "8-phone-drain"))
	require.NoError(t, h.eventually(ctx, "nothing to be wider than the phone", fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, phoneWidth)))
	require.NoError(t, h.press(ctx, "#box-cancel"))
	require.NoError(t, h.outOfSight(ctx, "#box-dialog"))
}

// inventedFleet has the page believe in another fleet.
const inventedFleet = `(() => {
  const cameras = [...Array(14)].map((_, i) => ({ name: "camera-" + i, box: "b", token: i + 1, fps: 12.5 }));
  cameras[3] = { ...cameras[3], from: "night", why: "died" };
  cameras.push({ name: "a-camera-with-a-name-of-sixty-four-letters-which-is-the-most-x", box: "b", fps: 25, from: "a", why: "misfit", requires: { near: "gate", gpu: "true" } });
  cameras.push({ name: "nowhere", fault: "no box that takes cameras has the labels map[near:moon]", from: "gone", why: "left", requires: { near: "moon" } });
  const boxes = [
    { name: "a", alive: true, capacity_fps: 120, load_fps: 45.5, cameras: 0, max_cameras: 1, labels: { gpu: "true", near: "gate", rack: "the-third-from-the-left" }, page: "http://127.0.0.1:1/" },
    { name: "b", alive: true, capacity_fps: 60, load_fps: 187.5, cameras: 15, cordoned: true, host: "b.example", version: "1.2.3", page: "https://b.example/" },
    { name: "gone", alive: false, capacity_fps: 60, load_fps: 0, cameras: 0, page: "javascript:alert(1)" },
    { name: "night", alive: false, by: "a", capacity_fps: 60, load_fps: 0, cameras: 0, cordoned: true, drained: true },
  ];
  const real = fetch;
  window.fetch = (path, ...more) => new URL(path, location).pathname === "/api/v1/fleet" ? Promise.resolve(Response.json({ box: "a", boxes, cameras })) : real(path, ...more);
  return true;
})()`

func (w *fleetWorld) anyFleet(ctx context.Context, t *testing.T) {
	h, err := w.fleetTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 1000, Scale: 1})
	require.NoError(t, err)
	require.NoError(t, h.Evaluate(ctx, inventedFleet, new(bool)))
	require.NoError(t, h.says(ctx, "#unplaced-list", "requires near=moon"))
	for selector, want := range map[string]string{
		card("a", ".box-figures"): "45.5 of 120.0 frames/s0 of 1 camera", card("b", ".box-figures"): "187.5 of 60.0 frames/s15 cameras",
		card("night", ".pill"): "Silent", card("gone", ".pill"): "Left", card("b", ".pill"): "Cordoned",
		card("b", "[data-camera=camera-3]"): "camera-312.5/sMovefrom night, which fell silent",
	} {
		require.NoError(t, h.says(ctx, selector, want))
	}
	// The bar is as long as it should be, and red where the box has more than it can do; no box leads to a script.
	require.NoError(t, h.eventually(ctx, "the bars", `((a, b) => Math.abs(a.firstChild.offsetWidth / a.offsetWidth - 45.5 / 120) < 0.02 && b.firstChild.offsetWidth === b.offsetWidth && b.dataset.over === "true"
  && document.querySelectorAll("#boxes a[href^=javascript]").length === 0)(...document.querySelectorAll(".box[data-state=runs] .load, .box[data-box=b] .load"))`))
	require.NoError(t, h.picture(ctx, "12-any"))
}

func (w *fleetWorld) addedWithLabel(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, "#add-camera"))
	require.NoError(t, h.fill(ctx, "#camera-url", w.video.URL()))
	require.NoError(t, h.fill(ctx, "#camera-name", "west"))
	require.NoError(t, h.tested(ctx))
	require.NoError(t, h.press(ctx, "#camera-more summary"))
	require.NoError(t, h.fill(ctx, "#camera-requires", "near"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.beside(ctx, "requires", "NAME=VALUE"))
	require.NoError(t, h.picture(ctx, "9-requires"))
	require.NoError(t, h.fill(ctx, "#camera-requires", "near=b"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.outOfSight(ctx, "#camera-dialog"))
	require.NoError(t, w.hold(ctx, "a"))
	require.NoError(t, h.live(ctx, "west"))
	require.NoError(t, h.says(ctx, "#camera-box", "box b"))
	require.NoError(t, h.press(ctx, "#edit-camera"))
	require.NoError(t, h.eventually(ctx, "the label in the field", `document.querySelector("#camera-requires").value === "near=b"`))
	require.NoError(t, h.press(ctx, "#camera-cancel"))
}

func (w *fleetWorld) killed(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.hold(ctx, "b"))
	require.NoError(t, w.settled(ctx, "a camera on box b that is not bound to it", func(s fleetStatus) error {
		i := slices.IndexFunc(s.of("b"), func(name string) bool { return name != "west" })
		if i < 0 {
			return errors.New("there is none")
		}
		w.watched = s.of("b")[i]
		return nil
	}))
	require.NoError(t, h.press(ctx, tile(w.watched, "a")))
	require.NoError(t, h.live(ctx, w.watched))
	require.NoError(t, h.Evaluate(ctx, noteFlashes, new(bool)))
	w.b.Kill()
	killed := time.Now()
	require.NoError(t, w.settled(ctx, "its cameras on box a", func(s fleetStatus) error {
		if len(s.of("a")) != 3 {
			return errors.New("they are not yet")
		}
		return nil
	}))
	require.NoError(t, h.shows(ctx, w.watched, "a"))
	var gap float64
	require.NoError(t, h.Evaluate(ctx, `gap`, &gap))
	w.note("after the death of the box, the longest time without a picture: %.0f ms", gap)
	require.NoError(t, h.says(ctx, card("b", ".pill"), "Silent"))
	require.NoError(t, h.says(ctx, "#unplaced-list", "west"))
	require.NoError(t, h.says(ctx, tile("west", ""), "no box that takes cameras has the labels"))
	require.NoError(t, h.press(ctx, tile("west", "a")))
	require.NoError(t, h.says(ctx, "#veil", "No box runs this camera"))
	require.NoError(t, h.says(ctx, "#veil", "has the labels"))
	w.note("it was known of all cameras %v after it", time.Since(killed).Round(100*time.Millisecond))
	require.NoError(t, h.picture(ctx, "10-killed"))
}

// fleetConsole is console, less what Chromium says of requests that were to fail, and of those to a box that moves or dies: pictures of
// events stay in the box that made them.
func (w *fleetWorld) fleetConsole(_ context.Context, t *testing.T) {
	expected := func(fault string) bool {
		return strings.Contains(fault, "/live") || streamEnded(fault) || strings.Contains(fault, "/thumbnails/") && strings.Contains(fault, "404 (") || strings.Contains(fault, "/move") && strings.Contains(fault, "409 (") ||
			strings.Contains(fault, "/api/v1/cameras") && (strings.Contains(fault, "422 (") || strings.Contains(fault, "502 (") || strings.Contains(fault, "503 ("))
	}
	if faults := slices.DeleteFunc(w.chromium.Faults(), expected); len(faults) > 0 {
		t.Fatalf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
}

func (w *fleetWorld) fleetViewers(ctx context.Context, t *testing.T) {
	w.url = w.a.Page + "?token=" + url.QueryEscape(viewerToken)
	h, err := w.fleetTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 1000, Scale: 1})
	require.NoError(t, err)
	require.NoError(t, h.says(ctx, card("a", ".box-cameras"), w.watched))
	require.NoError(t, h.eventually(ctx, "no buttons", `[...document.querySelectorAll("#boxes button")].every((b) => !b.checkVisibility())`))
	require.NoError(t, h.picture(ctx, "11-viewer"))
}
