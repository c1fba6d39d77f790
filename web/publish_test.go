package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/limit"
)

const publishToken = "publish-0123456789abcdef"

// Who may publish, from where.
func TestPublishing(t *testing.T) {
	whip := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "secret")
		w.WriteHeader(http.StatusTeapot) // past the gate
	})
	_, open := serve(t, Config{WHIP: whip}, "north")
	_, own := serve(t, Config{WHIP: whip, PublishToken: publishToken}, "north")
	_, locked := serve(t, Config{WHIP: whip, Token: testToken}, "north")
	_, both := serve(t, Config{WHIP: whip, Token: testToken, PublishToken: publishToken}, "north")
	_, without := serve(t, Config{}, "north")

	with := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	const elsewhere = "https://evil.example"
	auth := func(token string) string { return "Bearer " + token }
	session := cookieName + "=" + sessionOf(testToken)
	for _, tc := range []struct {
		name, base, method string
		header             http.Header
		status             int
		anyOrigin          bool // the answer lets other sites' scripts read it
	}{
		{"no token anywhere", open.URL, "POST", nil, 418, false},
		{"a token where none is", open.URL, "POST", with("Authorization", auth("whatever")), 418, false},
		{"page of another site", open.URL, "POST", with("Origin", elsewhere), 403, false},
		{"page of another site ends it", open.URL, "DELETE", with("Origin", elsewhere), 403, false},
		{"page of another site with a made-up token", open.URL, "POST", with("Origin", elsewhere, "Authorization", auth("x")), 403, false},
		{"our page", open.URL, "POST", with("Origin", open.URL), 418, false},
		{"foreign name", open.URL, "POST", with("Host", "evil.example"), 421, false},
		{"another site asks", open.URL, "OPTIONS", with("Origin", elsewhere, "Access-Control-Request-Method", "POST"), 204, false},
		{"options", open.URL, "OPTIONS", nil, 418, false},

		{"no token but wanted", own.URL, "POST", nil, 401, true},
		{"wrong token", own.URL, "POST", with("Authorization", auth(publishToken+"x")), 401, true},
		{"empty token", own.URL, "POST", with("Authorization", "Bearer "), 401, true},
		{"right token", own.URL, "POST", with("Authorization", auth(publishToken)), 418, true},
		{"right token, another site", own.URL, "POST", with("Authorization", auth(publishToken), "Origin", elsewhere), 418, true},

		{"server's token wanted", locked.URL, "POST", nil, 401, true},
		{"empty token is not none", locked.URL, "POST", with("Authorization", "Bearer "), 401, true},
		{"server's token", locked.URL, "POST", with("Authorization", auth(testToken)), 418, true},
		{"no publish token is set", locked.URL, "POST", with("Authorization", auth(publishToken)), 401, true},
		{"signed in", locked.URL, "POST", with("Cookie", session, "Origin", locked.URL), 418, true},
		{"signed in, another site", locked.URL, "POST", with("Cookie", session, "Origin", elsewhere), 403, true},
		{"signed in, wrong token", locked.URL, "POST", with("Cookie", session, "Authorization", auth("wrong")), 401, true},
		{"another site asks before its token", locked.URL, "OPTIONS", with("Origin", elsewhere, "Access-Control-Request-Method", "POST"), 204, true},
		{"options of strangers", locked.URL, "OPTIONS", nil, 204, true},
		{"options of publishers", locked.URL, "OPTIONS", with("Authorization", auth(testToken)), 418, true},

		{"either token: the server's", both.URL, "PATCH", with("Authorization", auth(testToken)), 418, true},
		{"either token: for publishing", both.URL, "DELETE", with("Authorization", auth(publishToken)), 418, true},
		{"either token: none", both.URL, "DELETE", nil, 401, true},

		{"nobody takes publishers", without.URL, "POST", nil, 404, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, tc.base+"/whip/north", strings.NewReader("v=0"))
			require.NoError(t, err)
			if tc.header != nil {
				req.Header = tc.header
			}
			if host := tc.header.Get("Host"); host != "" {
				req.Host = host
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			require.NoError(t, err)
			_ = resp.Body.Close()
			h := resp.Header
			if resp.StatusCode != tc.status || (h.Get("Access-Control-Allow-Origin") == "*") != tc.anyOrigin {
				t.Errorf("%d %v; want %d, any origin %v", resp.StatusCode, h, tc.status, tc.anyOrigin)
			}
			if past := tc.status == 418; past != (h.Get("Link") != "") {
				t.Errorf("Link %q", h.Get("Link"))
			}
			if tc.status == 401 && h.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
			assert.Equal(t, "", h.Get("Access-Control-Allow-Credentials"), "other sites may use the cookie")
			if tc.status == 204 && (h.Get("Access-Control-Allow-Headers") != rtcHeaders || h.Get("Accept-Post") == "") {
				t.Errorf("OPTIONS: %v", h)
			}
		})
	}

	// The token for publishing opens nothing else.
	for _, path := range []string{"/api/v1/cameras", "/api/v1/cameras/north/live"} {
		if resp, _ := get(t, both.URL+path, bearer(publishToken)); resp.StatusCode != 401 {
			t.Errorf("%s with the token for publishing: %d", path, resp.StatusCode)
		}
	}
	// The page may use the camera, and no other page may.
	resp, body := get(t, locked.URL+"/publish/north", nil)
	if resp.StatusCode != 200 || !strings.Contains(body, "publish.js") || !strings.Contains(resp.Header.Get("Permissions-Policy"), "camera=(self)") {
		t.Errorf("page: %d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := get(t, without.URL+"/publish/north", nil); resp.StatusCode != 404 {
		t.Errorf("page without WHIP: %d", resp.StatusCode)
	}
}

