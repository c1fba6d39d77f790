package redact

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestURL(t *testing.T) {
	for _, tc := range []struct{ name, url, want string }{
		{"nothing to hide", "rtsp://192.0.2.1:554/Streaming/Channels/101", ""},
		{"harmless parameters", "rtsp://cam/realmonitor?channel=1&subtype=0", ""},
		{"of a path", "rtsp://cam/channel=1&stream=0.sdp", ""},
		{"IPv6", "rtsps://[2001:db8::1]:322/a/b", ""},
		{"a file", "file:///home/me@work/a.avi", ""},
		{"empty", "", ""},
		{"user and password", "rtsp://admin:s3cret@cam/1", "rtsp://xxxxx@cam/1"},
		{"a token for a user", "nats://s3cret@host:4222", "nats://xxxxx@host:4222"},
		{"several", "nats://s3cret@one:4222,tls://bob:s3cret@two, ws://three", "nats://xxxxx@one:4222,tls://xxxxx@two, ws://three"},
		{"no scheme", "admin:s3cret@cam/1", "xxxxx@cam/1"},
		{"@ in the password", "rtsp://admin:s3@cret@cam/1", "rtsp://xxxxx@cam/1"},
		{"/ in the password", "rtsp://admin:12/s3cret@cam/1", "rtsp://xxxxx@cam/1"},
		{"? in the password", "rtsp://admin:12?s3cret@cam/1", "rtsp://xxxxx"},
		{"& and = in the password", "rtsp://admin:s3&c=ret@cam/1", "rtsp://xxxxx@cam/1"},
		{"@ in a parameter", "rtsp://cam/user=admin&password=s3@cret", "rtsp://xxxxx"},
		{"the same encoded in a query", "http://cam/v?user=admin&password=s3%40cret", "http://cam/v?user=xxxxx&password=xxxxx"},
		{"encoded", "rtsp://admin:%73%33cret@cam/1", "rtsp://xxxxx@cam/1"},
		{"not a URL", "rtsp://admin:s3cret@%zz:99999999/1", "rtsp://xxxxx@%zz:99999999/1"},
		{"a control character", "rtsp://admin:s3\ncret@cam/1", "rtsp://xxxxx@cam/1"},
		{"query", "mjpeg+http://cam/video?token=s3cret", "mjpeg+http://cam/video?token=xxxxx"},
		{"query with some of all", "http://cam/v?user=admin&pwd=s3/cr?et&channel=2", "http://cam/v?user=xxxxx&pwd=xxxxx?xxxxx&channel=2"},
		{"query without names", "http://cam/v?s3cret", "http://cam/v?xxxxx"},
		{"base64", "http://cam/v?czNjcmV0==", "http://cam/v?xxxxx"},
		{"base64, one letter short", "http://cam/v?czNjcmV0=", "http://cam/v?xxxxx"},
		{"an encoded name", "http://cam/v?p%61ss=s3cret", "http://cam/v?xxxxx"},
		{"fragment", "http://cam/v#s3cret", "http://cam/v#xxxxx"},
		{"path", "rtsp://cam/user=admin&password=s3cret&channel=1.sdp", "rtsp://cam/user=xxxxx&password=xxxxx&channel=1.sdp"},
		{"path with _", "rtsp://cam/user=admin_password=s3cret_channel=1_stream=0.sdp?real_stream", "rtsp://cam/user=xxxxx?xxxxx"},
		{"harmless name first", "rtsp://cam/channel=1_password=s3cret", "rtsp://cam/channel=xxxxx"},
		{"; in the path", "rtsp://cam/live/1;pwd=s3cret", "rtsp://cam/live/1;pwd=xxxxx"},
		{"encoded path", "rtsp://cam/user%3Dadmin%26password%3Ds3cret", "rtsp://cam/user%3Dxxxxx%26password%3Dxxxxx"},
		{"encoded twice", "rtsp://cam/user%253Dadmin%2526password%253Ds3cret", "rtsp://cam/user%253Dxxxxx%2526password%253Dxxxxx"},
		{"user in the path", "rtsp://cam/admin:s3cret@1/main", "rtsp://xxxxx@1/main"},
		{"the same encoded", "rtsp://cam/admin%3As3cret%401", "rtsp://xxxxx%401"},
		{"a pair in the path", "rtsp://cam/admin:s3cret/main", "rtsp://cam/xxxxx/main"},
		{"in the host", "rtsp://cam&password=s3cret/main", "rtsp://cam&password=xxxxx"},
		{"one within another", "rtsp://relay/rtsp://admin:s3cret@cam/1", "rtsp://xxxxx@cam/1"},
		{"of a file's", "file://rtsp://admin:s3cret@cam/1", "file://rtsp://xxxxx@cam/1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want == "" {
				tc.want = tc.url
			}
			assert.Equal(t, tc.want, URL(tc.url), "%q becomes", tc.url)
			assert.Equal(t, tc.want, URL(tc.want), "%q becomes", tc.want)
		})
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"no URL, an address me@example.com", ""},
		{"dial tcp 192.0.2.1:554: refused", ""},
		{"see https://example.com/manual.", ""},
		{"write rtsp://USER:PASSWORD@cam:554, with % as %25", ""},
		{`Get "http://admin:s3 cr\"et@cam/v?token=s3cret": dial tcp: refused`, `Get "http://xxxxx@cam/v?token=xxxxx": dial tcp: refused`},
		{"camera (rtsp://admin:s3cret@cam/1): refused", "camera (rtsp://xxxxx@cam/1): refused"},
		{"rtsp://a/b?pwd=s3cret: gone; rtsp://admin:s3cret@cam/1 too", "rtsp://a/b?pwd=xxxxx: gone; rtsp://xxxxx@cam/1 too"},
		{`found "nats://s3cret@a:1,nats://s3cret@b" and 'ws://s3cret@c'`, `found "nats://xxxxx@a:1,nats://xxxxx@b" and 'ws://xxxxx@c'`},
	} {
		if tc.want == "" {
			tc.want = tc.text
		}
		assert.Equal(t, tc.want, Text(tc.text), "%s\nbecomes", tc.text)
	}
}

