package whip

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

// Every codec, over UDP and TCP: the pictures come out, each once and in order,
// with the sender's clock.
func TestPublish(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  clientConfig
	}{
		{"H.264", clientConfig{codec: codec.H264}},
		{"VP8", clientConfig{codec: codec.VP8}},
		{"VP9", clientConfig{codec: codec.VP9}},
		{"AV1", clientConfig{codec: codec.AV1, every: 40 * time.Millisecond}},
		{"H.265", clientConfig{codec: codec.H265, every: 40 * time.Millisecond}},
		{"H.264 over TCP", clientConfig{codec: codec.H264, overTCP: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, base := serve(t, Config{})
			w := follow(t, s, "a", 0)
			c := publish(t, base, "a", tc.cfg)
			last := seen{Frame: &ingest.Frame{}, number: -1}
			for i := range 40 {
				f := w.next()
				if f.Width != width || f.Height != height || f.Camera != "a" || f.Seq != uint64(i) {
					t.Fatalf("frame %d: %+v", i, f.Frame)
				}
				if f.number <= last.number || i > 0 && f.PTS <= last.PTS {
					t.Fatalf("frame %d shows picture %d at %v after %d at %v", i, f.number, f.PTS, last.number, last.PTS)
				}
				last = f
			}
			eventually(t, "the sender's clock", func() bool { last = w.next(); return last.Clock == ingest.ClockSenderReport })
			if d := last.Received.Sub(last.Captured); d.Abs() > 5*time.Second {
				t.Errorf("captured %v before it was received, on one machine", d)
			}
			if c.keys.Load() == 0 {
				t.Error("no key frame was asked for, though the first was not whole")
			}
			c.stop()
			if resp, body := ask(t, http.MethodDelete, base+c.location, "", ""); resp.StatusCode != 200 {
				t.Errorf("DELETE: %d %s", resp.StatusCode, body)
			}
			assert.ErrorIs(t, w.down(2), ErrEnded, "down")
			if resp, _ := ask(t, http.MethodDelete, base+c.location, "", ""); resp.StatusCode != 404 {
				t.Errorf("DELETE of what has ended: %d", resp.StatusCode)
			}
		})
	}
}

// An offer in the form of libdatachannel's, by which OBS publishes: Opus first, then
// H.264; ICE and DTLS said once for both, and no candidates. It is answered so that
// pictures come.
func TestOfferOfOBS(t *testing.T) {
	t.Parallel()
	find := func(sdp, prefix string) string {
		for line := range strings.Lines(sdp) {
			if v, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(v)
			}
		}
		t.Fatalf("no %s in\n%s", prefix, sdp)
		return ""
	}
	offer := func(pion string) string {
		ssrc, _, _ := strings.Cut(find(pion, "a=ssrc:"), " ")
		return strings.ReplaceAll("v=0\no=rtc 1467250027 0 IN IP4 127.0.0.1\ns=-\nt=0 0\na=group:BUNDLE 0 1\na=group:LS 0 1\na=msid-semantic:WMS *\na=setup:actpass\n"+
			"a=ice-ufrag:"+find(pion, "a=ice-ufrag:")+"\na=ice-pwd:"+find(pion, "a=ice-pwd:")+"\na=ice-options:ice2,trickle\na=fingerprint:"+find(pion, "a=fingerprint:")+"\n"+
			"m=audio 9 UDP/TLS/RTP/SAVPF 111\nc=IN IP4 0.0.0.0\na=mid:0\na=sendonly\na=ssrc:1191391529 cname:obs\na=ssrc:1191391529 msid:obs obs-audio\na=msid:obs obs-audio\na=rtcp-mux\n"+
			"a=rtpmap:111 opus/48000/2\na=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1\n"+
			"m=video 9 UDP/TLS/RTP/SAVPF 102\nc=IN IP4 0.0.0.0\na=mid:1\na=sendonly\na=ssrc:"+ssrc+" cname:obs\na=ssrc:"+ssrc+" msid:obs obs-video\na=msid:obs obs-video\na=rtcp-mux\n"+
			"a=rtpmap:102 H264/90000\na=rtcp-fb:102 nack\na=rtcp-fb:102 nack pli\na=rtcp-fb:102 goog-remb\na=fmtp:102 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1\n",
			"\n", "\r\n")
	}
	// The test's own client has a video section only.
	answer := func(sdp string) string {
		head, rest, _ := strings.Cut(sdp, "m=audio")
		audio, video, ok := strings.Cut(rest, "m=video")
		if !ok || find(head, "a=group:") != "BUNDLE 0 1" || !strings.Contains(audio, "opus/48000/2") || find(video, "a=mid:") != "1" || find(video, "a=rtpmap:102 ") != "H264/90000" {
			t.Errorf("answer\n%s", sdp)
		}
		if !strings.Contains(video, "a=candidate:") { // said with the first section
			for line := range strings.Lines(audio) { // over UDP and over TCP, in any order
				if strings.HasPrefix(line, "a=candidate:") {
					video += line
				}
			}
		}
		return strings.Replace(head, "BUNDLE 0 1", "BUNDLE 0", 1) + "m=video" + strings.Replace(video, "a=mid:1", "a=mid:0", 1)
	}
	s, base := serve(t, Config{})
	w := follow(t, s, "a", 0)
	publish(t, base, "a", clientConfig{offer: offer, answer: answer})
	for range 10 {
		if f := w.next(); f.Width != width || f.Height != height {
			t.Errorf("a frame of %dx%d", f.Width, f.Height)
		}
	}
}

