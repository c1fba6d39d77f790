package whip

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/outputs/restream"
)

// show publishes numbered pictures of camera a until the test ends.
func show(t *testing.T, streams *restream.Streams) {
	t.Helper()
	stop := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			streams.Publish(&segdv1.MaskFrame{
				Camera: "a", Sequence: uint64(n), PtsNs: int64(n) * int64(20*time.Millisecond), CaptureTime: timestamppb.Now(),
				Width: width, Height: height, PixelAspect: 1,
			}, func() []byte { return numbered(n % (1 << numberBits)) })
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		showing.Wait()
	})
}

// onlooker watches by WHEP.
type onlooker struct {
	t        *testing.T
	pc       *webrtc.PeerConnection
	location string
	pictures chan seenPicture
}

// seenPicture is one that an onlooker saw.
type seenPicture struct {
	number int
	key    bool
}

func look(t *testing.T, base, path string, overTCP, audio bool) *onlooker {
	t.Helper()
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	var set webrtc.SettingEngine
	set.SetIncludeLoopbackCandidate(true)
	set.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeTCP4})
	media := new(webrtc.MediaEngine)
	check(media.RegisterDefaultCodecs())
	pc, err := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithSettingEngine(set)).NewPeerConnection(webrtc.Configuration{})
	check(err)
	o := &onlooker{t: t, pc: pc, pictures: make(chan seenPicture, 10000)}
	receive := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
	_, err = pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, receive)
	check(err)
	if audio {
		_, err = pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio, receive)
		check(err)
	}
	var reading sync.WaitGroup
	pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		reading.Go(func() { o.read(track) })
	})
	t.Cleanup(func() {
		check(pc.GracefulClose())
		reading.Wait()
	})
	offer, err := pc.CreateOffer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(pc)
	check(pc.SetLocalDescription(offer))
	<-gathered
	resp, answer := ask(t, http.MethodPost, base+path, typeSDP, pc.LocalDescription().SDP)
	require.Equal(t, http.StatusCreated, resp.StatusCode, "%s", answer)
	o.location = resp.Header.Get("Location")
	if overTCP {
		answer = without(answer, " udp ")
	}
	check(pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	return o
}

// without is a session description without the candidates that have word in them.
func without(sdp, word string) string {
	var kept []string
	for line := range strings.Lines(sdp) {
		if !strings.HasPrefix(line, "a=candidate") || !strings.Contains(line, word) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// read decodes what comes, from a key frame on.
func (o *onlooker) read(track *webrtc.TrackRemote) {
	decoder, err := codec.NewDecoder(codec.H264)
	if err != nil {
		o.t.Error(err)
		return
	}
	defer decoder.Close()
	var packet codecs.H264Packet
	var unit []byte
	for {
		p, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		part, err := packet.Unmarshal(p.Payload)
		if err != nil {
			o.t.Errorf("packet: %v", err)
		}
		unit = append(unit, part...)
		if !p.Marker {
			continue
		}
		if err := decoder.Decode(unit, 0, func(picture *codec.Picture) {
			f := &ingest.Frame{Width: picture.Width, Height: picture.Height, Pix: make([]byte, 3*picture.Width*picture.Height)}
			if err := picture.BGR(f.Pix); err != nil {
				o.t.Error(err)
			}
			o.pictures <- seenPicture{number(f), picture.Key}
		}); err != nil {
			o.t.Errorf("decoding: %v", err)
		}
		unit = unit[:0]
	}
}

// seen waits for n pictures that follow one another, and tells how many of them are key frames.
func (o *onlooker) seen(n int) (keys int) {
	o.t.Helper()
	last := -1
	for range n {
		select {
		case got := <-o.pictures:
			if last >= 0 && got.number != last+1 {
				o.t.Errorf("picture %d after %d", got.number, last)
			}
			if last = got.number; got.key {
				keys++
			}
		case <-time.After(patience):
			o.t.Fatal("no picture came")
		}
	}
	return keys
}

// A client that offers to receive video gets a camera's, over UDP or TCP, with audio asked for or not, until they or the server
// end it.
func TestWatch(t *testing.T) {
	streams := restream.New(restream.Config{})
	defer streams.Close()
	streams.Cameras([]string{"a"})
	s, base := serve(t, Config{Streams: streams})
	show(t, streams)
	watching := func(n int) {
		t.Helper()
		eventually(t, "the viewers", func() bool { return streams.Stats().Viewers[restream.WHEPProtocol] == n })
	}
	udp := look(t, base, "/whep/a", false, true)
	udp.seen(10)
	tcp := look(t, base, "/whep/a/overlay", true, false)
	tcp.seen(10)
	watching(2)
	if !strings.HasPrefix(udp.location, "/whep/a/") || !strings.HasPrefix(tcp.location, "/whep/a/") {
		t.Errorf("Location: %s, %s", udp.location, tcp.location)
	}
	keys := 0
	for range 20 {
		for _, receiver := range udp.pc.GetReceivers() {
			if track := receiver.Track(); track != nil && track.Kind() == webrtc.RTPCodecTypeVideo {
				assert.NoError(t, udp.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}}))
			}
		}
		keys += udp.seen(10)
	}
	if keys < 4 { // without being asked there is one in 100 pictures
		t.Errorf("%d key frames in 200 pictures, though each 10th was followed by asking for one", keys)
	}

	if resp, body := ask(t, http.MethodDelete, base+strings.Replace(udp.location, "/whep/a/", "/whep/b/", 1), "", ""); resp.StatusCode != 404 {
		t.Errorf("another camera's session: %d %s", resp.StatusCode, body)
	}
	if resp, body := ask(t, http.MethodDelete, base+udp.location, "", ""); resp.StatusCode != 200 {
		t.Errorf("DELETE: %d %s", resp.StatusCode, body)
	}
	watching(1)
	if resp, _ := ask(t, http.MethodDelete, base+udp.location, "", ""); resp.StatusCode != 404 {
		t.Errorf("DELETE of what has ended: %d", resp.StatusCode)
	}
	assert.NoError(t, tcp.pc.Close())
	watching(0)

	look(t, base, "/whep/a", false, false).seen(1)
	streams.Cameras(nil)
	watching(0)
	streams.Cameras([]string{"a"})
	look(t, base, "/whep/a", false, false).seen(1)
	s.Close()
	watching(0)
}

