package whip

import (
	"strings"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/webrtc/v3"

	"github.com/segd/segd/ingest/codec"
)

const (
	// askEvery is how often missing packets are asked for, and askTimes how many
	// times each: pion's own 100 ms would cost a lost packet 50 ms more.
	askEvery = 50 * time.Millisecond
	askTimes = 8

	// replayWindow is how far behind the newest an SRTP packet may be: a
	// retransmission of a lost one must pass, which pion's 64 would refuse.
	replayWindow = 2 * holdPackets
)

// videoCodecs are what publishers may send, in the order in which a publisher
// without a wish of its own gets them: cheap to decode first. The payload types are
// only ours; those of the offer are used.
var videoCodecs = []struct {
	mime string
	id   codec.ID
	fmtp []string
}{
	// The packetization mode counts in matching offers, and so does the profile, but
	// for its level. FFmpeg decodes them all.
	{webrtc.MimeTypeH264, codec.H264, h264Formats("42e0", "4200", "4d00", "6400", "640c")},
	{webrtc.MimeTypeVP8, codec.VP8, []string{""}},
	{webrtc.MimeTypeVP9, codec.VP9, []string{"profile-id=0"}},
	{webrtc.MimeTypeAV1, codec.AV1, []string{""}},
	{webrtc.MimeTypeH265, codec.H265, []string{""}},
}

func h264Formats(profiles ...string) []string {
	var out []string
	for _, p := range profiles {
		for _, mode := range []string{"1", "0"} {
			out = append(out, "level-asymmetry-allowed=1;packetization-mode="+mode+";profile-level-id="+p+"1f")
		}
	}
	return out
}

const acceptedCodecs = "H.264, VP8, VP9, AV1 and H.265"

// codecOf returns which codec a MIME type names; 0: none that is accepted.
func codecOf(mime string) codec.ID {
	for _, c := range videoCodecs {
		if strings.EqualFold(c.mime, mime) {
			return c.id
		}
	}
	return 0
}

// mediaEngine knows what may be sent. Of audio it takes Opus, only to keep
// publishers happy that cannot do without: it is thrown away. Retransmissions come
// in the stream itself (no RTX), which needs no second SSRC.
func mediaEngine() (*webrtc.MediaEngine, error) {
	m := new(webrtc.MediaEngine)
	feedback := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}}
	payload := webrtc.PayloadType(40) // below the dynamic types, so that none of an offer's is taken for ours
	for _, c := range videoCodecs {
		for _, fmtp := range c.fmtp {
			err := m.RegisterCodec(webrtc.RTPCodecParameters{
				RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: c.mime, ClockRate: 90000, SDPFmtpLine: fmtp, RTCPFeedback: feedback},
				PayloadType:        payload,
			}, webrtc.RTPCodecTypeVideo)
			if err != nil {
				return nil, err
			}
			payload++
		}
	}
	return m, m.RegisterCodec(webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2},
		PayloadType:        payload,
	}, webrtc.RTPCodecTypeAudio)
}

// interceptors ask for lost packets, send receiver reports, and tell the sender
// what arrives when, by which it finds its bit rate.
func interceptors(m *webrtc.MediaEngine) (*interceptor.Registry, error) {
	r := new(interceptor.Registry)
	asker, err := nack.NewGeneratorInterceptor(nack.GeneratorInterval(askEvery), nack.GeneratorMaxNacksPerPacket(askTimes))
	if err != nil {
		return nil, err
	}
	m.RegisterFeedback(webrtc.RTCPFeedback{Type: "nack"}, webrtc.RTPCodecTypeVideo)
	m.RegisterFeedback(webrtc.RTCPFeedback{Type: "nack", Parameter: "pli"}, webrtc.RTPCodecTypeVideo)
	r.Add(asker)
	reporter, err := report.NewReceiverInterceptor()
	if err != nil {
		return nil, err
	}
	r.Add(reporter)
	return r, webrtc.ConfigureTWCCSender(m, r)
}