// Of 250 frames sent over a way that loses every fiftieth packet, also of those
// that are sent again, hardly one is missing. A try in which the machine itself
// stood still for longer than packets are waited for says nothing.
func TestLoss(t *testing.T) {
	t.Parallel()
	for range 5 {
		if lose(t) {
			return
		}
	}
	t.Fatal("this machine stood still for half a second in every try")
}

// lose is a try of TestLoss, and tells whether it counts.
func lose(t *testing.T) bool {
	const frames = 250
	s, base := serve(t, Config{})
	w := follow(t, s, "a", 0)
	c := publish(t, base, "a", clientConfig{codec: codec.VP8, loss: 0.02, limit: frames + 50, every: 12 * time.Millisecond})
	first := w.next()
	whole := map[int]bool{first.number: true}
	for n := first.number; n < frames; {
		f := w.next()
		if n = f.number; !f.Damaged {
			whole[n] = true
		}
	}
	got, want := 0, 0
	for n := first.number; n < frames; n++ {
		want++
		if whole[n] {
			got++
		}
	}
	c.stop()
	w.stop()
	c.loss.mu.Lock()
	sent, lost := c.loss.sent, c.loss.lost
	c.loss.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	waited, longest := 0, time.Duration(0)
	for _, d := range w.held {
		if d > 0 {
			waited++
		}
		longest = max(longest, d)
	}
	t.Logf("%d of %d frames whole; %d of %d packets lost on the way; %d came, %d late, %d never; %d waited, for %v at most",
		got, want, lost, sent, w.came, w.late, w.never, waited, longest.Round(time.Millisecond))
	// What was given up is so by the first packet after holdTime, of which one comes
	// every few milliseconds.
	if longest > holdTime+100*time.Millisecond {
		return false
	}
	if lost < sent/100 || lost < 15 || want < frames-100 {
		t.Fatalf("%d of %d packets lost, %d frames counted: no test", lost, sent, want)
	}
	if got*100 < want*99 {
		t.Errorf("%d of %d frames came whole, want 99 %%", got, want)
	}
	// What is told of packets adds up: those lost on the way came late, again, or never,
	// and others waited for them.
	if w.came != len(w.held) || w.late+w.never == 0 || w.late+w.never > lost+lost/2 || waited < w.late {
		t.Errorf("%d packets came, of which %d are told of", len(w.held), w.came)
	}
	return true
}

// One publisher a camera: the next is refused, or takes over.
func TestTwoPublishers(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{false, true} {
		t.Run(fmt.Sprintf("replace %v", replace), func(t *testing.T) {
			t.Parallel()
			s, base := serve(t, Config{Replace: replace})
			w := follow(t, s, "a", 0)
			first := publish(t, base, "a", clientConfig{})
			w.next()
			if !replace {
				_, _, offer := newClient(t, base, clientConfig{codec: codec.H264})
				resp, body := ask(t, http.MethodPost, base+"/whip/a", typeSDP, offer)
				if resp.StatusCode != http.StatusConflict || !strings.Contains(body, "already") {
					t.Errorf("second publisher: %d %s", resp.StatusCode, body)
				}
				w.next()
				return
			}
			publish(t, base, "a", clientConfig{codec: codec.VP8})
			assert.ErrorIs(t, w.down(2), ErrReplaced, "down")
			if resp, body := ask(t, http.MethodDelete, base+first.location, "", ""); resp.StatusCode != http.StatusConflict || !strings.Contains(body, "took over") {
				t.Errorf("the first one's session: %d %s", resp.StatusCode, body)
			}
			eventually(t, "the second publisher's pictures", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.ups == 2 && w.reconnects == 1
			})
		})
	}
}

