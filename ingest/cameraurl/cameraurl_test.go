package cameraurl

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func network(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return u
}

func TestParse(t *testing.T) {
	for raw, tc := range map[string]struct {
		want  URL
		shown string
	}{
		"rtsp://a:b@h:1/x":               {URL{Kind: RTSP, Scheme: "rtsp"}, "rtsp://xxxxx@h:1/x"},
		"rtsps://h/x":                    {URL{Kind: RTSP, Scheme: "rtsps"}, "rtsps://h/x"},
		"mjpeg+http://a:b@h/x?q=1":       {URL{Kind: MJPEG, Scheme: "mjpeg+http"}, "mjpeg+http://xxxxx@h/x?q=xxxxx"},
		"mjpeg+https://[2001:db8::1]/x":  {URL{Kind: MJPEG, Scheme: "mjpeg+https"}, "mjpeg+https://[2001:db8::1]/x"},
		"snapshot+http://a:b@h/x?q=1":    {URL{Kind: Snapshot, Scheme: "snapshot+http"}, "snapshot+http://xxxxx@h/x?q=xxxxx"},
		"snapshot+https://h:8443/x":      {URL{Kind: Snapshot, Scheme: "snapshot+https"}, "snapshot+https://h:8443/x"},
		"whip:":                          {URL{Kind: WHIP, Scheme: "whip"}, "whip:"},
		"file:a/b.mp4":                   {URL{Kind: File, Scheme: "file", Path: "a/b.mp4"}, "a/b.mp4"},
		"file:///a.mp4":                  {URL{Kind: File, Scheme: "file", Path: "/a.mp4"}, "/a.mp4"},
		"dir:/d":                         {URL{Kind: Dir, Scheme: "dir", Path: "/d"}, "/d"},
		"clip.avi":                       {URL{Kind: File, Path: "clip.avi"}, "clip.avi"},
		"10/a.avi":                       {URL{Kind: File, Path: "10/a.avi"}, "10/a.avi"},
		"a@b/c.avi":                      {URL{Kind: File, Path: "a@b/c.avi"}, "a@b/c.avi"},
		"/clips/12:30.avi":               {URL{Kind: File, Path: "/clips/12:30.avi"}, "/clips/12:30.avi"},
		"v4l2:/dev/video0":               {URL{Kind: V4L2, Scheme: "v4l2", Path: "/dev/video0"}, "v4l2:/dev/video0"},
		"v4l2:///dev/video0":             {URL{Kind: V4L2, Scheme: "v4l2", Path: "/dev/video0"}, "v4l2:/dev/video0"},
		"v4l2:/dev/video0?size=1280x720": {URL{Kind: V4L2, Scheme: "v4l2", Path: "/dev/video0", Capture: Capture{Width: 1280, Height: 720}}, "v4l2:/dev/video0"},
		"v4l2:/dev/v4l/by-id/usb-046d_C920-video-index0?fps=15&format=mjpeg": {
			URL{Kind: V4L2, Scheme: "v4l2", Path: "/dev/v4l/by-id/usb-046d_C920-video-index0", Capture: Capture{FPS: 15, Format: "mjpeg"}}, "v4l2:/dev/v4l/by-id/usb-046d_C920-video-index0"},
	} {
		got, err := Parse(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if tc.want.Kind == RTSP || tc.want.Kind == MJPEG || tc.want.Kind == Snapshot {
			tc.want.Network = network(t, raw)
		}
		assert.Empty(t, cmp.Diff(&tc.want, got, cmp.AllowUnexported(url.Userinfo{})), "%q", raw)
		assert.Equal(t, tc.shown, got.String(), "%q is shown as %q", raw, got)
	}
}

// Passwords are taken as they are typed, but for what ends them.
func TestPasswords(t *testing.T) {
	for _, password := range []string{
		"a^b", "a{b}", "a[b]c", `a|b\c`, `a"b`, "<a>b", "a`b", "pässwörd", "密码", "a:b", "a@b", "a!$&'()*+,;=~._-b", "a%20b",
	} {
		want, _ := url.PathUnescape(password)
		for _, scheme := range []string{"rtsp", "mjpeg+https", "snapshot+http"} {
			raw := scheme + "://admin:" + password + "@192.0.2.1:8554/a?b=c"
			u, err := Parse(raw)
			if err != nil {
				t.Errorf("%s: %v", raw, err)
				continue
			}
			if got, _ := u.Network.User.Password(); got != want || u.Network.User.Username() != "admin" || u.HostPort() != "192.0.2.1:8554" || u.Network.RequestURI() != "/a?b=c" {
				t.Errorf("%s: password %q of %q at %s, %s; want %q", raw, got, u.Network.User.Username(), u.HostPort(), u.Network.RequestURI(), want)
			}
			if again, err := Parse(u.Network.String()); err != nil || again.Network.User.String() != u.Network.User.String() {
				t.Errorf("%s, read again: %v, %v", raw, again, err)
			}
			assert.NotContains(t, u.String(), password, "%s is shown as %s", raw, u)
		}
	}
	for _, raw := range []string{"rtsp://a:b c@h/x", "rtsp://a:b/c@h/x", "rtsp://a:b#c@h/x", "rtsp://a:b%c@h/x", "rtsp://h/<x>", "rtsp://[h/x"} {
		if u, err := Parse(raw); err == nil {
			t.Errorf("%s is taken as %v", raw, u)
		} else if strings.Contains(err.Error(), "b c") || strings.Contains(err.Error(), "b/c") || strings.Contains(err.Error(), "b#c") || strings.Contains(err.Error(), "b%c") {
			t.Errorf("the fault tells the password: %v", err)
		}
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]string{
		" 192.168.1.4 ": "rtsp://192.168.1.4", "cam.local:8554/x": "rtsp://cam.local:8554/x", "here.mp4": "file:here.mp4", "gone.mp4": "rtsp://gone.mp4", //nolint:gocritic // spaces are what is tried
		"rtsps://h/x": "rtsps://h/x", "http://h/x": "http://h/x", "whip:": "whip:", "v4l2:/dev/video0": "v4l2:/dev/video0", "dir:/d": "dir:/d", "": "",
	} {
		assert.Equal(t, want, Complete(text, func(name string) bool { return name == "here.mp4" }), "%q", text)
	}
}

func TestHostPort(t *testing.T) {
	for raw, want := range map[string]string{
		"rtsp://h/x": "h:554", "rtsps://h/x": "h:322", "mjpeg+http://[::1]/x": "[::1]:80", "mjpeg+https://h/x": "h:443", "snapshot+http://h/x": "h:80", "snapshot+https://h/x": "h:443", "rtsp://h:8554/": "h:8554",
	} {
		u, err := Parse(raw)
		require.NoError(t, err)
		if got := u.HostPort(); got != want || u.TLS() != strings.Contains(raw, "s:") {
			t.Errorf("%q is dialled at %s, by TLS %t; want %s", raw, got, u.TLS(), want)
		}
	}
}

func TestParseFaults(t *testing.T) {
	for raw, words := range map[string]string{
		"":                                       "missing; accepted: rtsp://host/path",
		"file:":                                  `"file:" names no path`,
		"dir://":                                 `"dir://" names no path`,
		"rtsp:///x":                              "names no host",
		"mjpeg+http:///x":                        "names no host",
		"snapshot+https:///x":                    "names no host",
		"rtsp:h/x":                               "names no host",
		"rtsp://h/x#y":                           `"rtsp://h/x#xxxxx" has a #`,
		"rtsp://h/a b":                           `"rtsp://h/a b" is not a URL`,
		"rtsp://admin:p@ss:w/ord@host:9999999/x": `"rtsp://xxxxx@host:9999999/x" is not a URL`,
		"rtsp://admin:s3#cret@host/x":            `"rtsp://xxxxx" is not a URL`,
		"ftp://h/x":                              `scheme "ftp" of "ftp://h/x"; accepted: rtsp://`,
		"http://192.168.1.4/video":               `scheme "http" of "http://192.168.1.4/video"; accepted: mjpeg+http://192.168.1.4/video if the camera sends MJPEG by it, snapshot+http://192.168.1.4/video if it sends one JPEG picture a request; else rtsp://`,
		"https://admin:s3cret@h/x?user=s3cret":   `mjpeg+https://xxxxx@h/x?user=xxxxx if`,
		"RTSP://h/x":                             `scheme "RTSP" of "RTSP://h/x"; accepted: rtsp://h/x; else rtsp://`,
		"rtsph://admin:s3cret@h:80/x":            `scheme "rtsph" of "rtsph://xxxxx@h:80/x"; accepted: rtsp://xxxxx@h:80/x with the port that the camera has for RTSP itself, since segd does not speak RTSP over HTTP; else rtsp://`,
		"rtsps+http://h/x":                       `accepted: rtsps://h/x with the port`,
		"rtsp+ws://h/x":                          `accepted: rtsp://h/x with the port`,
		"rtspt://h/x":                            `accepted: rtsp://h/x with the setting transport: tcp; else rtsp://`,
		"rtspsu://h/x":                           `accepted: rtsps://h/x with the setting transport: udp; else rtsp://`,
		"192.168.1.4":                            `"192.168.1.4" is an address and not a URL; accepted: such as rtsp://192.168.1.4/PATH, with the path`,
		"192.168.1.4/stream1":                    `such as rtsp://192.168.1.4/stream1, with`,
		"192.168.1.4:554":                        `"192.168.1.4:554" is an address`,
		"cam.local:8554/stream1":                 `such as rtsp://cam.local:8554/stream1, with`,
		"[2001:db8::1]:554/x":                    `"[2001:db8::1]:554/x" is an address`,
		"2001:db8::1":                            `"2001:db8::1" is an address`,
		"admin:s3cret@host/x":                    `"xxxxx@host/x" is an address and not a URL; accepted: such as rtsp://xxxxx@host/x,`,
		"s3cret@host:554/x":                      `"xxxxx@host:554/x" is an address`,
		"whip:door":                              "accepted: whip: alone",
		"v4l2:":                                  "is not the path of a device",
		"v4l2:video0":                            `"video0" is not the path`,
		"v4l2:/dev/video0?size=1280":             `size="1280"`,
		"v4l2:/dev/video0?size=1280x0":           `size="1280x0"`,
		"v4l2:/dev/video0?fps=fast":              `fps="fast"`,
		"v4l2:/dev/video0?fps=1&fps=2":           "fps is there 2 times",
		"v4l2:/dev/video0?colour=red":            `unknown "colour"; accepted: v4l2:`,
		"v4l2:/dev/video0?%zz":                   "invalid URL escape",
	} {
		_, err := Parse(raw)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: error %v does not say %q", raw, err, words)
		}
		if err != nil && (strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "ord@")) {
			t.Errorf("%q: error %q shows the password", raw, err)
		}
	}
}

