package onvif

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/onvif/onviftest"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// The digest is that of ONVIF's Application Programmer's Guide, section 6.1.
func TestPasswordDigest(t *testing.T) {
	nonce, err := base64.StdEncoding.DecodeString("LKqI6G/AikKCQrN0zqZFlg==")
	require.NoError(t, err)
	if got, want := passwordDigest(nonce, "2010-09-16T07:50:45Z", "userpassword"), "tuOSpGlFlIXsozq4HFNeeGeFLEI="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	first := func(host string) []Profile {
		return []Profile{
			{Token: "Profile_1", Name: "mainStream", Encoding: "H264", Width: 2560, Height: 1440, FPS: 25, URL: "rtsp://" + host + ":554/Streaming/Profile_1?transportmode=unicast&profile=x"},
			{Token: "Profile_2&b", Name: "subStream", Encoding: "H264", Width: 640, Height: 480, FPS: 15, URL: "rtsp://" + host + ":554/Streaming/Profile_2&b?transportmode=unicast&profile=x"},
			{Token: "Profile_3", Name: "still", Encoding: "MJPEG", Error: "refuses: ter:ActionNotSupported, Optional Action Not Implemented"},
		}
	}
	second := func(host string) []Profile {
		return []Profile{
			{Token: "P1", Name: "big", Encoding: "H265", Width: 3840, Height: 2160, FPS: 29.97, URL: "rtsp://" + host + "/P1"},
			{Token: "P2", Name: "small", Encoding: "H265", Width: 704, Height: 576, FPS: 12.5, URL: "rtsp://" + host + "/P2"},
		}
	}
	for _, tc := range []struct {
		name string
		sim  *onviftest.Camera
		want func(string) []Profile
	}{
		{"open to all", &onviftest.Camera{Version: 2}, first},
		{"before GetServices", &onviftest.Camera{Version: 1}, first},
		{"Media2", &onviftest.Camera{Version: 3}, second},
		{"Media2 is promised and not there", &onviftest.Camera{Version: 2, Answers: map[string]string{
			"GetServices": `<tds:GetServicesResponse><tds:Service><tds:Namespace>` + media2 + `</tds:Namespace><tds:XAddr>http://x/2</tds:XAddr></tds:Service><tds:Service><tds:Namespace>` + media1 + `</tds:Namespace><tds:XAddr>:</tds:XAddr></tds:Service></tds:GetServicesResponse>`,
		}}, second},
		{"a user", &onviftest.Camera{Version: 2, User: "<r&d>", Password: `p<&"ä`}, first},
		{"a user, clock hours behind", &onviftest.Camera{Version: 2, User: "admin", Password: "x", Ahead: -5 * time.Hour}, first},
		{"a user, clock of 1970", &onviftest.Camera{Version: 3, User: "admin", Password: "x", Ahead: -time.Since(time.Unix(3600, 0))}, second},
		{"HTTP Digest", &onviftest.Camera{Version: 2, User: "admin", Password: "x", HTTPDigest: true}, first},
		{"HTTP Digest, even for the time", &onviftest.Camera{Version: 2, User: "admin", Password: "x", HTTPDigest: true, ShutClock: true}, first},
		{"the time is for users", &onviftest.Camera{Version: 2, User: "admin", Password: "x", ShutClock: true}, first},
		{"it believes to be 0.0.0.0", &onviftest.Camera{Version: 2, Authority: "0.0.0.0"}, first},
		{"it is behind NAT", &onviftest.Camera{Version: 3, Authority: "10.9.8.7:8899"}, second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address := tc.sim.Start(t)
			for _, given := range []string{address, "http://" + address, "http://" + address + "/onvif/device_service"} {
				d, err := Inspect(t.Context(), given, tc.sim.User, tc.sim.Password)
				require.NoError(t, err)
				for i := range d.Profiles {
					d.Profiles[i].Error = strings.TrimPrefix(d.Profiles[i].Error, "onvif: "+address+" ")
				}
				assert.Empty(t, cmp.Diff(tc.want("127.0.0.1"), d.Profiles), "%s", given)
				if n := tc.sim.Refused(); n > 0 {
					t.Errorf("%d questions with the right user were refused: %q", n, tc.sim.Asked())
				}
				assert.Equal(t, "http://"+address+"/onvif/device_service", d.Service, "service")
				if wrong := d.ClockAhead - tc.sim.Ahead.Seconds(); d.ClockKnown == tc.sim.ShutClock && !tc.sim.HTTPDigest || d.ClockKnown && (wrong < -2 || wrong > 2) {
					t.Errorf("its clock: known %v, %v s ahead; it is %v", d.ClockKnown, d.ClockAhead, tc.sim.Ahead)
				}
			}
		})
	}
}

func TestInspectRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		sim            *onviftest.Camera
		user, password string
		words          string
	}{
		{"no user", &onviftest.Camera{Version: 2, User: "admin", Password: "right"}, "", "", "wants user and password"},
		{"no user, HTTP Digest", &onviftest.Camera{Version: 2, User: "admin", Password: "right", HTTPDigest: true, ShutClock: true}, "", "", "wants user and password"},
		{"wrong password", &onviftest.Camera{Version: 2, User: "admin", Password: "right"}, "admin", "wr0ng", "refuses user and password"},
		{"wrong password, HTTP Digest", &onviftest.Camera{Version: 2, User: "admin", Password: "right", HTTPDigest: true}, "admin", "wr0ng", "refuses user and password"},
		{"wrong password, HTTP Digest even for the time", &onviftest.Camera{Version: 2, User: "admin", Password: "right", HTTPDigest: true, ShutClock: true}, "admin", "wr0ng", "refuses user and password"},
		{"wrong password, the time is for users", &onviftest.Camera{Version: 3, User: "admin", Password: "right", ShutClock: true}, "admin", "wr0ng", "refuses user and password"},
		{"wrong password, before GetServices", &onviftest.Camera{Version: 1, User: "admin", Password: "right", HTTPDigest: true}, "admin", "wr0ng", "refuses user and password"},
		{"streams for nobody", &onviftest.Camera{Version: 3, Answers: map[string]string{"GetStreamUri": onviftest.NotAuthorized}}, "admin", "wr0ng", "refuses user and password"},
		{"wrong user", &onviftest.Camera{Version: 2, User: "admin", Password: "right"}, "root", "right", "refuses user and password"},
		{"clock ahead, and wrong", &onviftest.Camera{Version: 2, User: "admin", Password: "right", Ahead: 3 * time.Hour}, "admin", "wr0ng", "its clock, which is 3h0m0s ahead"},
		{"clock that it does not tell", &onviftest.Camera{Version: 2, User: "admin", Password: "right", Ahead: time.Minute, ShutClock: true}, "admin", "right", "if they are right its clock is wrong"},
		{"profiles for nobody", &onviftest.Camera{Version: 3, Answers: map[string]string{"GetProfiles": onviftest.NotAuthorized}}, "admin", "wr0ng", "refuses user and password"},
		{"in words alone", &onviftest.Camera{Version: 2, Answers: map[string]string{"GetServices": `<SOAP-ENV:Fault><faultcode>SOAP-ENV:Client</faultcode><faultstring>Authentication failed</faultstring></SOAP-ENV:Fault>`}}, "admin", "wr0ng", "refuses user and password"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address := tc.sim.Start(t)
			_, err := Inspect(t.Context(), address, tc.user, tc.password)
			if !errors.Is(err, ErrUnauthorized) || !strings.Contains(fmt.Sprint(err), address+" ") || !strings.Contains(fmt.Sprint(err), tc.words) {
				t.Errorf("%v; want %q", err, tc.words)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "wr0ng") || strings.Contains(text, "\n") {
				t.Errorf("it says %q", text)
			}
			want := 1
			if tc.user == "" {
				want = 0
			}
			if n := tc.sim.Refused(); n != want {
				t.Errorf("it refused a user %d times, want %d: a strict camera locks the account; asked %q", n, want, tc.sim.Asked())
			}
		})
	}
}

