//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

const (
	camera = "cam"
	token  = "interop-0123456789abcdef"
)

// publishWorld is a segd whose camera takes publishers, and who publishes.
type publishWorld struct {
	bus
	segd        *harness.Segd
	url, whip   string // of the page and of the endpoint
	chromium    *browser.Browser
	page, rival *browser.Page
	picture     string // file to write
	t           *testing.T
}

func TestPublishers(t *testing.T) {
	w := &publishWorld{picture: filepath.Join(t.ArtifactDir(), "publishing.png")}
	w.segd = harness.Run(t, fmt.Sprintf("whip: {addr: '%s', token: %s}\nsuperpixels: 200\ncameras: [{name: %s, url: 'whip:', detect: {off: true}}]\n",
		harness.FreeAddrs(t, 1)[0], token, camera))
	w.url, w.whip = w.segd.Page+"publish/"+camera, w.segd.Page+"whip/"+camera
	w.bus = listen(t, w.segd, camera)
	w.chromium = harness.Browser(t, "use-fake-device-for-media-stream", "use-fake-ui-for-media-stream")
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Chromium without a token is asked for one", w.noToken},
		{"Chromium with a wrong token is told so", w.wrongToken},
		{"Chromium publishes with the right token", w.rightToken},
		{"its pictures' masks arrive on NATS, by the browser's clock", w.masksArrive},
		{"a second Chromium is told that the camera is busy", w.busy},
		{"segd is stopped and started, and Chromium publishes again by itself", w.restart},
		{"stopping ends it, and the camera is down", w.stop},
		{"the second Chromium then publishes", w.rivalPublishes},
		{"closing its page ends it", w.leave},
		{"Chromium publishes VP8", w.codec("VP8", "")},
		{"Chromium publishes VP9", w.codec("VP9", "")},
		{"Chromium publishes VP9 in three spatial layers", w.codec("VP9", "L3T3")},
		{"Chromium publishes VP9 in three that refer to each other in key frames only", w.codec("VP9", "L3T3_KEY")},
		{"Chromium publishes VP9 in three that do not refer to each other", w.codec("VP9", "S3T3")},
		{"Chromium publishes AV1", w.codec("AV1", "")},
		{"Chromium publishes AV1 in three spatial layers", w.codec("AV1", "L3T3")},
		{"Chromium publishes H.264", w.codec("H264", "")},
		{"the page obeys its content security policy", w.policy},
		{"aiortc publishes VP8", w.aiortc("VP8")},
		{"aiortc publishes H.264", w.aiortc("H264")},
	} {
		// Each goes on from what those before it have left.
		if !t.Run(step.name, func(t *testing.T) {
			w.t = t
			bounded(t, 3*time.Minute, step.do)
		}) {
			t.FailNow()
		}
	}
}

// aiortc lets another implementation of WebRTC publish, and end its session.
func (w *publishWorld) aiortc(codec string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := drain(ctx, w.masks); err != nil { // of earlier publishers
			return err
		}
		// Debian's own, which has its packages.
		p := harness.Start(w.t, "aiortc", "/usr/bin/python3", "publish.py", w.whip, token, codec)
		// Its reports tell when a frame was sent, which is some time after another one's capture.
		if err := w.masksBy(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		p.End()
		return w.down(ctx, hasEnded)
	}
}

// shown is what the page says of itself.
type shown struct{ State, Title, Text, Frames string }

const showing = `({state: document.body?.dataset.state, frames: document.body?.dataset.frames,
  title: document.getElementById("veil-title")?.textContent, text: document.getElementById("veil-text")?.textContent})`

func until(ctx context.Context, p *browser.Page, want string, ok func(shown) bool) error {
	for {
		var s shown
		if err := p.Evaluate(ctx, showing, &s); err != nil {
			return err
		}
		if ok(s) {
			return nil
		}
		if err := harness.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: the page is %+v, wanted %s", err, s, want)
		}
	}
}

func titled(ctx context.Context, p *browser.Page, title string) error {
	return until(ctx, p, title, func(s shown) bool { return s.Title == title })
}

func live(ctx context.Context, p *browser.Page) error {
	return until(ctx, p, "pictures being sent", func(s shown) bool { return s.State == "live" && len(s.Frames) >= 2 })
}

func do(ctx context.Context, p *browser.Page, script string) error {
	return p.Evaluate(ctx, "(() => { "+script+"; return true; })()", new(bool))
}

const pressStart = `document.getElementById("toggle").click()`

func enter(value string) string {
	return fmt.Sprintf(`document.getElementById("token").value = %q; document.getElementById("token-form").requestSubmit()`, value)
}

func (w *publishWorld) open(ctx context.Context) (*browser.Page, error) {
	p, err := w.chromium.Open(ctx, browser.Tab{URL: w.url, Theme: "light", Width: 1000, Height: 700, Scale: 1})
	if err != nil {
		return nil, err
	}
	return p, titled(ctx, p, "Not sending")
}

func (w *publishWorld) noToken(ctx context.Context) (err error) {
	if w.page, err = w.open(ctx); err != nil {
		return err
	}
	if err := do(ctx, w.page, pressStart); err != nil {
		return err
	}
	return titled(ctx, w.page, "A token is needed")
}

