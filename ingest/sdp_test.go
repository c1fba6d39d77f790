package ingest

import (
	"strings"
	"testing"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/stretchr/testify/assert"
)

// Tracks that cannot be parsed, beside video that can be.
var brokenTracks = map[string]string{
	"bad rtpmap":            "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 opus/x/y/z\r\na=control:trackID=1\r\n",
	"no clock rate":         "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC\r\na=control:trackID=1\r\n",
	"no rtpmap at all":      "m=audio 0 RTP/AVP 97\r\na=control:trackID=1\r\n",
	"unknown media type":    "m=data 0 RTP/AVP 98\r\na=rtpmap:98 smart/90000\r\na=control:trackID=1\r\n",
	"another media type":    "m=image 0 RTP/AVP 98\r\na=control:trackID=1\r\n",
	"malformed fmtp":        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/16000/1\r\na=fmtp:97 config\r\na=control:trackID=1\r\n",
	"malformed config":      "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/16000/1\r\na=fmtp:97 streamtype=5;config=zz;sizelength=13\r\n",
	"bad port":              "m=audio none RTP/AVP 0\r\na=control:trackID=1\r\n",
	"a port out of range":   "m=audio 99999 RTP/AVP 0\r\n",
	"unknown protocol":      "m=application 0 RTP/XYZ 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\n",
	"another protocol":      "m=application 9 UDP/BFCP *\r\n",
	"illegal payload type":  "m=audio 0 RTP/AVP 300\r\na=rtpmap:300 PCMU/8000\r\n",
	"no payload type":       "m=audio 0 RTP/AVP\r\n",
	"a payload type's name": "m=audio 0 RTP/AVP pcmu\r\n",
	"nothing":               "m=\r\n",
	"bad lines":             "m=audio 0 RTP/AVP 0\r\nb=AS\r\nc=nothing\r\nhello\r\n",
	"video, no clock rate":  "m=video 0 RTP/AVP 97\r\na=rtpmap:97 H264\r\na=control:trackID=1\r\n",
	"video, bad port":       "m=video x RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\n",
	"bad mid":               "m=audio 0 RTP/AVP 0\r\na=mid:a-b\r\n",
	"a mid that is partial": "m=audio 0 RTP/AVP 0\r\na=mid:1\r\n",
	"back channel":          "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 PCMA\r\na=sendonly\r\n",
}

// A track that cannot be parsed, before or after the video, costs no video, which is asked
// for by its own control.
func TestBrokenTracks(t *testing.T) {
	for name, track := range brokenTracks {
		for where, sdp := range map[string]string{"before": track + oddVideo, "after": oddVideo + track} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				c := serveOdd(t, &oddCamera{sdp: oddSession + sdp})
				w := start(t, testConfig(c.url(""), "tcp"))
				w.take(3)
				_ = w.stop()
				assert.Equal(t, "/cam/trackID=7", c.asked(base.Setup)[0].URL.Path, "SETUP of")
			})
		}
	}
}

// What is kept of a description, and what is said where there is no video.
func TestOnlyVideo(t *testing.T) {
	const head = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"
	for _, tc := range []struct{ name, sdp, want, words string }{
		{"controls", "v=0\no=x\ns=\nt=\nb=AS\na=control:rtsp://h/x\na=control:*\na=group:FEC 1 2\nm=audio 0 RTP/AVP 0\na=control:a\n" +
			"m=video 0 RTP/AVP 26\nc=x\na=mid:v-1\na=control:b\n", head + "a=control:rtsp://h/x\r\nm=video 0 RTP/AVP 26\r\na=control:b\r\n", ""},
		{"two that are good", "m=video 0 RTP/AVP 26\r\na=mid:1\r\na=control:a\r\nm=video 0 RTP/AVP 26\r\na=control:b\r\n",
			head + "m=video 0 RTP/AVP 26\r\na=control:a\r\nm=video 0 RTP/AVP 26\r\na=control:b\r\n", ""},
		{"payload types", "m=video 0 RTP/AVP 300 96 x\r\na=rtpmap:96 H264/90000\r\na=control:b\r\n",
			head + "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:b\r\n", ""},
		{"none that is good", "m=video x RTP/AVP 96\r\n", head + "m=video x RTP/AVP 96\r\n", ""},
		{"back channel", "m=video 0 RTP/AVP 26\r\nm=video 0 RTP/AVP 26\r\na=sendonly\r\n", head + "m=video 0 RTP/AVP 26\r\nm=video 0 RTP/AVP 26\r\na=sendonly\r\n", ""},
		{"no video", "m=data 0 RTP/AVP 300\r\nm=audio x\r\nm=audio y\r\n", "m=data 0 RTP/AVP 300\r\nm=audio x\r\nm=audio y\r\n", "the stream has only audio, data"},
		{"nothing", "<html>", "<html>", ""},
	} {
		got, err := onlyVideo([]byte(tc.sdp))
		assert.Equal(t, tc.want, string(got), "%s: %q", tc.name, got)
		if tc.words == "" && err != nil || tc.words != "" && (err == nil || !strings.Contains(err.Error(), tc.words)) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.words)
		}
	}
}

// What there is instead of video is named, readable or not, and what is wrong with video
// that cannot be read.
func TestNoVideo(t *testing.T) {
	c := serveOdd(t, &oddCamera{sdp: oddSession + brokenTracks["bad rtpmap"] + brokenTracks["unknown media type"]})
	err := probe(t.Context(), testConfig(c.url(""), "tcp"))
	mustWrap(t, err, ErrNoVideo)
	assert.Contains(t, err.Error(), "only audio, data", "error %q", err)
	c = serveOdd(t, &oddCamera{sdp: oddSession + brokenTracks["bad rtpmap"] + brokenTracks["video, bad port"]})
	assert.ErrorContains(t, probe(t.Context(), testConfig(c.url(""), "tcp")), "invalid port")
}

// A description of very many tracks and payload types is read in parts, few times.
func TestManyTracks(t *testing.T) {
	for name, sdp := range map[string]string{
		"tracks":        "a=control:" + strings.Repeat("x", 60000) + strings.Repeat("\r\nm=video 0 RTP/AVP 99", 3000),
		"payload types": "m=video 0 RTP/AVP" + strings.Repeat(" 99", 40000),
	} {
		// Each time of reading all of it again would allocate it again.
		if r := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				_, _ = onlyVideo([]byte(sdp))
			}
		}); r.AllocedBytesPerOp() > 500*int64(len(sdp)) {
			t.Errorf("%s: %d bytes allocated for %d", name, r.AllocedBytesPerOp(), len(sdp))
		}
	}
}