// Whatever is typed, what comes out is whole, and a password shows neither in it nor in
// an error.
func FuzzParse(f *testing.F) {
	for _, raw := range []string{"", "a.avi", "file:a", "dir:///d", "whip:", "rtsp://u:%s@h:1/x", "rtsps://h/user=u&password=%s", "mjpeg+http://h/?token=%s", "v4l2:/dev/video0?size=1x2&fps=3", "rtsp://[::1%25eth0]/", "rtsp:%s@h"} {
		f.Add(raw, "s3cret")
	}
	f.Fuzz(func(t *testing.T, raw, password string) {
		u, err := Parse(raw)
		switch {
		case err != nil:
			if u != nil || err.Error() == "" {
				t.Fatalf("%q: %v, %v", raw, u, err)
			}
		case (u.Kind == RTSP || u.Kind == MJPEG) != (u.Network != nil):
			t.Fatalf("%q: %+v", raw, u)
		case u.Network != nil:
			if u.Network.Hostname() == "" || u.Port() == "" || u.Network.Scheme != u.Scheme {
				t.Fatalf("%q: %+v", raw, u)
			}
		case u.Kind != WHIP && u.Path == "":
			t.Fatalf("%q: %+v", raw, u)
		}
		if len(password) < 6 {
			return
		}
		with := "rtsp://someone:" + password + "@cam.example/main"
		words := "rtsp://xxxxx@cam.example/main is not a URL" // which are there anyway
		var shown string
		if u, err := Parse(with); err != nil {
			shown = strings.ReplaceAll(err.Error(), accepted+"; "+escapes, "")
		} else {
			shown = u.String()
		}
		if strings.Contains(shown, password) && !strings.Contains(words, password) {
			t.Fatalf("password %q shows: %s", password, shown)
		}
	})
}
