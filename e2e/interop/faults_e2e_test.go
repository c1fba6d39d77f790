//go:build e2e

package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/netfault"
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
	bus
	relay   *harness.Relay
	camera  *harness.Camera
	network *netfault.Proxy
}

func TestFaults(t *testing.T) {
	w := &faultWorld{relay: harness.StartRelay(t)}
	w.relay.Lock(user, password)
	var err error
	w.network, err = netfault.New(w.relay.Addr())
	require.NoError(t, err)
	t.Cleanup(w.network.Close)
	w.camera = harness.StartCamera(t, w.relay, "cam", harness.Video{Keys: 12, Sound: true})
	s := harness.Run(t, fmt.Sprintf("superpixels: 100\nmodel: {short_side: 64}\ncameras:\n  - {name: %s, url: 'rtsp://%s:%s@%s/cam', transport: tcp, detect: {off: true}}\n",
		faultCamera, user, password, w.network.Addr()))
	w.bus = listen(t, s, faultCamera)
	// Long enough that it is known how often pictures come.
	bounded(t, 2*time.Minute, func(ctx context.Context) error {
		for range 100 {
			if _, err := w.mask(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	before := look(t, s)
	faults := 0
	for _, fault := range []struct {
		name string
		do   func(context.Context) (well time.Time, err error)
	}{
		{"connections are cut", w.cut},
		{"connections are half open", w.halfOpen},
		{"everything is silent for 7 s", w.silent},
		{"bytes are corrupted", w.corrupt},
		{"the video stops while the sound goes on", w.mute},
		{"the publisher ends and comes back with another size", w.resize},
	} {
		if !t.Run(fmt.Sprintf("%s: masks within %v of its being well", fault.name, found), func(t *testing.T) {
			faults++
			bounded(t, time.Minute, func(ctx context.Context) error { return w.recovers(ctx, t, fault.do) })
		}) {
			t.FailNow()
		}
	}
	t.Run("each fault was counted, and nothing stays of them", func(t *testing.T) {
		const noise = 5
		harness.Until(t, 30*time.Second, "what segd holds", func(context.Context) error {
			now := look(t, s)
			if n := int(now.reconnects - before.reconnects); n < faults {
				t.Fatalf("%d reconnects were counted after %d faults", n, faults)
			}
			if now.goroutines > before.goroutines+noise || now.files > before.files+noise {
				return fmt.Errorf("segd holds %+v, before the faults %+v", now, before)
			}
			return nil
		})
	})
}

// held is what segd holds, and how often it reconnected, by its metrics.
type held struct{ goroutines, files, reconnects float64 }

func look(t *testing.T, s *harness.Segd) held {
	t.Helper()
	m, err := s.Metrics(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"go_goroutines", "process_open_fds", "segd_ingest_reconnects_total"} {
		if !m.Has(name) {
			t.Fatalf("no metric %s", name)
		}
	}
	return held{m.Sum("go_goroutines"), m.Sum("process_open_fds"), m.Sum("segd_ingest_reconnects_total", "camera", faultCamera)}
}

// recovers lets a fault happen and then come to its end, at the time that fault
// returns, and waits for the first mask after that.
func (w *faultWorld) recovers(ctx context.Context, t *testing.T, fault func(context.Context) (time.Time, error)) error {
	well, err := fault(ctx)
	if err != nil {
		return err
	}
	if err := harness.Pause(ctx, inFlight-time.Since(well)); err != nil {
		return err
	}
	if err := drain(ctx, w.masks); err != nil {
		return err
	}
	if _, err := w.mask(ctx); err != nil {
		return err
	}
	d := time.Since(well)
	if d > found {
		return fmt.Errorf("the first mask came %v after it was well", d.Round(time.Millisecond))
	}
	t.Logf("the first mask after %v", d.Round(10*time.Millisecond))
	for range 25 { // it is well for a while
		if _, err := w.mask(ctx); err != nil {
			return err
		}
	}
	return drain(ctx, w.events)
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
	err := harness.Pause(ctx, 7*time.Second)
	w.network.Mend()
	return time.Now(), err
}

func (w *faultWorld) corrupt(context.Context) (time.Time, error) {
	w.network.Corrupt()
	return time.Now(), nil
}

func (w *faultWorld) mute(ctx context.Context) (time.Time, error) {
	w.relay.Mute(true)
	err := w.down(ctx, "stalled")
	if err == nil {
		err = harness.Pause(ctx, 3*time.Second)
	}
	w.relay.Mute(false)
	return time.Now(), err
}

func (w *faultWorld) resize(ctx context.Context) (time.Time, error) {
	w.camera.End()
	if err := harness.Pause(ctx, 3*time.Second); err != nil {
		return time.Time{}, err
	}
	if err := w.camera.Publish(ctx, harness.Video{Width: 320, Height: 240, Keys: 12, Sound: true}); err != nil {
		return time.Time{}, err
	}
	well := time.Now()
	for {
		m, err := w.mask(ctx)
		if err != nil || m.GetWidth() == 320 && m.GetHeight() == 240 {
			return well, err
		}
	}
}
