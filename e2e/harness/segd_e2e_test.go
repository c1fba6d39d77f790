//go:build e2e

package harness

import (
	"fmt"
	"testing"
	"time"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
)

// Every part once: a segd that watches a camera and publishes to a NATS server.
func TestSegd(t *testing.T) {
	server := StartNATS(t, "max_payload: 8MB")
	camera := StartCamera(t, StartRelay(t), "cam", Video{Width: 320, Height: 240, Rate: 10, Sound: true})
	s := Run(t, fmt.Sprintf("nats: {url: '%s'}\nsuperpixels: 100\nmodel: {short_side: 64}\ncameras: [{name: cam, url: '%s', transport: tcp, detect: {off: true}}]\n", server.URL, camera.URL()))
	if s.NATS != server.URL {
		t.Errorf("segd publishes to %s; want %s", s.NATS, server.URL)
	}
	if err := s.Published(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	masks, err := Connect(t, server.URL).SubscribeSync("segd.v1.home.cam.mask")
	if err != nil {
		t.Fatal(err)
	}
	size := func() (w, h int32) {
		t.Helper()
		msg, err := masks.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var m segdv1.MaskFrame
		if err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m); err != nil {
			t.Fatal(err)
		}
		return m.GetWidth(), m.GetHeight()
	}
	if w, h := size(); w != 320 || h != 240 {
		t.Errorf("masks of %d×%d", w, h)
	}
	if err := camera.Publish(t.Context(), Video{Width: 160, Height: 120, Rate: 5, Encoder: "libx265"}); err != nil {
		t.Fatal(err)
	}
	for w, h := size(); w != 160 || h != 120; w, h = size() {
	}

	if err := s.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := s.Continue(); err != nil {
		t.Fatal(err)
	}
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
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Published(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
}

func TestDemo(t *testing.T) {
	s := Demo(t, "--superpixels", "100")
	if err := s.Published(t.Context(), DemoLimit); err != nil {
		t.Fatal(err)
	}
}
