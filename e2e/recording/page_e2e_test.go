//go:build e2e

package recording

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// tab is one page in Chromium.
type tab struct{ *harness.Tab }

// page looks at recordings as people do, at a desk and on a phone, with a viewer's token.
func (w *world) page() {
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	b := harness.Browser(w)
	for _, of := range []struct {
		name                 string
		theme                string
		width, height, scale int
	}{{"desk", "light", 1280, 800, 1}, {"phone", "dark", 390, 844, 2}} {
		p, err := b.Open(ctx, browser.Tab{URL: w.Segd.Page + "?token=" + viewer, Theme: of.theme, Width: of.width, Height: of.height, Scale: of.scale, Touch: of.width < 600})
		if err != nil {
			w.Fatal(err)
		}
		(&tab{&harness.Tab{World: &w.World, Page: p, Step: ctx, Patience: 90 * time.Second}}).looks(of.name)
	}
	// Chromium itself tells of ranges of video that it needs no more, of what was asked for wrongly, and that this test reads pixels.
	of := func(fault string, parts ...string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(fault, part) })
	}
	for _, fault := range b.Faults() {
		if !of(fault, `"type":"Media"`, "net::ERR_ABORTED") && !of(fault, "/recordings?", "400") && !of(fault, "willReadFrequently") {
			w.Errorf("the console complains: %s", fault)
		}
	}
}

// differ is how much of the picture on the canvas is of another colour than without masks, in percent.
const differ = `(async () => {
	const canvas = document.querySelector("#picture"), box = document.querySelector("#masks");
	const pixels = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
	const shown = pixels();
	box.click();
	const bare = pixels();
	box.click();
	let n = 0;
	for (let i = 0; i < shown.length; i += 4) if (Math.abs(shown[i] - bare[i]) + Math.abs(shown[i + 1] - bare[i + 1]) + Math.abs(shown[i + 2] - bare[i + 2]) > 30) n++;
	return 400 * n / shown.length;
})()`

func (t *tab) looks(name string) {
	t.Becomes("the live page", `document.querySelector("#history-link") !== null && location.search === ""`) // the token is in a cookie
	t.Do(`location.href = "recordings"`)
	// The newest file is open. Its first picture is shown, and plays.
	t.Becomes("a picture", `document.querySelector("#picture").dataset.at !== undefined && !document.querySelector("#play").disabled`)
	t.Is("the camera and its state", `document.querySelector("#filter select").value === "yard" && document.querySelector("#status").textContent === "recording"`)
	t.ClickOn("#play")
	t.Becomes("that it plays", `Number(document.querySelector("#picture").dataset.at) > 1 && document.querySelector("#play").textContent === "Pause"`)
	t.Becomes("masks", `Number(document.querySelector("#picture").dataset.objects) > 0`)
	t.ClickOn("#play")
	t.Becomes("that it stands", `document.querySelector("#play").textContent === "Play"`)
	t.seek("where there are persons", 0.5)
	t.Is("the picture is no single colour", `(() => { const c = document.querySelector("#picture"); const d = c.getContext("2d").getImageData(c.width * 3 >> 3, c.height >> 2, c.width >> 2, c.height >> 1).data; let low = 255, high = 0; for (let i = 0; i < d.length; i += 4) { low = Math.min(low, d[i]); high = Math.max(high, d[i]); } return high - low > 60; })()`)
	var share float64
	if err := t.Evaluate(t.Step, differ, &share); err != nil || share < 0.2 || share > 40 {
		t.Errorf("masks are %.2f %% of the picture, %v", share, err)
	}
	t.Logf("%s: masks are %.2f %% of the canvas", name, share)
	t.Is("nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
	t.Is("each field has a name", `[...document.querySelectorAll("#filter input, #filter select")].every((f) => f.labels.length === 1 && f.labels[0].textContent.trim())`)
	t.Picture(name + "-1-newest")

	// The file before follows on what is before it: the player goes from one to the next.
	t.Do(`location.search = "?camera=yard&from=" + new Date(Date.now() - 3600000).toISOString()`)
	t.Becomes("the first file", `document.querySelector("#picture").dataset.at !== undefined && Number(document.querySelector("#seek").value) < 1`)
	t.Do(`const s = document.querySelector("#seek"); window.first = document.querySelector("#save").href; document.querySelector("#play").click(); s.value = 28; s.dispatchEvent(new Event("input"))`)
	t.Becomes("the next file", `document.querySelector("#save").href !== window.first && Number(document.querySelector("#seek").value) > 31`)
	t.ClickOn("#play")

	// The history leads to what was recorded before and after an event.
	t.ClickOn("#history-link")
	t.Becomes("events with clips", `document.querySelectorAll("#event-list .clip").length > 5`)
	t.Picture(name + "-2-history")
	t.Do(`location.search = "?camera=yard&to=" + new Date(Date.now() - 60000).toISOString()`) // those whose clips are complete
	t.Becomes("events of then", `location.search.includes("to=") && document.querySelectorAll("#event-list .clip").length > 0`)
	t.ClickOn("#event-list .clip")
	t.Becomes("its clip", `location.pathname === "/recordings" && document.querySelector("#picture")?.dataset.at !== undefined && !document.querySelector("#play").disabled`)
	t.Becomes("it plays to its end", `(() => { const p = document.querySelector("#play"), s = document.querySelector("#seek"); if (!window.begun) { window.begun = true; p.click(); } return Number(s.max) <= 15.1 && Number(s.max) > 5 && s.value >= s.max - 0.3 && p.textContent === "Play"; })()`)
	t.Picture(name + "-3-clip")

	// What there is none of is said, and so is what is wrong.
	t.Do(`location.search = "?camera=yard&from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z"`)
	t.Becomes("that there are none", `document.querySelector("#fault").textContent === "Nothing is recorded there." && document.querySelector("#play").disabled`)
	t.Do(`location.search = "?camera=yard&from=2020-01-01T01:00:00Z&to=2020-01-01T00:00:00Z"`)
	t.Becomes("what is wrong", `document.querySelector("#fault").textContent.includes("to: it is not after from") && document.querySelector("[name=to]").ariaInvalid === "true"`)
	t.Picture(name + "-4-fault")
}

// seek goes to a part of what is recorded, once it stands there with masks.
func (t *tab) seek(what string, part float64) {
	t.Helper()
	var at float64
	for ; part < 1; part += 0.02 { // not each frame has a person
		if err := t.Evaluate(t.Step, `(async () => { const s = document.querySelector("#seek"); s.value = s.max * `+strconv.FormatFloat(part, 'f', 2, 64)+`; s.dispatchEvent(new Event("input")); await new Promise((done) => setTimeout(done, 700)); return Number(document.querySelector("#picture").dataset.objects); })()`, &at); err != nil {
			t.Fatal(err)
		}
		if at > 0 {
			return
		}
	}
	t.Fatalf("%s: none", what)
}
