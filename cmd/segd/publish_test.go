package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

const whipToken = "publish-0123456789abcdef"

// sendWHIP publishes moving squares to url until the test ends, and returns what
// ends the session.
func sendWHIP(t *testing.T, url string) (end func()) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	ask := func(method, url, body string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		check(err)
		req.Header.Set("Content-Type", "application/sdp")
		req.Header.Set("Authorization", "Bearer "+whipToken)
		resp, err := http.DefaultClient.Do(req)
		check(err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		check(err)
		return resp, string(b)
	}
	var set webrtc.SettingEngine
	set.SetIncludeLoopbackCandidate(true)
	media := new(webrtc.MediaEngine)
	kind := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
	check(media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: kind, PayloadType: 96}, webrtc.RTPCodecTypeVideo))
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(set), webrtc.WithMediaEngine(media)).NewPeerConnection(webrtc.Configuration{})
	check(err)
	track, err := webrtc.NewTrackLocalStaticRTP(kind, "video", "stream")
	check(err)
	_, err = pc.AddTransceiverFromTrack(track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	check(err)
	offer, err := pc.CreateOffer(nil)
	check(err)
	check(pc.SetLocalDescription(offer))
	resp, answer := ask(http.MethodPost, url, offer.SDP)
	require.Equal(t, http.StatusCreated, resp.StatusCode, "%s", answer)
	check(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))

	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		enc, err := codec.NewEncoder(codec.EncoderConfig{Codec: codec.VP8, Width: daemontest.Width, Height: daemontest.Height, FPS: daemontest.FPS})
		if err != nil {
			t.Error(err)
			return
		}
		defer enc.Close()
		pack := rtp.NewPacketizer(1200, 0, 0, &codecs.VP8Payloader{}, rtp.NewRandomSequencer(), 90000)
		tick := time.NewTicker(time.Second / daemontest.FPS)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			packets, err := enc.BGR(daemontest.Picture(n%20), true) // every frame a key frame: no viewer needs to ask for one
			if err != nil {
				t.Error(err)
				return
			}
			for _, p := range packets {
				for _, r := range pack.Packetize(p.Data, 90000/daemontest.FPS) {
					_ = track.WriteRTP(r) // fails at the end
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		_ = pc.GracefulClose()
		http.DefaultClient.CloseIdleConnections()
	})
	session := strings.TrimSuffix(url, "/whip/door") + resp.Header.Get("Location")
	return func() {
		if resp, body := ask(http.MethodDelete, session, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("DELETE: %d %s", resp.StatusCode, body)
		}
	}
}

// A camera that publishes: told to be waiting, then its masks are on NATS, then it
// is down again with the reason, and the daemon ends while the next one publishes.
func TestPublisher(t *testing.T) {
	t.Parallel()
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	config := clitest.File(t, "segd.yaml", daemontest.Quick(httpAddr, natsAddr)+
		"whip: {addr: '127.0.0.1:0', token: "+whipToken+"}\ncameras: [{name: door, url: 'whip:'}]\n")

	c := start(t, "check", "-c", config)
	if err := c.Wait(t); err != nil || !clitest.LineWith(c.Out.String(), []string{"camera door: ok", "/whip/door"}) {
		t.Errorf("check: %v\n%s", err, c.Out.String())
	}

	segd := start(t, "run", "-c", config)
	h := listen(t, natsAddr)
	waitfor.True(t, "the status of a camera without a publisher", func() (ok bool) {
		h.with(func() {
			s := h.status["door"]
			ok = s != nil && !s.Up && strings.Contains(s.Error, "nobody publishes yet")
		})
		return ok
	})
	assert.Contains(t, get(t, "http://"+httpAddr+"/publish/door"), "publish.js", "page")
	url := "http://" + httpAddr + "/whip/door"
	resp, err := http.Post(url, "application/sdp", strings.NewReader("v=0"))
	require.NoError(t, err)
	_ = resp.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode, "offer without a token")

	end := sendWHIP(t, url)
	waitfor.True(t, "masks", func() bool { return len(h.of("door")) >= 5 })
	if m := h.of("door")[4]; m.Width != daemontest.Width || m.Height != daemontest.Height {
		t.Errorf("mask of %d×%d", m.Width, m.Height)
	}
	if h.event("door", segdv1.EventKind_EVENT_KIND_CAMERA_UP) == nil {
		t.Error("no event that the camera is up")
	}
	end()
	waitfor.True(t, "the event that the publisher has ended", func() bool {
		e := h.event("door", segdv1.EventKind_EVENT_KIND_CAMERA_DOWN)
		return e != nil && strings.Contains(e.Message, "has ended")
	})
	sendWHIP(t, url)
	waitfor.True(t, "the reconnect to be counted", func() bool {
		return metric(t, httpAddr, `segd_ingest_reconnects_total{camera="door"}`) == "1"
	})
	segd.Cancel()
	assert.NoError(t, segd.Wait(t), "run ended with")
}
