package ingest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
)

// A camera that sends segd to another server gives it neither the password nor a
// connection: whoever wants that one writes its URL.
func TestRedirect(t *testing.T) {
	basic := &gortsplib.Server{AuthMethods: []auth.VerifyMethod{auth.VerifyMethodBasic}}
	for _, tc := range []struct{ name, host string }{{"another port", "127.0.0.1"}, {"another host", "127.0.0.2"}} {
		t.Run(tc.name, func(t *testing.T) {
			thief := serveRawBy(t, &gortsplib.Server{AuthMethods: basic.AuthMethods, RTSPAddress: tc.host + ":0"}, h264Media())
			thief.user, thief.password = "nobody", "knows"
			cam := serveRaw(t, h264Media())
			cam.moved = map[string]string{"/cam": strings.Replace(thief.url(), "//", "//you:too@", 1)}
			err := probe(t.Context(), testConfig(strings.Replace(cam.url(), "//", "//admin:s3cret@", 1), "tcp"))
			if n, got := thief.came(); n != 0 || len(got) != 0 {
				t.Errorf("the other server was dialled %d times and got %q", n, got)
			}
			mustWrap(t, err, ErrRedirected)
			for _, want := range []string{"sends segd to rtsp://xxxxx@" + thief.server.NetListener().Addr().String() + "/cam", "write that URL"} {
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
