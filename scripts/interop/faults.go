package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/netfault"
	"github.com/segd/segd/scripts/process"
	"github.com/segd/segd/scripts/steps"
)

const (
	faultCamera = "faulty"
	user        = "anna"
	password    = "right-password"
	// inFlight is how long frames of before a fault may still be on their way.
	inFlight = 300 * time.Millisecond
)

// faultWorld is a segd whose camera, FFmpeg by way of the relay, with sound, is
// reached through a network that can be made to fail.
type faultWorld struct {
	segd, dir      string
	stdout, said   io.Writer
	ffmpeg, daemon *process.Process
	relay          *relay
	relayAddr      string
	network        *netfault.Proxy
	page           string
	conn           *nats.Conn
	masks, events  *nats.Subscription
	before         held
	reconnects     int // that there must have been
}

// held is what segd holds, and how often it reconnected, by its metrics.
type held struct{ goroutines, files, reconnects int }

func (w *faultWorld) steps() []steps.Step {
	recovers := func(name string, fault func(context.Context) (time.Time, error)) steps.Step {
		return steps.Step{Name: name + fmt.Sprintf(": masks within %v of its being well", found), Do: func(ctx context.Context) error {
			return w.recovers(ctx, fault)
		}}
	}
	return []steps.Step{
		{Name: "FFmpeg publishes video and sound, and masks come", Do: w.begin},
		recovers("connections are cut", w.cut),
		recovers("connections are half open", w.halfOpen),
		recovers("everything is silent for 7 s", w.silent),
		recovers("bytes are corrupted", w.corrupt),
		recovers("the video stops while the sound goes on", w.mute),
		recovers("the publisher ends and comes back with another size", w.resize),
		{Name: "each fault was counted, and nothing stays of them", Do: w.counted},
	}
}

func (w *faultWorld) end() {
	if w.conn != nil {
		w.conn.Close()
	}
	for _, p := range []*process.Process{w.ffmpeg, w.daemon} {
		if p != nil {
			p.End()
		}
	}
	if w.network != nil {
		w.network.Close()
	}
	if w.relay != nil {
		w.relay.end()
	}
}

