//go:build e2e

// Package page uses the page of the running demo as people do, in a headless Chromium:
// it freezes the picture, draws on a walking person, looks at the preview, accepts, and
// then sees on NATS whether the masks cover that person. Pictures of the page are among
// the test's artefacts.
//
// What the masks are compared with was made from the clip alone, see reference.
package page

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

var (
	within      = flag.Duration("within", 2*time.Second, "from accepting to the first masks with the object")
	draw        = flag.Duration("draw", time.Minute, "how long somebody slow takes to draw")
	superpixels = flag.Int("superpixels", 0, "pieces a frame is cut into, fewer for a slow machine; 0: the demo's own number")
)

// Each goes on from what those before it have left, and one that fails ends the test;
// -run TestPage/NAME takes those of a name alone.
func TestPage(t *testing.T) {
	w := &world{pictures: t.ArtifactDir()}
	var err error
	if w.walker, err = readWalker("testdata/walker.json"); err != nil {
		t.Fatal(err)
	}
	w.start(t, "--by-hand")
	w.take(t, w.open) // the page shows the live picture and the demo's objects
	w.steps(t, []step{
		{"the regions where objects are looked for are shown to who wants to see them", w.regions},
		{"objects are told apart by colour, number and what the pointer is on", w.apart},
		{"a hidden object has a dashed box with its name where its track predicts it", w.hidden},
		{"an object is renamed, and undo gives the old name back", w.rename},
		{"it is corrected with the eraser, and undo gives the mask back", w.correct},
		{"objects are removed, and one is brought back by undo", w.remove},
		{"what undo needs is kept until it is done, and what is told does not keep anybody from drawing", w.toast},
		{"there are no regions without objects", w.noRegions},
		{"a zone and a line are drawn", w.zones},
		{"a walking person is marked with a few strokes, and followed", w.mark},
		{"the zone and the line have counted her", w.counted},
		{"what is painted is the mask to the pixel, holes and separate pieces too", w.painted},
		{"the page decodes masks as pycocotools encodes them", w.decodes},
		{"by keyboard alone: a box is drawn, and cancelled", w.keyboard},
		{"two tabs mark a new object each at once", w.twoTabs},
		{"marks that give no mask are accepted with a word of it, in both tabs", w.empty},
		{"somebody slow: the picture is still there to be marked", w.slow},
		{"a phone in portrait: two fingers zoom, and an outline is where it was drawn", w.fingers},
		{"a phone in portrait: a line is drawn with a finger, and turned round", w.lineOnPhone},
		{"a phone in portrait: the walker is marked with a finger, and followed", w.onPhone},
		{"a click marks what is under the pointer; so do keys, and a tap on a phone", w.chosen},
		{"a click with Shift takes a piece off the object, or on", w.shifted},
		{"the walker is marked by a click, and followed", w.clicked},
		{"strokes on a walking person are previewed, and thrown away", w.looks},
		{"the page in the dark", w.dark},
		{"the console has no complaints", w.console},
	})
}

// stepLimit is twice as long as the clip and some time to draw.
const stepLimit = 3 * time.Minute

// start runs the browser and a demo, and waits for its page.
func (w *world) start(t *testing.T, args ...string) {
	// The browser first: the clip begins to play when the demo starts.
	w.chromium = harness.Browser(t)
	demo := harness.Demo(t, append(args, "--superpixels", strconv.Itoa(*superpixels))...)
	w.url, w.nats = demo.Page, demo.NATS
	w.log.news = make(chan struct{})
	if _, err := harness.Connect(t, demo.NATS).Subscribe(subject, w.log.add); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, harness.StartLimit, "the page", func(ctx context.Context) error {
		_, err := harness.Get(ctx, w.url)
		return err
	})
}

// A step is one thing that must work.
type step struct {
	name string
	do   func(context.Context, *testing.T)
}

// steps takes one after the other, until one fails.
func (w *world) steps(t *testing.T, all []step) {
	for _, s := range all {
		if !t.Run(s.name, func(t *testing.T) { w.take(t, s.do) }) {
			t.FailNow()
		}
	}
}

// take does one thing that must work.
func (w *world) take(t *testing.T, do func(context.Context, *testing.T)) {
	t.Helper()
	w.note = t.Logf
	limit := *draw + stepLimit
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	defer func() {
		if t.Failed() {
			w.pictureAll(t.Context())
		}
	}()
	do(ctx, t)
}

// pictureAll keeps how the pages look when something failed.
func (w *world) pictureAll(ctx context.Context) {
	for name, h := range map[string]*hand{"desk": w.desk, "second": w.second, "phone": w.phone} {
		if h != nil {
			_ = h.picture(ctx, "failed-"+name) // the failure itself matters more
		}
	}
}

// tab opens the page and waits until it is live.
func (w *world) tab(ctx context.Context, tab browser.Tab) (*hand, error) {
	tab.URL = w.url
	page, err := w.chromium.Open(ctx, tab)
	if err != nil {
		return nil, err
	}
	h := &hand{Page: page, w: w, touch: tab.Touch}
	_, err = h.until(ctx, "live frames", func(s said) bool { return len(s.Frames) >= 1 && s.Frames != "0" })
	return h, err
}

func (w *world) console(_ context.Context, t *testing.T) {
	// Chromium itself complains of an answer that is a refusal: one zone was to get one, and a preview does while as many are
	// being made as may be, as of two tabs. The page asks again then.
	refused := func(fault string) bool {
		return strings.Contains(fault, "400 (Bad Request)") && strings.Contains(fault, "/cameras/demo/zones") ||
			strings.Contains(fault, "409 (Conflict)") && (strings.Contains(fault, "/cameras/demo/annotations?preview=true") || strings.Contains(fault, "/things"))
	}
	if faults := slices.DeleteFunc(w.chromium.Faults(), refused); len(faults) > 0 {
		t.Fatalf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
}