// What is no camera, or one that means harm, is an error of one line within seconds.
func TestInspectHostile(t *testing.T) {
	t.Parallel()
	page := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "http://evil.example/?password=hunter2")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			for {
				if _, err := io.WriteString(w, strings.Repeat("<a>", 4096)); err != nil {
					return
				}
			}
		}
	}
	for _, tc := range []struct {
		name  string
		serve http.HandlerFunc
		kind  error
		words string
	}{
		{"a router's page", page(200, "text/html", "<!DOCTYPE html><html><body>Log in</body></html>"), ErrNotONVIF, `"text/html"`},
		{"not found", page(404, "text/html", "no"), ErrNotONVIF, "HTTP status 404"},
		{"empty", page(200, "", ""), ErrNotONVIF, "0 bytes"},
		{"cut off", page(200, "application/soap+xml", onviftest.Head+"<tds:GetSystemDateAndTimeResponse><tds:Sys"), ErrNotONVIF, "unexpected EOF"},
		{"garbage", page(200, "image/jpeg", "\xff\xd8\xff\x00\x01"), ErrNotONVIF, `"image/jpeg"`},
		{"another XML", page(200, "text/xml", "<rss></rss>"), ErrNotONVIF, "rss"},
		{"endless", endless(200), ErrNotONVIF, "more than 1024 KiB"},
		{"endless refusal", endless(401), ErrUnauthorized, "refuses user and password"},
		{"sends elsewhere", page(302, "", ""), ErrNotONVIF, "HTTP status 302 to http://evil.example/?password=xxxxx"},
		{"a number that is none", page(200, "application/soap+xml", onviftest.Head+"<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:UTCDateTime><tt:Date><tt:Year>soon</tt:Year></tt:Date></tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>"+onviftest.Tail), ErrNotONVIF, "soon"},
		{"no media service", page(200, "application/soap+xml", onviftest.Head+onviftest.Tail), ErrFault, "has no media service"},
		{"a challenge that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Digest realm="`)
			w.WriteHeader(http.StatusUnauthorized)
		}, ErrUnauthorized, "refuses user and password"},
		{"forbidden", page(403, "text/plain", "no"), ErrUnauthorized, "refuses user and password"},
		{"a long fault on many lines", page(500, "text/xml", onviftest.Head+"<SOAP-ENV:Fault><SOAP-ENV:Reason><SOAP-ENV:Text>a\nb"+strings.Repeat("x", 5000)+"</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>"+onviftest.Tail), ErrFault, "refuses: a bxx"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tc.serve)
			defer server.Close()
			_, err := Inspect(t.Context(), server.URL, "admin", "secret")
			text := fmt.Sprint(err)
			if !errors.Is(err, tc.kind) || !strings.Contains(text, tc.words) || len(text) > 500 || strings.ContainsAny(text, "\n\r") || strings.Contains(text, "secret") || strings.Contains(text, "hunter2") {
				t.Errorf("%q; want %v, %q", text, tc.kind, tc.words)
			}
		})
	}
}

// No server, one that is silent, and one that speaks another protocol. None
// waits for these: the clock is synctest's.
func TestInspectNoAnswer(t *testing.T) {
	for _, tc := range []struct {
		name  string
		serve func(net.Conn) // after the question's first line
		kind  error
		words string
	}{
		{"silent", func(c net.Conn) { io.Copy(io.Discard, c) }, ErrNoAnswer, "does not answer in time"},
		{"hangs up", func(net.Conn) {}, ErrNoAnswer, "does not answer: "},
		{"RTSP", func(c net.Conn) { io.WriteString(c, "RTSP/1.0 400 Bad Request\r\n\r\n") }, ErrNotONVIF, "does not speak HTTP"},
		{"trickles", func(c net.Conn) {
			for text := "HTTP/1.1 200 OK\r\n\r\n"; ; text = " " {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, ErrNoAnswer, "does not answer in time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var serving sync.WaitGroup
				c := newClient("192.0.2.7", "admin", "secret")
				c.http.Transport = bounded{&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					serving.Go(func() {
						defer theirs.Close()
						in := bufio.NewReader(theirs)
						in.ReadString('\n')
						serving.Go(func() { io.Copy(io.Discard, in) })
						tc.serve(theirs)
					})
					return ours, nil
				}}}
				began := time.Now()
				_, err := c.inspect(t.Context(), &url.URL{Scheme: "http", Host: "192.0.2.7", Path: devicePath})
				if text := fmt.Sprint(err); !errors.Is(err, tc.kind) || !strings.Contains(text, tc.words) || strings.Contains(text, "http://") {
					t.Errorf("%q; want %v, %q", text, tc.kind, tc.words)
				}
				if took := time.Since(began); took > callTimeout {
					t.Errorf("it took %v", took)
				}
				c.http.CloseIdleConnections()
				serving.Wait()
			})
		})
	}

	nobody := freeport.Addr(t)
	if _, err := Inspect(t.Context(), nobody, "admin", "secret"); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Inspect(ctx, nobody, "", "")
	assert.ErrorIs(t, err, context.Canceled, "ended")
}

func TestInspectAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "http://", "ftp://192.0.2.1/", "http://admin:hunter2@192.0.2.1/", "admin:hunter2@192.0.2.1", "192.0.2.1:port", "192.0.2.1/ x", "[::1"} {
		_, err := Inspect(t.Context(), address, "", "")
		if err == nil || !strings.Contains(err.Error(), "accepted: HOST") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for given, want := range map[string]string{
		"192.0.2.1": "http://192.0.2.1/onvif/device_service", "cam.lan:81": "http://cam.lan:81/onvif/device_service",
		"::1": "http://[::1]/onvif/device_service", "[::1]:81": "http://[::1]:81/onvif/device_service", "https://cam/x": "https://cam/x",
	} {
		if u, err := deviceURL(given); err != nil || u.String() != want {
			t.Errorf("%s: %v %v, want %s", given, u, err, want)
		}
	}
}

// A camera has the profiles of others, too many: those beyond are not asked.
func TestInspectManyProfiles(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 200 {
		fmt.Fprintf(&list, `<trt:Profiles token="Profile_%d"><tt:VideoSourceConfiguration/></trt:Profiles>`, 10+i)
	}
	sim := &onviftest.Camera{Version: 2, Answers: map[string]string{"GetProfiles": `<trt:GetProfilesResponse>` + list.String() + `</trt:GetProfilesResponse>`}}
	d, err := Inspect(t.Context(), sim.Start(t), "", "")
	if err != nil || len(d.Profiles) != 200 || d.Profiles[63].URL == "" || d.Profiles[64].URL != "" || !strings.Contains(d.Profiles[64].Error, "beyond 64") {
		t.Errorf("%+v %v", d, err)
	}
	if n := len(sim.Asked()); n != 3+maxProfiles {
		t.Errorf("asked %d times", n)
	}
}

func TestStreamURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, host, want string }{
		{"rtsp://192.0.2.1:554/a?b=c&d", "192.0.2.1", "rtsp://192.0.2.1:554/a?b=c&d"},
		{" rtsp://0.0.0.0/a\n", "cam.lan", "rtsp://cam.lan/a"},
		{"rtsp://10.0.0.5:8554/a", "203.0.113.7", "rtsp://203.0.113.7:8554/a"},
		{"rtsp://user:pass@10.0.0.5/a#x", "::1", "rtsp://[::1]/a"},
		{"rtsp://[fe80::1]:5554/", "::1", "rtsp://[::1]:5554/"},
		{"rtsps://x/a", "y", "rtsps://y/a"},
		{"http://x/a", "y", ""},
		{"rtsp:///a", "y", ""},
		{"", "y", ""},
		{"rtsp://x/a b", "y", "rtsp://y/a%20b"},
		{"rtsp://x/?a b", "y", ""},
		{"rtsp://x/?\"", "y", ""},
		{"rtsp://x/" + strings.Repeat("a", 2000), "y", ""},
	} {
		got, err := streamURL(tc.text, tc.host)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q: %q %v, want %q", tc.text, got, err, tc.want)
		}
	}
}

// What was asked is let go of: a camera has few connections.
func TestInspectEnds(t *testing.T) {
	t.Parallel()
	var open atomic.Int32
	server := httptest.NewUnstartedServer(&onviftest.Camera{Version: 2})
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	_, err := Inspect(t.Context(), server.URL, "", "")
	require.NoError(t, err)
	waitfor.True(t, "no connection to be left", func() bool { return open.Load() == 0 })
}

// failing is a network that goes away at a word.
type failing struct {
	http.RoundTripper
	at string
}

func (f failing) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(body), f.at) {
		return nil, io.ErrUnexpectedEOF
	}
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	return f.RoundTripper.RoundTrip(req)
}

// A recorder with many profiles that does not answer in time tells those it told.
func TestInspectPart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at   string
		some bool
	}{{"Profile_2", true}, {"Profile_1", false}, {"GetProfiles", false}} {
		address := (&onviftest.Camera{Version: 2}).Start(t)
		c := newClient(address, "", "")
		real := c.http.Transport
		c.http.Transport = failing{real, tc.at}
		d, err := c.inspect(t.Context(), &url.URL{Scheme: "http", Host: address, Path: devicePath})
		real.(bounded).CloseIdleConnections()
		if !tc.some {
			assert.ErrorIs(t, err, ErrNoAnswer, "%s: %+v", tc.at, d)
			continue
		}
		if err != nil || len(d.Profiles) != 3 || d.Profiles[0].URL == "" || d.Profiles[1].URL != "" || !strings.Contains(d.Profiles[1].Error, "does not answer") {
			t.Errorf("%s: %+v %v", tc.at, d, err)
		}
	}
}