// A publisher that goes away without a word is noticed, and the next one comes in.
func TestVanish(t *testing.T) {
	t.Parallel()
	s, base := serve(t, Config{SilenceTimeout: time.Second})
	w := follow(t, s, "a", 10*time.Minute) // no stall: the connection itself must tell
	c := publish(t, base, "a", clientConfig{})
	w.next()
	c.socket.cut.Store(true)
	assert.ErrorIs(t, w.down(2), ErrGone, "down")
	before := len(w.frames)
	publish(t, base, "a", clientConfig{})
	for range before + 3 {
		w.next()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ups != 2 || w.downs != 2 || w.reconnects != 1 {
		t.Errorf("%d ups, %d downs, %d reconnects", w.ups, w.downs, w.reconnects)
	}
}

// A publisher that lost its connection, is back and finds itself in the way, gets in
// without waiting until the server is sure that it was gone.
func TestBackAtOnce(t *testing.T) {
	t.Parallel()
	s, base := serve(t, Config{SilenceTimeout: 10 * time.Minute})
	w := follow(t, s, "a", 10*time.Minute)
	c := publish(t, base, "a", clientConfig{})
	w.next()
	_, _, offer := newClient(t, base, clientConfig{codec: codec.H264})
	if resp, _ := ask(t, http.MethodPost, base+"/whip/a", typeSDP, offer); resp.StatusCode != http.StatusConflict {
		t.Errorf("beside a publisher that sends: %d", resp.StatusCode)
	}
	c.socket.cut.Store(true)
	eventually(t, "the camera is free", func() bool {
		resp, _ := ask(t, http.MethodPost, base+"/whip/a", typeSDP, offer)
		return resp.StatusCode == http.StatusCreated
	})
	assert.ErrorIs(t, w.down(2), ErrGone, "down")
}

// A client that gets an answer and never connects does not keep the camera.
func TestNeverConnects(t *testing.T) {
	t.Parallel()
	_, base := serve(t, Config{ConnectTimeout: 50 * time.Millisecond})
	_, _, offer := newClient(t, base, clientConfig{codec: codec.H264})
	for range 3 {
		eventually(t, "the offer is accepted", func() bool {
			resp, _ := ask(t, http.MethodPost, base+"/whip/a", typeSDP, offer)
			return resp.StatusCode == http.StatusCreated
		})
	}
}

// Pictures that stop while the connection stays end the session; garbage does not
// hurt anybody else.
func TestBadPublisher(t *testing.T) {
	t.Parallel()
	s, base := serve(t, Config{Cameras: []string{"a", "b"}})
	good, bad := follow(t, s, "a", 0), follow(t, s, "b", 400*time.Millisecond)
	publish(t, base, "a", clientConfig{})
	publish(t, base, "b", clientConfig{codec: codec.VP8, spoil: func(data []byte) []byte {
		for i := range data {
			data[i] = byte(i*7 + len(data))
		}
		data[0] = 0 // says that it is a key frame
		return data
	}})
	good.next()
	assert.ErrorIs(t, bad.down(1), ingest.ErrNoPublisher, "down at first")
	eventually(t, "undecodable units are counted", func() bool { bad.mu.Lock(); defer bad.mu.Unlock(); return bad.lost > 0 })
	eventually(t, "the camera is free again", func() bool {
		d := s.Door("b")
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.current == nil
	})
	for range 20 {
		good.next()
	}
	good.mu.Lock()
	defer good.mu.Unlock()
	if good.downs != 1 { // at first
		t.Errorf("%d downs of the other camera", good.downs)
	}
}

// The server ends with a publisher connected, and a source waiting at its door.
func TestClose(t *testing.T) {
	t.Parallel()
	s, base := serve(t, Config{})
	w := follow(t, s, "a", 0)
	publish(t, base, "a", clientConfig{})
	w.next()
	s.Close()
	s.Close()
	assert.ErrorIs(t, w.down(2), ErrClosed, "down")
	_, _, offer := newClient(t, base, clientConfig{codec: codec.H264})
	if resp, _ := ask(t, http.MethodPost, base+"/whip/a", typeSDP, offer); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("offer to a closed server: %d", resp.StatusCode)
	}
	if s, err := New(Config{Addr: fmt.Sprintf("127.0.0.1:%d", s.Port())}); err != nil {
		t.Errorf("the port is still taken: %v", err)
	} else {
		s.Close()
	}
}
