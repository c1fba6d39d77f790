//go:build e2e

package harness

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
)

// Every part once: a segd that watches a camera and publishes to a NATS server.
func TestSegd(t *testing.T) {
	server := StartNATS(t, "max_payload: 8MB")
	camera := StartCamera(t, StartRelay(t), "cam", Video{Width: 320, Height: 240, Rate: 10, Sound: true})
	s := Run(t, fmt.Sprintf("nats: {url: '%s'}\nsuperpixels: 100\nmodel: {short_side: 64}\ncameras: [{name: cam, url: '%s', transport: tcp, detect: {off: true}}]\n", server.URL, camera.URL()))
	assert.Equal(t, server.URL, s.NATS, "segd publishes to")
	require.NoError(t, s.Published(t.Context(), time.Minute))
	masks, err := Connect(t, server.URL).SubscribeSync("segd.v1.home.cam.mask")
	require.NoError(t, err)
	size := func() (w, h int32) {
		t.Helper()
		msg, err := masks.NextMsg(time.Minute)
		require.NoError(t, err)
		var m segdv1.MaskFrame
		require.NoError(t, bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m))
		return m.GetWidth(), m.GetHeight()
	}
	if w, h := size(); w != 320 || h != 240 {
		t.Errorf("masks of %d×%d", w, h)
	}
	require.NoError(t, camera.Publish(t.Context(), Video{Width: 160, Height: 120, Rate: 5, Encoder: "libx265"}))
	for w, h := size(); w != 160 || h != 120; w, h = size() {
	}

	require.NoError(t, s.Suspend())
	require.NoError(t, s.Continue())
	rss, err := s.RSS()
	if err != nil || rss < 10<<20 {
		t.Errorf("resident %d, %v", rss, err)
	}
	if n, err := s.FDs(); err != nil || n < 10 {
		t.Errorf("%d file descriptors, %v", n, err)
	}
	now, err := s.Metrics(t.Context())
	if err != nil || now.Sum("segd_ingest_reconnects_total", "camera", "cam") == 0 || now.Sum("go_goroutines") == 0 {
		t.Errorf("%v: %v", err, now)
	}

	s.End()
	require.NoError(t, s.Start(t.Context()))
	require.NoError(t, s.Published(t.Context(), time.Minute))
}

func TestDemo(t *testing.T) {
	s := Demo(t, "--superpixels", "100")
	require.NoError(t, s.Published(t.Context(), DemoLimit))
}
