//go:build e2e

package streams

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

//go:embed page.js
var compare string

//go:embed number.js
var number string

// Pictures of the counting clip have their number written in them, as light and dark bars.
const (
	bars                   = 13
	barsWidth, barsHeight  = 416, 240
	countingFPS, countingS = 10, 800
)

// counting is what such a clip is made from.
var counting = fmt.Sprintf("nullsrc=s=%dx%d:r=%d:d=%d,format=gray,geq=lum='if(mod(floor(N/pow(2,X)),2),235,16)',scale=%d:%d:flags=neighbor,setsar=1,format=yuv420p",
	bars, 2, countingFPS, countingS, barsWidth, barsHeight)

// pageWorld is a page that shows a camera whose pictures are numbered.
type pageWorld struct {
	*world
	page *browser.Page
	ctx  context.Context //nolint:containedctx // of one step
}

func TestPage(t *testing.T) {
	addrs := harness.FreeAddrs(t, 3)
	w := &world{T: t}
	w.segd = harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nnats: {addr: '%s'}\nwhip: {addr: '%s'}\n"+
		"superpixels: 100\nmodel: {short_side: 64}\ncameras:\n- {name: gate, url: 'file:%s', detect: {off: true}}\n- {name: seen, url: 'file:%[6]s', detect: {classes: [person]}, privacy: {fill: [person], show: operator}}\n",
		addrs[0], token, viewer, addrs[1], addrs[2], clip(t, counting)))
	w.until("masks", func() bool { return w.published() > 5 })
	b := harness.Browser(t)
	page, err := b.Open(t.Context(), browser.Tab{URL: w.segd.Page + "?token=" + token + "#gate", Theme: "light", Width: 1280, Height: 800, Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func(*pageWorld)
	}{
		{"the page shows video, and JPEGs to who wants them", (*pageWorld).jpegs},
		{"the masks are drawn on the very pictures of the video that they are of", (*pageWorld).video},
		{"what is marked is a JPEG, which has the number that it says", (*pageWorld).marks},
		{"a hidden tab watches no stream", (*pageWorld).hidden},
		{"video that stops is replaced by JPEGs", (*pageWorld).lost},
		{"who sees more than the stream shows gets JPEGs", (*pageWorld).sees},
		{"the choice is remembered", (*pageWorld).remembered},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			step.do(&pageWorld{&world{t, w.segd, ""}, page, ctx})
		}) {
			t.FailNow()
		}
	}
	if faults := b.Faults(); len(faults) > 0 {
		t.Errorf("the console complains:\n%s", strings.Join(faults, "\n"))
	}
}

// is tells whether an expression is true in the page.
func (w *pageWorld) is(expression string) bool {
	var is bool
	return w.page.Evaluate(w.ctx, "Boolean("+expression+")", &is) == nil && is
}

// do runs what gives nothing.
func (w *pageWorld) do(code string) {
	w.Helper()
	var done bool
	if err := w.page.Evaluate(w.ctx, "(() => {"+code+"; return true; })()", &done); err != nil {
		w.Fatal(err)
	}
}

func (w *pageWorld) shows(pictures string) {
	w.Helper()
	w.until(pictures, func() bool { return w.is(fmt.Sprintf("document.body.dataset.pictures === %q", pictures)) })
}

// leftAlone waits until no stream has viewers.
func (w *pageWorld) leftAlone() {
	w.Helper()
	w.until("the stream to be left", func() bool { return w.value("segd_stream_viewers") == 0 })
}

// compare looks at so many frames that the page draws.
func (w *pageWorld) compare(kind string, frames int) (ages []float64) {
	w.Helper()
	var seen struct {
		Wrong    []string
		Ages     []float64
		Pictures bool
	}
	if err := w.page.Evaluate(w.ctx, fmt.Sprintf("(%s)('gate', %q, %d, (%s)(%d, %d, %d))", compare, kind, frames, number, bars, barsWidth, barsHeight), &seen); err != nil {
		w.Fatal(err)
	}
	if len(seen.Wrong) > 0 || len(seen.Ages)*2 < frames || seen.Pictures {
		w.Errorf("of %d frames %d are known; pictures beside the stream: %v; wrong: %s", frames, len(seen.Ages), seen.Pictures, strings.Join(seen.Wrong, "; "))
	}
	return seen.Ages
}

