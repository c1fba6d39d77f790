package ingest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/freeport"
)

// A camera that sends segd to another host gives it neither the password nor a
// connection: a user who wants that one writes its URL.
func TestRedirect(t *testing.T) {
	basic := &gortsplib.Server{AuthMethods: []auth.VerifyMethod{auth.VerifyMethodBasic}}
	for _, tc := range []struct{ name, host, scheme string }{{"another host", "127.0.0.2", "rtsp"}, {"another scheme", "127.0.0.1", "rtsps"}} {
		t.Run(tc.name, func(t *testing.T) {
			thief := serveRawBy(t, &gortsplib.Server{AuthMethods: basic.AuthMethods, RTSPAddress: tc.host + ":0"}, h264Media())
			thief.user, thief.password = "nobody", "knows"
			cam := serveRaw(t, h264Media())
			cam.moved = map[string]string{"/cam": strings.Replace(thief.url(), "rtsp://", tc.scheme+"://you:too@", 1)}
			err := probe(t.Context(), testConfig(strings.Replace(cam.url(), "//", "//admin:s3cret@", 1), "tcp"))
			if n, got := thief.came(); n != 0 || len(got) != 0 {
				t.Errorf("the other server was dialled %d times and got %q", n, got)
			}
			mustWrap(t, err, ErrRedirected)
			for _, want := range []string{"sends segd to " + tc.scheme + "://xxxxx@" + thief.server.NetListener().Addr().String() + "/cam", "write that URL"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "too@") {
				t.Errorf("error %q shows a password", err)
			}
		})
	}
}

// Within itself a camera may send segd elsewhere, with the password, but not for ever.
func TestRedirectToItself(t *testing.T) {
	cam := serveRaw(t, h264Media())
	cam.user, cam.password = "admin", "s3cret"
	cam.moved = map[string]string{"/old": cam.url(), "/a": strings.TrimSuffix(cam.url(), "cam") + "b", "/b": strings.TrimSuffix(cam.url(), "cam") + "a"}
	address := strings.TrimSuffix(strings.Replace(cam.url(), "//", "//admin:s3cret@", 1), "cam")
	w := start(t, testConfig(address+"old", "tcp"))
	cam.player()
	for _, p := range packets(t, clipConfig, 3) {
		cam.send(p.Data)
	}
	w.take(3)
	_ = w.stop()

	before, _ := cam.came()
	mustWrap(t, probe(t.Context(), testConfig(address+"a", "tcp")), ErrRedirected)
	if n, _ := cam.came(); n-before != maxRedirects+1 {
		t.Errorf("%d connections to a camera that sends in circles", n-before)
	}
}

// A camera may have its streams on another port, which gets the password if it asks for it.
func TestRedirectToAnotherPort(t *testing.T) {
	cam := serveRaw(t, h264Media())
	cam.user, cam.password = "admin", "s3cret"
	door := serveRaw(t, h264Media())
	door.moved = map[string]string{"/cam": cam.url(), "/gone": "rtsp://" + freeport.Addr(t) + "/x"}
	address := strings.Replace(door.url(), "//", "//admin:s3cret@", 1)
	w := start(t, testConfig(address, "tcp"))
	cam.player()
	for _, p := range packets(t, clipConfig, 3) {
		cam.send(p.Data)
	}
	w.take(3)
	_ = w.stop()
	if _, told := door.came(); len(told) != 0 {
		t.Errorf("the first port, which did not ask, was told %q", told)
	}

	err := probe(t.Context(), testConfig(strings.TrimSuffix(address, "cam")+"gone", "tcp"))
	mustWrap(t, err, ErrRedirected)
	assert.Contains(t, err.Error(), "where nothing listens", "%v", err)
}

// What answers with HTTP, or with its page alone, is told to be that.
func TestHTTPAnswers(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "<!DOCTYPE HTML>\n<p>Bad request version ('RTSP/1.0').</p>\n"} {
		s, err := Open(testConfig("rtsp://127.0.0.1/x", "tcp"))
		require.NoError(t, err)
		web := &answerer{answers: [][]byte{[]byte(answer)}}
		client := s.rtspClient(gortsplib.ProtocolTCP, new(atomic.Bool))
		client.DialContext = notHTTP(web.dial)
		require.NoError(t, client.Start())
		_, _, err = client.Describe((*base.URL)(s.url.Network))
		client.Close()
		web.running.Wait()
		const want = "127.0.0.1:554 answers with HTTP, and segd does not speak RTSP over HTTP; accepted: the port that the camera has for RTSP itself"
		if err == nil || !strings.Contains(s.explain(err).Error(), want) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// A web camera is not followed either.
func TestHTTPRedirect(t *testing.T) {
	var came atomic.Int32
	thief := serveHTTP(t, func(http.ResponseWriter, *http.Request) { came.Add(1) })
	address := strings.TrimPrefix(thief, "mjpeg+") + "?token=s3cret"
	cam := serveHTTP(t, http.RedirectHandler(address, http.StatusFound).ServeHTTP)
	err := probe(t.Context(), testConfig(strings.Replace(cam, "//", "//admin:s3cret@", 1), ""))
	mustWrap(t, err, ErrRedirected)
	if came.Load() != 0 || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "sends segd to http://127.0.0.1:") {
		t.Errorf("%d requests; error %q", came.Load(), err)
	}
}