func (w *publishWorld) wrongToken(ctx context.Context) error {
	if err := do(ctx, w.page, enter("wrong-0123456789abcdef")); err != nil {
		return err
	}
	return titled(ctx, w.page, "That token is wrong")
}

func (w *publishWorld) rightToken(ctx context.Context) error {
	if err := do(ctx, w.page, enter(token)); err != nil {
		return err
	}
	return live(ctx, w.page)
}

// masksArrive waits for a second of masks by the browser's clock.
func (w *publishWorld) masksArrive(ctx context.Context) error { return w.masksBy(ctx, 0) }

// masksBy waits for a second of masks by a clock that may be so much early.
func (w *publishWorld) masksBy(ctx context.Context, early time.Duration) error {
	return w.second(ctx, early, func(m *segdv1.MaskFrame) error {
		if m.GetCamera() != camera || m.GetWidth() < 160 || m.GetHeight() < 120 {
			return fmt.Errorf("mask of %s, %d×%d", m.GetCamera(), m.GetWidth(), m.GetHeight())
		}
		return nil
	})
}

func (w *publishWorld) busy(ctx context.Context) (err error) {
	png, err := w.page.Capture(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.picture, png, 0o644); err != nil {
		return err
	}
	if w.rival, err = w.open(ctx); err != nil {
		return err
	}
	if err := do(ctx, w.rival, pressStart); err != nil {
		return err
	}
	if err := titled(ctx, w.rival, "A token is needed"); err != nil {
		return err
	}
	if err := do(ctx, w.rival, enter(token)); err != nil {
		return err
	}
	if err := titled(ctx, w.rival, "The camera is busy"); err != nil {
		return err
	}
	return live(ctx, w.page)
}

func (w *publishWorld) restart(ctx context.Context) error {
	w.segd.End()
	if err := w.segd.Start(ctx); err != nil {
		return err
	}
	if err := drain(ctx, w.masks); err != nil { // masks of before
		return err
	}
	if err := w.masksArrive(ctx); err != nil {
		return err
	}
	return live(ctx, w.page)
}

const hasEnded = "the publisher has ended"

func (w *publishWorld) stop(ctx context.Context) error {
	if err := do(ctx, w.page, pressStart); err != nil {
		return err
	}
	if err := w.down(ctx, hasEnded); err != nil {
		return err
	}
	return titled(ctx, w.page, "Not sending")
}

func (w *publishWorld) rivalPublishes(ctx context.Context) error {
	if err := do(ctx, w.rival, pressStart); err != nil {
		return err
	}
	return live(ctx, w.rival)
}

func (w *publishWorld) leave(ctx context.Context) error {
	if err := do(ctx, w.rival, `setTimeout(() => { location.href = "about:blank"; })`); err != nil {
		return err
	}
	return w.down(ctx, hasEnded)
}

// preferCodec makes the page offer one codec only, and send it in a scalability mode.
const preferCodec = `
const add = RTCPeerConnection.prototype.addTransceiver;
RTCPeerConnection.prototype.addTransceiver = function (...args) {
  if (%[2]q) {
    args[1] = { ...args[1], sendEncodings: [{ scalabilityMode: %[2]q }] };
    delete MediaStreamTrack.prototype.contentHint; // Chromium encodes no details in layers
  }
  const t = add.apply(this, args);
  t.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter((c) => c.mimeType === "video/%[1]s"));
  return t;
}`

func (w *publishWorld) codec(name, layers string) func(context.Context) error {
	return func(ctx context.Context) error {
		p, err := w.open(ctx)
		if err != nil {
			return err
		}
		for _, script := range []string{fmt.Sprintf(preferCodec, name, layers), enter(token)} {
			if err := do(ctx, p, script); err != nil {
				return err
			}
		}
		if err := live(ctx, p); err != nil {
			return err
		}
		if err := drain(ctx, w.masks); err != nil { // masks of earlier publishers
			return err
		}
		if err := w.masksArrive(ctx); err != nil {
			return err
		}
		if err := w.sameSize(ctx); err != nil {
			return err
		}
		if err := do(ctx, p, pressStart); err != nil {
			return err
		}
		return w.down(ctx, hasEnded)
	}
}

// sameSize takes masks and sees that their size stays, but for what the browser makes of its network.
func (w *publishWorld) sameSize(ctx context.Context) error {
	const masks, most = 40, 4
	var sizes []string
	for range masks {
		m, err := w.mask(ctx)
		if err != nil {
			return err
		}
		if s := fmt.Sprintf("%d×%d", m.GetWidth(), m.GetHeight()); len(sizes) == 0 || sizes[len(sizes)-1] != s {
			sizes = append(sizes, s)
		}
	}
	if len(sizes) > most {
		return fmt.Errorf("%d masks were of %v", masks, sizes)
	}
	return nil
}

func (w *publishWorld) policy(context.Context) error {
	for _, fault := range w.chromium.Faults() {
		for _, breach := range []string{"Content Security Policy", "Permissions policy", "exceptionDetails"} {
			if strings.Contains(fault, breach) {
				return errors.New(fault)
			}
		}
	}
	return nil
}
