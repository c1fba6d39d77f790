package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/scripts/browser"
	"github.com/segd/segd/scripts/process"
	"github.com/segd/segd/scripts/steps"
)

const (
	likeIt  = 0.7 // intersection over union with the reference
	onIt    = 0.5 // the same of any later frame
	subject = "segd.v1.home.demo.mask"
)

// Frames of the clip in which the walker is marked; later ones leave too little of her
// way to see whether she is followed.
const firstMark, lastMark = 620, 655

// stepLimit is twice as long as the clip and some time to draw.
const stepLimit = 3 * time.Minute

// world is what the steps act on.
type world struct {
	pictures string
	draw     time.Duration
	within   time.Duration // from accepting to the first masks with the object
	out      io.Writer
	url      string
	walker   map[int]mask.RLE
	chromium *browser.Browser
	conn     *nats.Conn
	log      log

	desk, second, phone *hand
}

func (w *world) steps() []steps.Step {
	all := []steps.Step{
		{Name: "the page shows the live picture and the demo's objects", Do: w.open},
		{Name: "an object is renamed, and undo gives the old name back", Do: w.rename},
		{Name: "it is corrected with the eraser, and undo gives the mask back", Do: w.correct},
		{Name: "objects are removed, and one is brought back by undo", Do: w.remove},
		{Name: "a walking person is marked with a few strokes, and followed", Do: w.mark},
		{Name: "what is painted is the mask to the pixel, holes and separate pieces too", Do: w.painted},
		{Name: "by keyboard alone: a box is drawn, and cancelled", Do: w.keyboard},
		{Name: "two tabs mark a new object each at once", Do: w.twoTabs},
		{Name: "marks that give no mask are accepted with a word of it, in both tabs", Do: w.empty},
		{Name: "somebody slow: the picture is still there to be marked", Do: w.slow},
		{Name: "a phone in portrait: two fingers zoom, and an outline is where it was drawn", Do: w.fingers},
		{Name: "a phone in portrait: the walker is marked with a finger, and followed", Do: w.onPhone},
		{Name: "strokes on a walking person are previewed, and thrown away", Do: w.looks},
		{Name: "the page in the dark", Do: w.dark},
		{Name: "the console has no complaints", Do: w.console},
	}
	for i, step := range all {
		all[i].Do = func(ctx context.Context) error {
			bounded, cancel := context.WithTimeoutCause(ctx, w.draw+stepLimit, fmt.Errorf("not done after %v", w.draw+stepLimit))
			defer cancel()
			err := step.Do(bounded)
			if err != nil {
				w.pictureAll(context.WithoutCancel(ctx))
			}
			return err
		}
	}
	return all
}

// pictureAll keeps how the pages look when something failed.
func (w *world) pictureAll(ctx context.Context) {
	for name, h := range map[string]*hand{"desk": w.desk, "second": w.second, "phone": w.phone} {
		if h != nil {
			_ = h.picture(ctx, "failed-"+name) // the failure itself matters more
		}
	}
}

// listen takes in every mask.
func (w *world) listen(ctx context.Context, url string) (err error) {
	w.log.news = make(chan struct{})
	for {
		if w.conn, err = nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond)); err == nil {
			break
		}
		if stopped := process.Pause(ctx, 100*time.Millisecond); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
	_, err = w.conn.Subscribe(subject, w.log.add)
	return err
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

func (w *world) note(format string, args ...any) { fmt.Fprintf(w.out, "     "+format+"\n", args...) }

func (w *world) open(ctx context.Context) (err error) {
	if w.desk, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1}); err != nil {
		return err
	}
	for _, label := range []string{"person", "second person"} {
		if _, err := w.log.until(ctx, 0, label, func(m *segdv1.MaskFrame) bool { return object(m, label) != nil }); err != nil {
			return err
		}
		if err := w.desk.listed(ctx, label); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) dark(ctx context.Context) error {
	for name, tab := range map[string]browser.Tab{
		"9-dark":       {Theme: "dark", Width: 1280, Height: 800, Scale: 1},
		"9-dark-phone": {Theme: "dark", Width: 390, Height: 844, Scale: 2, Touch: true},
	} {
		h, err := w.tab(ctx, tab)
		if err != nil {
			return err
		}
		if err := process.Pause(ctx, 3*time.Second); err != nil { // figures of the last seconds
			return err
		}
		if err := h.picture(ctx, name); err != nil {
			return err
		}
		if err := h.begin(ctx); err != nil {
			return err
		}
		if err := h.outlined(ctx, "sign", sign); err != nil {
			return err
		}
		if err := h.picture(ctx, name+"-marking"); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) console(context.Context) error {
	if faults := w.chromium.Faults(); len(faults) > 0 {
		return fmt.Errorf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}
