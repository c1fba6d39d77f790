//go:build e2e

// Package interop lets programs that are not ours talk to segd.
//
// A headless Chromium publishes its fake camera through the page as a person would:
// without a token, with a wrong one, with the right one, beside another publisher, and
// until it stops; and aiortc after it. Another segd watches cameras of GStreamer's RTSP
// server and of FFmpeg, which publishes to a relay, and one of their cameras whose streams
// are right and not what most send. Another one watches FFmpeg through a
// network that fails in each of its ways, and must show masks within two seconds of its
// being well. A fourth one watches cameras whose packets' times are wrong, and a fifth one cameras that get RTSP and
// HTTP wrong as cameras do (oddserver.py); and one reads
// FFmpeg's files that lie on their side, are squeezed or have a cover. Masks must come out on NATS meanwhile.
package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
)

// found is within how long a camera that is back must show its first mask.
const found = 2 * time.Second

// bus is what segd says of one camera.
type bus struct{ masks, events *nats.Subscription }

func listen(t *testing.T, s *harness.Segd, camera string) bus {
	t.Helper()
	conn := harness.Connect(t, s.NATS)
	masks, err := conn.SubscribeSync("segd.v1.home." + camera + ".mask")
	require.NoError(t, err)
	events, err := conn.SubscribeSync("segd.v1.home." + camera + ".event")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	return bus{masks: masks, events: events}
}

// mask waits for the next one.
func (b bus) mask(ctx context.Context) (*segdv1.MaskFrame, error) {
	msg, err := b.masks.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for a mask: %w", why(ctx, err))
	}
	var m segdv1.MaskFrame
	return &m, bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m)
}

// down waits until the camera is down for a reason.
func (b bus) down(ctx context.Context, reason string) error {
	for {
		msg, err := b.events.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("waiting for the camera to be down, %q: %w", reason, why(ctx, err))
		}
		var e segdv1.Event
		if err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &e); err != nil {
			return err
		}
		if e.GetKind() == segdv1.EventKind_EVENT_KIND_CAMERA_DOWN && strings.Contains(e.GetMessage(), reason) {
			return nil
		}
	}
}

// drain forgets what has come on a subscription.
func drain(ctx context.Context, sub *nats.Subscription) error {
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

// second waits for a second of masks, each of which check finds well, the last of which
// knows the sender's clock, which is this machine's, and was published after its capture,
// or at most early before it.
func (b bus) second(ctx context.Context, early time.Duration, check func(*segdv1.MaskFrame) error) error {
	var m *segdv1.MaskFrame
	var err error
	for n := 1; n <= 25 || m.GetCaptureClock() != segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT; n++ {
		clock := m.GetCaptureClock()
		if m, err = b.mask(ctx); err != nil {
			return fmt.Errorf("%w, after %d masks, the last by %v", err, n-1, clock)
		}
		if err := check(m); err != nil {
			return err
		}
	}
	// How late is a matter of how busy this machine is.
	if d := m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime()); d < -early || d > 30*time.Second {
		return fmt.Errorf("published %v after its capture", d)
	}
	return nil
}

// why is err and the reason for which ctx ended, if it did.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// bounded is a part of a test that takes a few minutes at most.
func bounded(t *testing.T, limit time.Duration, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	require.NoError(t, do(ctx))
}