func (w *faultWorld) publish(ctx context.Context, size string) (err error) {
	w.ffmpeg, err = process.Run(ctx, w.said, "ffmpeg", "-v", "error", "-nostdin", "-re",
		"-f", "lavfi", "-i", "testsrc2=size="+size+":rate=25", "-f", "lavfi", "-i", "sine",
		"-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "12", "-c:a", "aac",
		"-f", "rtsp", "-rtsp_transport", "tcp", "rtsp://"+w.relayAddr+"/cam")
	if err != nil {
		return err
	}
	for !w.relay.has("/cam") {
		select {
		case <-w.ffmpeg.Exited:
			return errors.New("ffmpeg has ended; -v shows what it says")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (w *faultWorld) begin(ctx context.Context) error {
	addrs, err := process.FreeAddrs(ctx, 3)
	if err != nil {
		return err
	}
	w.relayAddr = addrs[0]
	if w.relay, err = startRelay(w.relayAddr); err != nil {
		return err
	}
	w.relay.lock(user, password)
	if w.network, err = netfault.New(w.relayAddr); err != nil {
		return err
	}
	if err := w.publish(ctx, "640x480"); err != nil {
		return err
	}
	w.page = "http://" + addrs[1]
	config := filepath.Join(w.dir, "faults.yaml")
	text := fmt.Sprintf("http: {addr: '%s'}\nnats: {addr: '%s'}\nsuperpixels: 100\nmodel: {short_side: 64}\ncameras:\n  - {name: %s, url: 'rtsp://%s:%s@%s/cam', transport: tcp}\n",
		addrs[1], addrs[2], faultCamera, user, password, w.network.Addr())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	if w.daemon, err = process.Run(ctx, w.said, w.segd, "run", "-c", config); err != nil {
		return err
	}
	if w.conn, err = connect(ctx, "nats://"+addrs[2]); err != nil {
		return err
	}
	if w.masks, err = w.conn.SubscribeSync("segd.v1.home." + faultCamera + ".mask"); err != nil {
		return err
	}
	if w.events, err = w.conn.SubscribeSync("segd.v1.home." + faultCamera + ".event"); err != nil {
		return err
	}
	// Long enough that it is known how often pictures come.
	for range 100 {
		if _, err := w.masks.NextMsgWithContext(ctx); err != nil {
			return err
		}
	}
	w.before, err = w.look(ctx)
	return err
}

// recovers lets a fault happen and then come to its end, at the time that fault
// returns, and waits for the first mask after that.
func (w *faultWorld) recovers(ctx context.Context, fault func(context.Context) (time.Time, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("nothing came for a minute"))
	defer cancel()
	well, err := fault(ctx)
	if err != nil {
		return err
	}
	if err := wait(ctx, inFlight-time.Since(well)); err != nil {
		return err
	}
	if err := drainSub(ctx, w.masks); err != nil {
		return err
	}
	if _, err := w.masks.NextMsgWithContext(ctx); err != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	d := time.Since(well)
	if d > found {
		return fmt.Errorf("the first mask came %v after it was well", d.Round(time.Millisecond))
	}
	fmt.Fprintf(w.stdout, "     the first mask after %v\n", d.Round(10*time.Millisecond))
	w.reconnects++
	for range 25 { // it is well for a while
		if _, err := w.masks.NextMsgWithContext(ctx); err != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	return drainSub(ctx, w.events)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drainSub forgets what has come.
func drainSub(ctx context.Context, sub *nats.Subscription) error {
	for {
		n, _, err := sub.Pending()
		if err != nil || n == 0 {
			return err
		}
		for range n {
			if _, err := sub.NextMsgWithContext(ctx); err != nil {
				return err
			}
		}
	}
}

// down waits until the camera is down for a reason.
func (w *faultWorld) down(ctx context.Context, reason string) error {
	for {
		msg, err := w.events.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("waiting for %q: %w", reason, err)
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

func (w *faultWorld) cut(context.Context) (time.Time, error) {
	w.network.Cut()
	return time.Now(), nil
}

func (w *faultWorld) halfOpen(context.Context) (time.Time, error) {
	w.network.Freeze(false)
	return time.Now(), nil
}

// silent ends with new connections being well and those of before still silent.
func (w *faultWorld) silent(ctx context.Context) (time.Time, error) {
	w.network.Freeze(true)
	err := wait(ctx, 7*time.Second)
	w.network.Mend()
	return time.Now(), err
}

func (w *faultWorld) corrupt(context.Context) (time.Time, error) {
	w.network.Corrupt()
	return time.Now(), nil
}

func (w *faultWorld) mute(ctx context.Context) (time.Time, error) {
	w.relay.mute(true)
	err := w.down(ctx, "stalled")
	if err == nil {
		err = wait(ctx, 3*time.Second)
	}
	w.relay.mute(false)
	return time.Now(), err
}

func (w *faultWorld) resize(ctx context.Context) (time.Time, error) {
	w.ffmpeg.End()
	if err := wait(ctx, 3*time.Second); err != nil {
		return time.Time{}, err
	}
	if err := w.publish(ctx, "320x240"); err != nil {
		return time.Time{}, err
	}
	well := time.Now()
	for {
		msg, err := w.masks.NextMsgWithContext(ctx)
		if err != nil {
			return well, err
		}
		var m segdv1.MaskFrame
		if err := proto.Unmarshal(msg.Data, &m); err != nil {
			return well, err
		}
		if m.GetWidth() == 320 && m.GetHeight() == 240 {
			return well, nil
		}
	}
}

// counted compares segd's metrics with those of before the faults.
func (w *faultWorld) counted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	const noise = 5
	for {
		now, err := w.look(ctx)
		if err != nil {
			return err
		}
		if n := now.reconnects - w.before.reconnects; n < w.reconnects {
			return fmt.Errorf("%d reconnects were counted after %d faults", n, w.reconnects)
		}
		if now.goroutines <= w.before.goroutines+noise && now.files <= w.before.files+noise {
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("segd holds %+v, before the faults %+v", now, w.before)
		}
	}
}

// look reads segd's metrics.
func (w *faultWorld) look(ctx context.Context) (held, error) {
	text, err := process.Get(ctx, w.page+"/metrics")
	if err != nil {
		return held{}, err
	}
	value := func(series string) int {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, series+" "); ok {
				v, parseErr := strconv.ParseFloat(strings.TrimSpace(rest), 64)
				err = errors.Join(err, parseErr)
				return int(v)
			}
		}
		err = errors.Join(err, fmt.Errorf("no metric %s", series))
		return 0
	}
	h := held{
		goroutines: value("go_goroutines"), files: value("process_open_fds"),
		reconnects: value(`segd_ingest_reconnects_total{camera="` + faultCamera + `"}`),
	}
	return h, err
}
