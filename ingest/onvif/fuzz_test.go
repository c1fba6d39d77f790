package onvif

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/segd/segd/ingest/onvif/onviftest"
)

// answering is a network on which everything gets one answer.
type answering struct {
	status    int
	challenge string
	body      []byte
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Www-Authenticate": {a.challenge}, "Location": {a.challenge}},
		Body:   io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// Whatever a device answers, to a probe or to any question, comes to an end, has no
// line ends in its errors, leads to no other host, and can be shown as JSON.
func FuzzAnswers(f *testing.F) {
	all := onviftest.Head + onviftest.Profiles1 + onviftest.Profiles2 +
		`<tds:GetServicesResponse><tds:Service><tds:Namespace>` + media1 + `</tds:Namespace><tds:XAddr>http://10.0.0.1:81/m</tds:XAddr></tds:Service></tds:GetServicesResponse>` +
		`<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>rtsp://u:p@10.0.0.1/a</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>` + onviftest.Tail
	f.Add(200, "", []byte(all))
	f.Add(200, "", []byte(strings.Replace(all, media1, media2, 1)))
	f.Add(401, `Digest realm="a", nonce="b", qop="auth,auth-int", algorithm=SHA-256, opaque="c"`, []byte(all))
	f.Add(500, "Basic", []byte(onviftest.Head+onviftest.NotAuthorized+onviftest.Tail))
	f.Add(302, "http://x/?password=y", []byte(onviftest.Head+onviftest.NotSupported+onviftest.Tail))
	f.Add(200, "", onviftest.Matches("", onviftest.Match("urn:uuid:1", "dn:NetworkVideoTransmitter", scopePrefix+"name/a%20b", "http://10.0.0.1/ http://[::1]/")))
	from, service := netip.MustParseAddr("192.0.2.7"), &url.URL{Scheme: "http", Host: "192.0.2.7", Path: devicePath}
	f.Fuzz(func(t *testing.T, status int, header string, body []byte) {
		list := parseMatches(body, from)
		c := newClient("192.0.2.7", "admin", "s3cr3t!")
		c.http.Transport = answering{status, header, body}
		device, err := c.inspect(t.Context(), service)
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), "s3cr3t!") && !strings.Contains(header+string(body), "s3cr3t!")) {
			t.Errorf("error %q", err)
		}
		if device != nil {
			Pick(device.Profiles, 0)
			for _, p := range device.Profiles {
				if u, err := url.Parse(p.URL); err != nil || p.URL != "" && (u.Hostname() != "192.0.2.7" || u.User != nil) {
					t.Errorf("stream at %q", p.URL)
				}
			}
		}
		for _, c := range list {
			for _, s := range c.Services {
				if u, err := url.Parse(s); err != nil || u.Hostname() != "192.0.2.7" {
					t.Errorf("service at %q", s)
				}
			}
			if !utf8.ValidString(c.Name) || len(c.Services) > maxServices {
				t.Errorf("camera %+v", c)
			}
		}
		if _, err := json.Marshal([]any{list, device}); err != nil {
			t.Error(err)
		}
	})
}
