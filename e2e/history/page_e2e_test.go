//go:build e2e

package history

import (
	"context"
	"strings"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

// tab is one page in Chromium.
type tab struct{ *harness.Tab }

// page looks through the history as people do, at a desk and on a phone, with a viewer's token.
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
		(&tab{&harness.Tab{World: &w.World, Page: p, Step: ctx, Patience: time.Minute}}).looks(of.name)
	}
	// Chromium itself tells of refusals: of pictures that are not kept, and of what was asked for wrongly.
	for _, fault := range b.Faults() {
		if !(strings.Contains(fault, "/thumbnails/") && strings.Contains(fault, "404")) && !(strings.Contains(fault, "/history?") && strings.Contains(fault, "400")) {
			w.Errorf("the console complains: %s", fault)
		}
	}
}

func (t *tab) looks(name string) {
	// The live page, just opened, has what happened before. It leads to the history.
	t.Becomes("events on the live page", `document.querySelectorAll("#event-list .event").length === 30`)
	t.Becomes("their link", `document.querySelector("#event-list .event-time").href.includes("/history?camera=yard&to=")`)
	t.Picture(name + "-live")
	t.Do(`document.querySelector("#history-link").focus()`) // by the keyboard: what is above the link comes and goes
	if err := t.Press(t.Step, "\r"); err != nil {
		t.Fatal(err)
	}
	t.Becomes("the history of the camera", `location.pathname === "/history" && document.querySelector("#filter-camera")?.value === "yard" && document.querySelectorAll("#event-list .event").length >= 30`)
	t.Becomes("pictures", `[...document.querySelectorAll(".event-picture")].filter((i) => i.complete && i.naturalWidth > 0).length >= 5`)
	t.Is("each field has a name", `[...document.querySelectorAll("#filter input, #filter select")].every((f) => f.labels.length === 1 && f.labels[0].textContent.trim())`)
	t.Is("nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
	t.Picture(name + "-1-all")

	// Older ones come below.
	t.Becomes("that there are older ones", `!document.querySelector("#more").hidden`)
	t.ClickOn("#more")
	t.Becomes("older ones", `document.querySelectorAll("#event-list .event").length > 48`)
	t.Is("the newest come first", `[...document.querySelectorAll("#event-list time")].every((e, i, all) => i === 0 || Date.parse(all[i - 1].dateTime) >= Date.parse(e.dateTime) - 60000)`)

	// A zone is chosen, by the keyboard's Enter. A reload, and a step back, show what they should.
	t.ClickOn(`[name="zone"]`)
	if err := t.Type(t.Step, "strip-4"); err != nil {
		t.Fatal(err)
	}
	if err := t.Press(t.Step, "\r"); err != nil {
		t.Fatal(err)
	}
	const inZone = `location.search.includes("zone=strip-4") && document.querySelectorAll("#event-list .event").length > 0 && !document.querySelector("#status").textContent.includes("Looking") &&
		[...document.querySelectorAll(".event-text")].every((e) => e.textContent.includes("strip-4"))`
	t.Becomes("those of the zone", inZone)
	t.Picture(name + "-2-zone")
	t.Do(`window.before = true; location.reload()`)
	t.Becomes("the same after a reload", `window.before === undefined && document.querySelector("[name=zone]")?.value === "strip-4" && `+inZone)
	t.Is("the export is of the zone", `document.querySelector("#export").href.endsWith("/api/v1/history/export?camera=yard&zone=strip-4")`)
	t.Becomes("a ZIP file", `(async () => { const r = await fetch(document.querySelector("#export").href); return r.ok && new TextDecoder().decode((await r.arrayBuffer()).slice(0, 2)) === "PK"; })()`)
	t.Do(`history.back()`)
	t.Becomes("all again", `document.querySelector("[name=zone]").value === "" && document.querySelectorAll("#event-list .event").length >= 30`)

	// What there is none of is said, and so is what is wrong.
	t.Do(`const f = document.querySelector("#filter"); f.elements.class.value = "zebra"; f.requestSubmit()`)
	t.Becomes("that there are none", `document.querySelector("#status").textContent === "None."`)
	t.Do(`const f = document.querySelector("#filter"); f.elements.class.value = ""; f.elements.from.value = "2027-01-02T00:00"; f.elements.to.value = "2027-01-01T00:00"; f.requestSubmit()`)
	t.Becomes("what is wrong", `!document.querySelector("#fault").hidden && document.querySelector("#fault").textContent.includes("to: it is not after from") && document.querySelector("[name=to]").ariaInvalid === "true"`)
	t.Picture(name + "-3-fault")
	t.ClickOn(`#filter [type="reset"]`)
	t.Becomes("all", `location.search === "" && document.querySelectorAll("#event-list .event").length >= 30`)
}
