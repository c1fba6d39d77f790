package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pion/webrtc/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// A camera is played by RTSP, as segd itself reads cameras, and by WHEP, and is encoded only while it has viewers. segd ends
// while they do.
func TestStreams(t *testing.T) {
	t.Parallel()
	const token, viewer = "operator-0123456789", "viewer-0123456789ab"
	httpAddr, natsAddr, rtspAddr := freeport.Addr(t), freeport.Addr(t), freeport.Addr(t)
	config := clitest.File(t, "segd.yaml", strings.Replace(daemontest.Quick(httpAddr, natsAddr), "http: {", "http: {token: "+token+", viewer_token: "+viewer+", ", 1)+
		"rtsp: {addr: '"+rtspAddr+"'}\nwhip: {addr: '127.0.0.1:0'}\ncameras: [{name: gate, url: '"+daemontest.Camera(t, demo.Config{}).URL()+"'}]\n")
	segd := start(t, "run", "-c", config)

	ask := func(method, path, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+httpAddr+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+viewer)
		req.Header.Set("Content-Type", "application/sdp")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, ""
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, string(b)
	}
	value := func(name string) string {
		_, text := ask(http.MethodGet, "/metrics", "")
		return daemontest.Value(text, name)
	}
	waitfor.True(t, "masks", func() bool {
		n := value(`segd_frames_total{camera="gate",outcome="published"}`)
		return n != "" && n != "0"
	})
	assert.Equal(t, "0", value("segd_stream_frames_encoded_total"), "frames are encoded for nobody")

	source, err := ingest.Open(ingest.Config{Camera: "again", URL: "rtsp://any:" + viewer + "@" + rtspAddr + "/gate/overlay"})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	frames := make(chan *ingest.Frame)
	var reading sync.WaitGroup
	reading.Go(func() {
		_ = source.Run(ctx, func(f *ingest.Frame) {
			defer f.Release()
			select {
			case frames <- f:
			case <-ctx.Done():
			}
		})
	})
	defer reading.Wait()
	defer stop()
	for range 5 {
		if f := waitfor.Next(t, "a picture by RTSP", frames); f.Width != daemontest.Width || f.Height != daemontest.Height {
			t.Errorf("%d×%d", f.Width, f.Height)
		}
	}
	assert.Equal(t, "1", value(`segd_stream_viewers{protocol="rtsp"}`), "viewers by RTSP")

	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	defer pc.GracefulClose()
	_, err = pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
	require.NoError(t, err)
	offer, err := pc.CreateOffer(nil)
	require.NoError(t, err)
	resp, answer := ask(http.MethodPost, "/whep/gate", offer.SDP)
	if resp.StatusCode != http.StatusCreated || !strings.Contains(answer, "a=sendonly") {
		t.Fatalf("%d %s", resp.StatusCode, answer)
	}
	session := resp.Header.Get("Location")
	resp, answer = ask(http.MethodPost, "/whep/yard", offer.SDP)
	assert.Equal(t, http.StatusNotFound, resp.StatusCode, "a camera that there is not %s", answer)
	if resp, answer = ask(http.MethodDelete, session, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("DELETE %s: %d %s", session, resp.StatusCode, answer)
	}
	http.DefaultClient.CloseIdleConnections()
	segd.Cancel()
	assert.NoError(t, segd.Wait(t), "run ended with")
}