// Clients that may see the cameras may watch, pages of other sites with a token only; what another box hands on is as it says.
func TestWatcher(t *testing.T) {
	whep := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	_, open := serve(t, Config{WHEP: whep}, "north")
	s, locked := serve(t, Config{WHEP: whep, Token: testToken, ViewerToken: viewerToken, PublishToken: publishToken}, "north")
	const elsewhere = "https://evil.example"
	cookie := cookieName + "=" + sessionOf(viewerToken)
	ask := func(base, method string, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/whep/north/overlay", strings.NewReader("v=0"))
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		return resp
	}
	for _, tc := range []struct {
		name, base, method string
		header             []string
		status             int
		anyOrigin          bool
	}{
		{"no token anywhere", open.URL, "POST", nil, 418, false},
		{"page of another site", open.URL, "POST", []string{"Origin", elsewhere}, 403, false},
		{"page of another site with a made-up token", open.URL, "POST", []string{"Origin", elsewhere, "Authorization", "Bearer x"}, 403, false},
		{"no token but wanted", locked.URL, "POST", nil, 401, true},
		{"viewer, another site", locked.URL, "POST", []string{"Origin", elsewhere, "Authorization", "Bearer " + viewerToken}, 418, true},
		{"operator", locked.URL, "DELETE", []string{"Authorization", "Bearer " + testToken}, 418, true},
		{"publisher", locked.URL, "POST", []string{"Authorization", "Bearer " + publishToken}, 401, true},
		{"signed in", locked.URL, "POST", []string{"Cookie", cookie, "Origin", locked.URL}, 418, true},
		{"signed in, another site", locked.URL, "POST", []string{"Cookie", cookie, "Origin", elsewhere}, 403, true},
		{"another site asks before its token", locked.URL, "OPTIONS", []string{"Origin", elsewhere, "Access-Control-Request-Method", "POST"}, 204, true},
	} {
		resp := ask(tc.base, tc.method, tc.header...)
		if resp.StatusCode != tc.status || (resp.Header.Get("Access-Control-Allow-Origin") == "*") != tc.anyOrigin {
			t.Errorf("%s: %d %v; want %d, any origin %v", tc.name, resp.StatusCode, resp.Header, tc.status, tc.anyOrigin)
		}
	}
	for as, want := range map[string]int{"nobody": 403, "publisher": 403, "viewer": 418, "operator": 418} {
		w := httptest.NewRecorder()
		s.ServeHandedOn(w, httptest.NewRequestWithContext(t.Context(), "POST", "/whep/north", nil), as)
		assert.Equal(t, want, w.Code, "handed on as %s", as)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{WHEP: whep, Token: testToken, ViewerToken: viewerToken})
		require.NoError(t, err)
		defer s.Close()
		for i := range limit.Burst/limit.CostWork + 1 {
			r, w := httptest.NewRequestWithContext(t.Context(), "POST", "/whep/north", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+viewerToken)
			s.Handler().ServeHTTP(w, r)
			if refused := w.Code == 429; refused != (i == limit.Burst/limit.CostWork) {
				t.Errorf("viewer %d from one address: %d", i, w.Code)
			}
		}
	})
}