func (w *pageWorld) jpegs() {
	w.shows("video")
	w.choose("jpeg")
	w.figures("the page, by JPEG", w.compare("jpeg", pictures))
	if n := w.value("segd_stream_viewers"); n != 0 {
		w.Errorf("%v watch a stream", n)
	}
}

// choose presses the button.
func (w *pageWorld) choose(pictures string) {
	w.Helper()
	w.do("document.getElementById('video').click()")
	w.shows(pictures)
	if pictures == "jpeg" {
		w.leftAlone()
	}
}

func (w *pageWorld) video() {
	// What ends a connection as networks do not.
	w.do("const P = RTCPeerConnection; window.connections = []; window.RTCPeerConnection = class extends P { constructor(...c) { super(...c); connections.push(this); } }")
	w.choose("video")
	w.figures("the page, by WHEP", w.compare("video", 3*pictures))
	if n := w.value("segd_stream_viewers", "protocol", "whep"); n != 1 {
		w.Errorf("%v watch a stream by WHEP", n)
	}
}

func (w *pageWorld) marks() {
	w.do("document.getElementById('mark').click()")
	w.until("a frozen picture", func() bool { return w.is("document.body.dataset.mode === 'marking'") })
	w.leftAlone()
	var frozen, drawn int
	if err := w.page.Evaluate(w.ctx, `Number(document.getElementById("state").textContent.replace(/\D/g, ""))`, &frozen); err != nil {
		w.Fatal(err)
	}
	if err := w.page.Evaluate(w.ctx, fmt.Sprintf("(%s)(%d, %d, %d)()", number, bars, barsWidth, barsHeight), &drawn); err != nil {
		w.Fatal(err)
	}
	// A file's first picture is frame 0.
	if frozen != drawn || frozen == 0 || w.is("document.body.dataset.pictures === 'video'") {
		w.Errorf("frame %d is frozen, and picture %d is drawn", frozen, drawn)
	}
	// Under a frozen picture no video is begun, however long it takes to mark.
	w.do("window.before = connections.length")
	published := w.published()
	w.until("masks of 6 s", func() bool { return w.published() > published+6*countingFPS })
	if n := w.value("segd_stream_viewers"); n != 0 || w.is("connections.length > before") {
		w.Errorf("video is begun under a frozen picture; %v watch it", n)
	}
	w.do("document.getElementById('cancel').click()")
	w.shows("video")
}

// hidden has the page believe that it is hidden: a browser without a screen shows all of its tabs.
func (w *pageWorld) hidden() {
	hide := "Object.defineProperty(document, 'hidden', {value: %v, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
	w.do(fmt.Sprintf(hide, true))
	w.leftAlone()
	w.do(fmt.Sprintf(hide, false))
	w.until("video again", func() bool { return w.value("segd_stream_viewers") == 1 })
	w.compare("video", pictures)
}

func (w *pageWorld) lost() {
	for _, how := range []string{"document.querySelector('video').pause()", "connections.at(-1).close()"} {
		w.shows("video")
		w.do(how)
		began := time.Now()
		w.shows("jpeg")
		w.Logf("after %s JPEGs came within %.1f s", how, time.Since(began).Seconds())
		w.compare("jpeg", pictures)
		w.leftAlone()
	}
}

func (w *pageWorld) sees() {
	w.do("window.before = connections.length; location.hash = '#seen'")
	w.until("video to be tried and given up", func() bool {
		return w.is("connections.length > before && connections.at(-1).signalingState === 'closed'")
	})
	w.leftAlone()
	w.do("window.before = Number(document.body.dataset.frames)")
	w.until("frames", func() bool {
		return w.is("document.body.dataset.frames > before + 5") || w.is("document.body.dataset.frames < before")
	})
	if !w.is("document.body.dataset.pictures === 'jpeg' && location.hash === '#seen'") {
		w.Error("the stream is shown, which hides what an operator may see")
	}
	w.do("location.hash = '#gate'")
	w.shows("video")
}

func (w *pageWorld) remembered() {
	w.choose("jpeg")
	w.do("window.before = 1; location.reload()")
	w.until("the page", func() bool {
		return w.is("!('before' in window) && document.body.dataset.frames > 2*" + strconv.Itoa(countingFPS))
	})
	if n := w.value("segd_stream_viewers"); n != 0 || !w.is("document.body.dataset.pictures === 'jpeg'") {
		w.Errorf("JPEGs were chosen; %v watch a stream", n)
	}
	w.choose("video")
	w.choose("jpeg")
}
