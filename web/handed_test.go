package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A box that hands a request on has seen to who asks: the roles are held to, and credentials are not looked at.
func TestHandedOn(t *testing.T) {
	const publish, path = "publisher-0123456789", apiRoot + "/cameras/gate"
	s, err := New(Config{
		Token: testToken, ViewerToken: viewerToken, PublishToken: publish, Commands: newCameras(),
		WHIP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }),
	})
	require.NoError(t, err)
	defer s.Close()
	s.Cameras([]string{"gate"})
	request := func(method, path string, headers ...string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://box.example"+path, http.NoBody)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return r
	}
	for _, tt := range []struct {
		as, method, path string
		want             int
	}{
		{"operator", "DELETE", path + "/objects", http.StatusNoContent},
		{"operator", "GET", path + "/objects", http.StatusOK},
		{"operator", "POST", "/whip/gate", http.StatusCreated},
		{"viewer", "DELETE", path + "/objects", http.StatusForbidden},
		{"viewer", "GET", path + "/objects", http.StatusOK},
		{"viewer", "POST", "/whip/gate", http.StatusForbidden},
		{"publisher", "DELETE", path + "/objects", http.StatusUnauthorized},
		{"publisher", "GET", path + "/objects", http.StatusUnauthorized},
		{"publisher", "POST", "/whip/gate", http.StatusCreated},
		{"nobody", "GET", path + "/objects", http.StatusForbidden},
		{"nobody", "POST", "/whip/gate", http.StatusForbidden},
		{"", "GET", path + "/objects", http.StatusForbidden},
	} {
		// That of another site, which the box that was asked allowed to a client with a token.
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site", "Origin", "https://example.com"}, {"Authorization", "Bearer " + testToken}} {
			w := httptest.NewRecorder()
			s.ServeHandedOn(w, request(tt.method, tt.path, headers...), tt.as)
			if w.Code != tt.want {
				t.Errorf("%s, %s %s %q: %d %s; want %d", tt.as, tt.method, tt.path, headers, w.Code, w.Body, tt.want)
			}
			for name := range securityHeaders {
				if len(w.Header()[name]) > 0 {
					t.Errorf("%s, %s %s: it has %s, which the box that was asked adds", tt.as, tt.method, tt.path, name)
				}
			}
		}
	}
	for _, tt := range []struct{ token, path, want string }{
		{testToken, path, "operator"}, {viewerToken, path, "viewer"}, {publish, "/whip/gate", "publisher"}, {"wrong-wrong-wrong-wrong", path, "nobody"},
	} {
		assert.Equal(t, tt.want, s.As(request("GET", tt.path, "Authorization", "Bearer "+tt.token)), "with %s", tt.token)
	}
}

// Viewers take only what viewers may, at this box and through it; operators see what they do however many there are.
func TestViewersLeaveRoomForOperators(t *testing.T) {
	for name, box := range map[string]string{"a camera of this box": "here", "a camera of another box": "there"} {
		t.Run(name, func(t *testing.T) {
			_, other := serve(t, Config{MaxViewers: 100, Token: testToken, ViewerToken: viewerToken}, "gate")
			at, err := url.Parse(other.URL)
			require.NoError(t, err)
			f := &twoBoxes{there: httputil.NewSingleHostReverseProxy(at)}
			f.at.Store(box)
			s, h := serve(t, Config{MaxViewers: 2, Fleet: f, Token: testToken, ViewerToken: viewerToken, Commands: newCameras()}, "gate")
			as := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
			refused := func(token string) {
				t.Helper()
				_, resp, err := websocket.Dial(t.Context(), h.URL+"/api/v1/cameras/gate/live", &websocket.DialOptions{HTTPHeader: as(token)})
				if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
					t.Errorf("one more: %v", err)
				}
			}
			for _, token := range []string{viewerToken, testToken} {
				for range 2 {
					dial(t, h.URL, "/api/v1/cameras/gate/live", as(token))
				}
				refused(token)
			}
			if n := s.Stats(); n.Viewers != 4 || n.Refused != 2 {
				t.Errorf("%+v", n)
			}
			f.at.Store("here")
			ask(t, http.MethodDelete, h.URL+"/api/v1/cameras/gate/objects", "", "", "Authorization", "Bearer "+testToken).want(t, http.StatusNoContent, "", "a command")
		})
	}
}

// A server that ends lets go of those who watch another box's camera through it.
func TestCloseEndsWhatIsHandedOn(t *testing.T) {
	_, other := serve(t, Config{}, "gate")
	at, err := url.Parse(other.URL)
	require.NoError(t, err)
	f := &twoBoxes{there: httputil.NewSingleHostReverseProxy(at)}
	f.at.Store("there")
	s, h := serve(t, Config{Fleet: f}, "gate")
	conn := dial(t, h.URL, "/api/v1/cameras/gate/live", nil)
	s.Close() // returns once it has ended
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := conn.Read(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v; want that it has ended", err)
	}
}