// What is no offer of a viewer's, or for what there is not, is answered with what would be accepted; no viewer is counted for it.
func TestWatchBadInput(t *testing.T) {
	t.Parallel()
	streams := restream.New(restream.Config{Viewers: 1})
	defer streams.Close()
	streams.Cameras([]string{"a"})
	_, base := serve(t, Config{Streams: streams, ConnectTimeout: time.Hour})
	offer := strings.NewReplacer("sendonly", "recvonly", "VP8/90000", "H264/90000").Replace(plainOffer)
	for _, tc := range []struct {
		name, method, path, contentType, body string
		status                                int
		words                                 string
	}{
		{"no such camera", "POST", "/whep/b", typeSDP, offer, 404, `accepts CAMERA and CAMERA/overlay, of the cameras [\"a\"]`},
		{"no such stream", "POST", "/whep/a/masks", typeSDP, offer, 404, "no such session"},
		{"GET", "GET", "/whep/a", "", "", 405, "POST, OPTIONS"},
		{"JSON", "POST", "/whep/a", "application/json", "{}", 415, "application/sdp"},
		{"garbage", "POST", "/whep/a", typeSDP, "\x00\xffhello", 400, "SDP"},
		{"sends", "POST", "/whep/a", typeSDP, strings.ReplaceAll(offer, "recvonly", "sendonly"), 422, "the video is sendonly; accepts recvonly"},
		{"no H.264", "POST", "/whep/a", typeSDP, strings.ReplaceAll(offer, "H264", "VP8"), 422, "the video is in VP8; accepts H.264"},
		{"bad fingerprint", "POST", "/whep/a", typeSDP, strings.ReplaceAll(offer, "sha-256 0F", "sha-256\r\na=x:"), 422, "offer refused"},
		{"OPTIONS", "OPTIONS", "/whep/a/overlay", "", "", 204, ""},
		{"one that is accepted", "POST", "/whep/a/overlay", typeSDP, offer, 201, "a=sendonly"},
		{"one too many", "POST", "/whep/a", typeSDP, offer, 503, "too many viewers: all streams together have their limit of 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := ask(t, tc.method, base+tc.path, tc.contentType, tc.body)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.words) {
				t.Errorf("%d %s; want %d with %q", resp.StatusCode, body, tc.status, tc.words)
			}
			if tc.status == 503 && resp.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		})
	}
	if got := streams.Stats(); got.Viewers[restream.WHEPProtocol] != 1 || got.Encoded != 0 {
		t.Errorf("%+v, want one that has not connected", got)
	}
}

// Who does not connect in time makes room for others.
func TestWatchTooLate(t *testing.T) {
	t.Parallel()
	streams := restream.New(restream.Config{})
	defer streams.Close()
	streams.Cameras([]string{"a"})
	_, base := serve(t, Config{Streams: streams, ConnectTimeout: 10 * time.Millisecond})
	offer := strings.NewReplacer("sendonly", "recvonly", "VP8/90000", "H264/90000").Replace(plainOffer)
	if resp, body := ask(t, "POST", base+"/whep/a", typeSDP, offer); resp.StatusCode != 201 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	eventually(t, "its place is free", func() bool { return streams.Stats().Viewers[restream.WHEPProtocol] == 0 })
}
