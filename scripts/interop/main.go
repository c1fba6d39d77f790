// Command interop lets programs that are not ours talk to segd.
//
// It starts a segd whose camera takes publishers, to which a headless Chromium
// publishes its fake camera through the page as a person would: without a token, with
// a wrong one, with the right one, beside another publisher, and until it stops; and
// aiortc after it. Another segd watches cameras of GStreamer's RTSP server and of
// FFmpeg, which publishes to a relay. A third one watches FFmpeg through a network
// that fails in each of its ways, and must show masks within two seconds of its being
// well. Masks must come out on NATS meanwhile. At last it runs those of the tests that
// take longer here: connections that come and go, packets that are lost, clocks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/scripts/browser"
	"github.com/segd/segd/scripts/process"
	"github.com/segd/segd/scripts/steps"
)

func main() { process.Main("interop", run) }

const (
	camera = "cam"
	token  = "interop-0123456789abcdef"
)

// world is what the steps act on.
type world struct {
	start       func(context.Context) error // segd
	daemon      *process.Process
	picture     string // file to write; empty: none
	url         string // of the page
	whip        string // of the endpoint
	said        io.Writer
	masks       *nats.Subscription
	events      *nats.Subscription
	chromium    *browser.Browser
	page, rival *browser.Page
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("interop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	segd := flags.String("segd", "bin/segd", "program to test")
	chromium := flags.String("browser", "chromium", "Chromium to drive")
	timeout := flags.Duration("timeout", 40*time.Minute, "give up after this")
	cycles := flags.Int("cycles", 1000, "connections of the leak test")
	only := flags.String("only", "", "rtsp, faults, tests or publishers: only the steps of that")
	picture := flags.String("picture", "", "PNG of the page to write while it publishes")
	verbose := flags.Bool("v", false, "show what segd says")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("not done after %v", *timeout))
	defer cancel()

	dir, err := os.MkdirTemp("", "segd-interop-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	addrs, err := process.FreeAddrs(ctx, 3)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "segd.yaml")
	text := fmt.Sprintf("http: {addr: '%s'}\nnats: {addr: '%s'}\nwhip: {addr: '%s', token: %s}\nsuperpixels: 200\ncameras: [{name: %s, url: 'whip:'}]\n",
		addrs[0], addrs[1], addrs[2], token, camera)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	said := io.Discard
	if *verbose {
		said = stderr
	}
	w := &world{picture: *picture, url: "http://" + addrs[0] + "/publish/" + camera, whip: "http://" + addrs[0] + "/whip/" + camera, said: said}
	w.start = func(ctx context.Context) (err error) {
		w.daemon, err = process.Run(ctx, said, *segd, "run", "-c", config)
		return err
	}
	cameras := &rtspWorld{segd: *segd, script: "scripts/interop/rtspserver.py", dir: dir, said: said}
	defer cameras.end()
	faults := &faultWorld{segd: *segd, dir: dir, stdout: stdout, said: said}
	defer faults.end()
	parts := map[string][]steps.Step{"rtsp": cameras.steps(), "faults": faults.steps(), "tests": testSteps(*cycles)}
	if part := parts[*only]; part != nil {
		return steps.Follow(ctx, stdout, part)
	}
	if *only != "" && *only != "publishers" {
		return fmt.Errorf("-only %q; accepts rtsp, faults, tests, publishers", *only)
	}
	if err := w.start(ctx); err != nil {
		return err
	}
	defer func() { w.daemon.End() }()
	conn, err := connect(ctx, "nats://"+addrs[1])
	if err != nil {
		return err
	}
	defer conn.Close()
	if w.masks, err = conn.SubscribeSync("segd.v1.home." + camera + ".mask"); err != nil {
		return err
	}
	if w.events, err = conn.SubscribeSync("segd.v1.home." + camera + ".event"); err != nil {
		return err
	}
	w.chromium, err = browser.Start(ctx, *chromium, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	if err != nil {
		return err
	}
	defer w.chromium.End()
	all := w.steps()
	if *only == "" {
		all = append(append(append(all, parts["rtsp"]...), parts["faults"]...), parts["tests"]...)
	}
	return steps.Follow(ctx, stdout, all)
}

func (w *world) steps() []steps.Step {
	return []steps.Step{
		{Name: "Chromium without a token is asked for one", Do: w.noToken},
		{Name: "Chromium with a wrong token is told so", Do: w.wrongToken},
		{Name: "Chromium publishes with the right token", Do: w.rightToken},
		{Name: "its pictures' masks arrive on NATS, by the browser's clock", Do: w.masksArrive},
		{Name: "a second Chromium is told that the camera is busy", Do: w.busy},
		{Name: "segd is stopped and started, and Chromium publishes again by itself", Do: w.restart},
		{Name: "stopping ends it, and the camera is down", Do: w.stop},
		{Name: "the second Chromium then publishes", Do: w.second},
		{Name: "closing its page ends it", Do: w.leave},
		{Name: "Chromium publishes VP8", Do: w.codec("VP8")},
		{Name: "Chromium publishes VP9", Do: w.codec("VP9")},
		{Name: "Chromium publishes AV1", Do: w.codec("AV1")},
		{Name: "Chromium publishes H.264", Do: w.codec("H264")},
		{Name: "the page obeys its content security policy", Do: w.policy},
		{Name: "aiortc publishes VP8", Do: w.aiortc("VP8")},
		{Name: "aiortc publishes H.264", Do: w.aiortc("H264")},
	}
}

// aiortc lets another implementation of WebRTC publish, and end its session.
func (w *world) aiortc(codec string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := w.drain(ctx); err != nil { // masks of earlier publishers
			return err
		}
		// Debian's own, which has its packages.
		p, err := process.Run(ctx, w.said, "/usr/bin/python3", "scripts/interop/publish.py", w.whip, token, codec)
		if err != nil {
			return err
		}
		defer p.End()
		if err := w.masksArrive(ctx); err != nil {
			return err
		}
		p.End()
		return w.down(ctx, hasEnded)
	}
}

// connect waits for segd's NATS server.
func connect(ctx context.Context, url string) (*nats.Conn, error) {
	for {
		conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// shown is what the page says of itself.
type shown struct{ State, Title, Text, Frames string }

const look = `({state: document.body?.dataset.state, frames: document.body?.dataset.frames,
  title: document.getElementById("veil-title")?.textContent, text: document.getElementById("veil-text")?.textContent})`

func until(ctx context.Context, p *browser.Page, want string, ok func(shown) bool) error {
	var s shown
	for {
		if err := p.Evaluate(ctx, look, &s); err != nil {
			return err
		}
		if ok(s) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the page is %+v, wanted %s", context.Cause(ctx), s, want)
		case <-time.After(100 * time.Millisecond):
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
	var done bool
	return p.Evaluate(ctx, "(() => { "+script+"; return true; })()", &done)
}

const pressStart = `document.getElementById("toggle").click()`

func enter(value string) string {
	return fmt.Sprintf(`document.getElementById("token").value = %q; document.getElementById("token-form").requestSubmit()`, value)
}

func (w *world) open(ctx context.Context) (*browser.Page, error) {
	p, err := w.chromium.Open(ctx, browser.Tab{URL: w.url, Theme: "light", Width: 1000, Height: 700, Scale: 1})
	if err != nil {
		return nil, err
	}
	return p, titled(ctx, p, "Not sending")
}

func (w *world) noToken(ctx context.Context) (err error) {
	if w.page, err = w.open(ctx); err != nil {
		return err
	}
	if err := do(ctx, w.page, pressStart); err != nil {
		return err
	}
	return titled(ctx, w.page, "A token is needed")
}

func (w *world) wrongToken(ctx context.Context) error {
	if err := do(ctx, w.page, enter("wrong-0123456789abcdef")); err != nil {
		return err
	}
	return titled(ctx, w.page, "That token is wrong")
}

func (w *world) rightToken(ctx context.Context) error {
	if err := do(ctx, w.page, enter(token)); err != nil {
		return err
	}
	return live(ctx, w.page)
}

// masksArrive waits for a second of masks, the last of which knows the browser's
// clock, which is this machine's.
func (w *world) masksArrive(ctx context.Context) error {
	var m segdv1.MaskFrame
	for n := 1; n <= 25 || m.GetCaptureClock() != segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT; n++ {
		msg, err := w.masks.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("%w after %d masks, the last by %v", err, n-1, m.GetCaptureClock())
		}
		if err := proto.Unmarshal(msg.Data, &m); err != nil {
			return err
		}
		if m.GetCamera() != camera || m.GetWidth() < 160 || m.GetHeight() < 120 {
			return fmt.Errorf("mask of %s, %d×%d", m.GetCamera(), m.GetWidth(), m.GetHeight())
		}
	}
	if d := m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime()); d < 0 || d > 30*time.Second { // a busy machine is late
		return fmt.Errorf("published %v after its capture", d)
	}
	return nil
}

func (w *world) busy(ctx context.Context) (err error) {
	if w.picture != "" {
		png, err := w.page.Capture(ctx)
		if err != nil {
			return err
		}
		if err := os.WriteFile(w.picture, png, 0o644); err != nil {
			return err
		}
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

func (w *world) restart(ctx context.Context) error {
	w.daemon.End()
	if err := w.start(ctx); err != nil {
		return err
	}
	if err := w.drain(ctx); err != nil { // masks of before
		return err
	}
	if err := w.masksArrive(ctx); err != nil {
		return err
	}
	return live(ctx, w.page)
}

// down waits for the event of the camera's going down for a reason.
func (w *world) down(ctx context.Context, reason string) error {
	for {
		msg, err := w.events.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		var e segdv1.Event
		if err := proto.Unmarshal(msg.Data, &e); err != nil {
			return err
		}
		if e.GetKind() == segdv1.EventKind_EVENT_KIND_CAMERA_DOWN && strings.Contains(e.GetMessage(), reason) {
			return nil
		}
	}
}

const hasEnded = "the publisher has ended"

func (w *world) stop(ctx context.Context) error {
	if err := do(ctx, w.page, pressStart); err != nil {
		return err
	}
	if err := w.down(ctx, hasEnded); err != nil {
		return err
	}
	return titled(ctx, w.page, "Not sending")
}

func (w *world) second(ctx context.Context) error {
	if err := do(ctx, w.rival, pressStart); err != nil {
		return err
	}
	return live(ctx, w.rival)
}

func (w *world) leave(ctx context.Context) error {
	if err := do(ctx, w.rival, `setTimeout(() => { location.href = "about:blank"; })`); err != nil {
		return err
	}
	return w.down(ctx, hasEnded)
}

// preferCodec makes the page offer one codec only.
const preferCodec = `
const add = RTCPeerConnection.prototype.addTransceiver;
RTCPeerConnection.prototype.addTransceiver = function (...args) {
  const t = add.apply(this, args);
  t.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter((c) => c.mimeType === "video/%s"));
  return t;
}`

func (w *world) codec(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		p, err := w.open(ctx)
		if err != nil {
			return err
		}
		for _, script := range []string{fmt.Sprintf(preferCodec, name), enter(token)} {
			if err := do(ctx, p, script); err != nil {
				return err
			}
		}
		if err := live(ctx, p); err != nil {
			return err
		}
		if err := w.drain(ctx); err != nil { // masks of earlier publishers
			return err
		}
		if err := w.masksArrive(ctx); err != nil {
			return err
		}
		if err := do(ctx, p, pressStart); err != nil {
			return err
		}
		return w.down(ctx, hasEnded)
	}
}

// drain forgets the masks that have come.
func (w *world) drain(ctx context.Context) error {
	for {
		n, _, err := w.masks.Pending()
		if err != nil || n == 0 {
			return err
		}
		for range n {
			if _, err := w.masks.NextMsgWithContext(ctx); err != nil {
				return err
			}
		}
	}
}

func (w *world) policy(context.Context) error {
	for _, fault := range w.chromium.Faults() {
		for _, breach := range []string{"Content Security Policy", "Permissions policy", "exceptionThrown", "exceptionDetails"} {
			if strings.Contains(fault, breach) {
				return errors.New(fault)
			}
		}
	}
	return nil
}