func TestError(t *testing.T) {
	plain := errors.New("refused")
	if Error(nil) != nil || Error(plain) != plain { //nolint:errorlint // the same error
		t.Error("an error without secrets does not stay what it is")
	}
	err := Error(fmt.Errorf("cam: %w", &url.Error{Op: "Get", URL: "http://a:s3cret@b/?c=s3cret", Err: io.EOF}))
	if got, want := err.Error(), `cam: Get "http://xxxxx@b/?c=xxxxx": EOF`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	assert.ErrorIs(t, err, io.EOF, "the cause is lost")
}

// places are where cameras and servers want secrets, raw and as net/url writes them.
var places = []func(secret string) string{
	func(s string) string { return "rtsp://admin:" + s + "@cam/1" },
	func(s string) string { return "nats://" + s + "@cam:4222" },
	func(s string) string { return "http://cam/v?token=" + s },
	func(s string) string { return "http://cam/v?user=admin&pwd=" + s + "&channel=1" },
	func(s string) string { return "http://cam/v?" + s },
	func(s string) string { return "http://cam/v#" + s },
	func(s string) string { return "rtsp://cam/user=admin&password=" + s + "&channel=1.sdp" },
	func(s string) string { return "rtsp://cam/user%3Dadmin%26password%3D" + s },
	func(s string) string { return "rtsp://cam/user=admin_password=" + s + "_channel=1" },
	func(s string) string { return "rtsp://cam/1;pwd=" + s },
	func(s string) string { return "rtsp://cam/admin:" + s + "@1" },
	func(s string) string { return "rtsp://cam/admin%3A" + s + "%401" },
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"s3cret", "a@b", "p/q", "p&channel=1", "q?r", "czNjcmV0==", "%40%3d", "a b", `"`, ",rtsp://", "://", "xxxxx", "\\", "\n", "USER:PASSWORD@"} {
		f.Add(s, "rtsp://cam/1")
	}
	f.Add("s3cret", "rtsp://USER:PASSWORD@cam,ws://a?b=c;d")
	f.Fuzz(func(t *testing.T, secret, any string) {
		for _, redact := range []func(string) string{URL, Text} {
			if once := redact(any); redact(once) != once {
				t.Fatalf("%q becomes %q and then %q", any, once, redact(once))
			}
		}
		if len(secret) < 6 || len(secret) > 100 || another.MatchString(secret) { // a comma and a scheme begin another URL
			return
		}
		for i, place := range places {
			for _, s := range []string{secret, url.PathEscape(secret), url.QueryEscape(secret), percent(secret)} {
				u := place(s)
				for name, got := range map[string]string{"URL": URL(u), "Text": Text(fmt.Sprintf("Get %q: refused", u))} {
					shown := strings.ReplaceAll(got, Hidden, "\x00")
					if strings.Contains(shown, s) && !strings.Contains(place("\x00"), s) { // of the place itself
						t.Fatalf("place %d, %s: %q becomes %q", i, name, u, got)
					}
				}
			}
		}
	})
}

// percent encodes every byte.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}
