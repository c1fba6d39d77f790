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

type videoCodec struct {
	mime string
	id   codec.ID
	fmtp []string
}

// videoCodecs are what publishers may send, in the order in which a publisher
// without a wish of its own gets them: cheap to decode first. The payload types are
// only ours; those of the offer are used.
var videoCodecs = []videoCodec{
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

const (
	acceptedCodecs = "H.264, VP8, VP9, AV1 and H.265"
	sentCodec      = "H.264"
)

// codecOf returns which codec a MIME type names; 0: none that is accepted.
func codecOf(mime string) codec.ID {
	for _, c := range videoCodecs {
		if strings.EqualFold(c.mime, mime) {
			return c.id
		}
	}
	return 0
}

// mediaEngine knows what publishers may send. Of audio it takes Opus, only to keep
// those happy that cannot do without: it is thrown away.
func mediaEngine() (*webrtc.MediaEngine, error) {
	m, err := videoEngine(videoCodecs)
	if err != nil {
		return nil, err
	}
	return m, m.RegisterCodec(webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2},
		PayloadType:        firstPayload - 1,
	}, webrtc.RTPCodecTypeAudio)
}

// firstPayload is below the dynamic types, so that none of an offer's is taken for ours.
const firstPayload webrtc.PayloadType = 40

// videoEngine knows those codecs. Retransmissions come in the stream itself (no RTX),
// which needs no second SSRC.
func videoEngine(codecs []videoCodec) (*webrtc.MediaEngine, error) {
	m := new(webrtc.MediaEngine)
	feedback := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}}
	payload := firstPayload
	for _, c := range codecs {
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
	return m, nil
}

// interceptors ask publishers for lost packets, send receiver reports, and tell the
// sender what arrives when, by which it finds its bit rate.
func interceptors(m *webrtc.MediaEngine) (*interceptor.Registry, error) {
	r := new(interceptor.Registry)
	asker, err := nack.NewGeneratorInterceptor(nack.GeneratorInterval(askEvery), nack.GeneratorMaxNacksPerPacket(askTimes))
	if err != nil {
		return nil, err
	}
	r.Add(asker)
	reporter, err := report.NewReceiverInterceptor()
	if err != nil {
		return nil, err
	}
	r.Add(reporter)
	return r, webrtc.ConfigureTWCCSender(m, r)
}

// sentCodecs are what viewers are sent.
var sentCodecs = []videoCodec{{
	webrtc.MimeTypeH264, codec.H264, []string{"level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"},
}}

// senders send viewers lost packets again, and sender reports.
func senders() (*interceptor.Registry, error) {
	r := new(interceptor.Registry)
	answerer, err := nack.NewResponderInterceptor()
	if err != nil {
		return nil, err
	}
	r.Add(answerer)
	reporter, err := report.NewSenderInterceptor()
	if err != nil {
		return nil, err
	}
	r.Add(reporter)
	return r, nil
}
