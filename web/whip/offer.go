package whip

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pion/sdp/v3"

	"github.com/segd/segd/ingest/codec"
)

const (
	// maxOffer bounds an offer. Chrome's, with every codec it knows, has 7 kB.
	maxOffer = 64 << 10
	// maxFragment bounds the body of a PATCH.
	maxFragment = 16 << 10
	// maxSections bounds the media sections of an offer: one video, one audio.
	maxSections = 2
)

var (
	// errSyntax: it is not SDP.
	errSyntax = errors.New("not SDP")
	// errUnfit: it is SDP, but nothing that can be taken.
	errUnfit = errors.New("offer refused")
)

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUnfit}, args...)...)
}

// offer is what matters of an SDP offer.
type offer struct {
	text  string // without candidates
	ufrag string
}

// Which way the video of an offer goes.
const (
	sendsVideo = "sendonly"
	takesVideo = "recvonly"
)

// parseOffer looks at an offer before pion does, so that what is wrong with it
// gets words, and what is not needed goes no further.
func parseOffer(body []byte, direction string) (*offer, error) {
	var d sdp.SessionDescription
	if err := d.Unmarshal(body); err != nil {
		return nil, fmt.Errorf("%w: %w", errSyntax, err)
	}
	if len(d.MediaDescriptions) > maxSections {
		return nil, unfit("%d media sections; accepts one of video and at most one of audio", len(d.MediaDescriptions))
	}
	var video *sdp.MediaDescription
	seen := map[string]bool{}
	for _, m := range d.MediaDescriptions {
		kind := m.MediaName.Media
		if kind != "video" && kind != "audio" || seen[kind] {
			return nil, unfit("media section %q; accepts one of video and at most one of audio", clip(kind))
		}
		seen[kind] = true
		if kind == "video" {
			video = m
		}
		if _, ok := m.Attribute("mid"); !ok {
			return nil, unfit("the %s section has no a=mid", kind)
		}
		m.Attributes = slices.DeleteFunc(m.Attributes, isCandidate)
	}
	d.Attributes = slices.DeleteFunc(d.Attributes, isCandidate)
	if video == nil {
		return nil, unfit("no video section; accepts one")
	}
	if err := checkVideo(video, direction); err != nil {
		return nil, err
	}
	ufrag, err := credentials(&d, video)
	if err != nil {
		return nil, err
	}
	text, err := d.Marshal()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSyntax, err)
	}
	return &offer{text: string(text), ufrag: ufrag}, nil
}

func isCandidate(a sdp.Attribute) bool {
	return a.Key == "candidate" || a.Key == "end-of-candidates" || a.Key == "remote-candidates"
}

func checkVideo(m *sdp.MediaDescription, direction string) error {
	for _, other := range []string{sendsVideo, takesVideo, "inactive"} {
		if _, ok := m.Attribute(other); ok && other != direction {
			return unfit("the video is %s; accepts %s", other, direction)
		}
	}
	accepts := acceptedCodecs
	if direction == takesVideo {
		accepts = sentCodec
	}
	for _, several := range []string{"simulcast", "rid"} {
		if _, ok := m.Attribute(several); ok {
			return unfit("the video has a=%s; accepts a single quality, without simulcast", several)
		}
	}
	var names []string
	for _, a := range m.Attributes {
		if a.Key != "rtpmap" {
			continue
		}
		_, encoding, _ := strings.Cut(a.Value, " ")
		name, _, _ := strings.Cut(encoding, "/")
		if id := codecOf("video/" + name); id == codec.H264 || id != 0 && direction == sendsVideo {
			return nil
		}
		names = append(names, clip(name))
	}
	return unfit("the video is in %s; accepts %s", strings.Join(names[:min(len(names), 8)], ", "), accepts)
}

// credentials checks that there is what ICE and DTLS need, and returns ICE's
// user fragment.
func credentials(d *sdp.SessionDescription, m *sdp.MediaDescription) (ufrag string, err error) {
	find := func(key string) string {
		if v, ok := m.Attribute(key); ok {
			return v
		}
		v, _ := d.Attribute(key)
		return v
	}
	for _, key := range []string{"ice-ufrag", "ice-pwd", "fingerprint"} {
		if find(key) == "" {
			return "", unfit("no a=%s; accepts offers of WebRTC", key)
		}
	}
	return find("ice-ufrag"), nil
}

func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// addPublic adds to an answer the candidates by which the port of addr is reached
// at other addresses.
func addPublic(answer string, ips []string, port int) (string, error) {
	if len(ips) == 0 {
		return answer, nil
	}
	var d sdp.SessionDescription
	if err := d.UnmarshalString(answer); err != nil {
		return "", err
	}
	for _, m := range d.MediaDescriptions {
		if _, ok := m.Attribute("candidate"); !ok {
			continue
		}
		for i, ip := range ips {
			// Priorities of host candidates (RFC 8445, 5.1.2.1), UDP before TCP and both
			// below pion's own for an address of the machine.
			m.Attributes = append(m.Attributes,
				sdp.NewAttribute("candidate", fmt.Sprintf("public%du 1 udp %d %s %d typ host", i, 2113929471-i, ip, port)),
				sdp.NewAttribute("candidate", fmt.Sprintf("public%dt 1 tcp %d %s %d typ host tcptype passive", i, 1518280447-i, ip, port)))
		}
		break // the other sections are bundled with it
	}
	text, err := d.Marshal()
	return string(text), err
}

// parseFragment reads the body of a PATCH (RFC 8840, section 9) and returns the
// user fragment it is about; empty: it names none.
func parseFragment(body []byte) (ufrag string, err error) {
	for i, line := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n") {
		if line == "" {
			continue
		}
		kind, value, ok := strings.Cut(line, "=")
		if !ok || len(kind) != 1 {
			return "", fmt.Errorf("%w: line %d is %q; accepts a=…, m=…", errSyntax, i+1, clip(line))
		}
		if found, ok := strings.CutPrefix(value, "ice-ufrag:"); ok && kind == "a" {
			ufrag = found
		}
	}
	return ufrag, nil
}
