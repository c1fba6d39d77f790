package web

import (
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testBase = "/yard/segd"

// What is asked for below the base path, or without it by a proxy that cuts it off, leads to below it.
func TestBasePath(t *testing.T) {
	publisher := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", map[string]string{"/whip/gate": "/whip/gate/1", "/whip/away": "https://box-b.example/whip/away"}[r.URL.Path])
		w.WriteHeader(http.StatusCreated)
	})
	s, err := New(Config{Token: testToken, BasePath: testBase, WHIP: publisher, Cameras: &managed{}})
	require.NoError(t, err)
	defer s.Close()
	s.Cameras([]string{"gate"})
	if got, want := s.URL(), "http://"+DefaultAddr+testBase+"/"; got != want {
		t.Errorf("its URL is %s, want %s", got, want)
	}
	const signedIn = "Bearer " + testToken
	for _, tt := range []struct {
		name, request, body, location string
		status                        int
	}{
		{"the path itself", "GET " + testBase, "", testBase + "/", 308},
		{"the path itself, with a token", "GET " + testBase + "?token=x", "", testBase + "/?token=x", 308},
		{"another path that begins so", "GET " + testBase + "x/", "", "", 404},
		{"the page", "GET " + testBase + "/", "", testBase + "/login", 303},
		{"the page, path cut off", "GET /", "", testBase + "/login", 303},
		{"a link with a token", "GET " + testBase + "/?token=" + testToken, "", testBase + "/", 303},
		{"the form", "POST " + testBase + "/login", "token=" + testToken, testBase + "/", 303},
		{"the form, wrongly", "POST " + testBase + "/login", "token=x", testBase + "/login#failed", 303},
		{"a file", "GET " + testBase + "/assets/main.js", "", "", 200},
		{"a file, path cut off", "GET /assets/main.js", "", "", 200},
		{"health", "GET /livez", "", "", 200},
		{"a path that is not clean", "GET " + testBase + "//assets/../login", "", testBase + "/login", 307},
		{"a camera is added", "POST " + testBase + "/api/v1/cameras", `{}`, testBase + "/api/v1/cameras/attic", 201},
		{"a publisher", "POST " + testBase + "/whip/gate", "v=0", testBase + "/whip/gate/1", 201},
		{"a publisher, path cut off", "POST /whip/gate", "v=0", testBase + "/whip/gate/1", 201},
		{"a publisher who is sent to another box", "POST " + testBase + "/whip/away", "v=0", "https://box-b.example/whip/away", 201},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(tt.body))
		switch {
		case strings.HasPrefix(tt.body, "{"):
			req.Header.Set("Content-Type", typeJSON)
			req.Header.Set("Authorization", signedIn)
		case strings.HasPrefix(tt.body, "v="):
			req.Header.Set("Authorization", signedIn)
		case tt.body != "":
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		if got := w.Header().Get("Location"); w.Code != tt.status || got != tt.location {
			t.Errorf("%s: %d to %q, want %d to %q: %s", tt.name, w.Code, got, tt.status, tt.location, w.Body)
		}
		for _, c := range w.Result().Cookies() {
			assert.Equal(t, testBase, c.Path, "%s: the cookie is for", tt.name)
		}
	}
}

// The live connection is upgraded below the base path, and without it.
func TestBasePathLive(t *testing.T) {
	_, h := serve(t, Config{BasePath: testBase}, "gate")
	for _, base := range []string{testBase, ""} {
		dial(t, h.URL, base+"/api/v1/cameras/gate/live", nil)
	}
}

// A client that is let in at the base path is not at another one of the host, where another segd may be.
func TestSessionOfBasePath(t *testing.T) {
	_, h := serve(t, Config{Token: testToken, BasePath: testBase}, "gate")
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	resp, err := client.Get(h.URL + testBase + "/?token=" + testToken)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	if got, want := resp.Request.URL.Path, testBase+"/"; resp.StatusCode != http.StatusOK || got != want {
		t.Errorf("the link ends at %s with %d, want the page at %s", got, resp.StatusCode, want)
	}
	for path, want := range map[string]int{testBase: 1, testBase + "/api/v1/cameras": 1, "/yard/other/": 0, "/": 0} {
		at, err := url.Parse(h.URL + path)
		require.NoError(t, err)
		if got := len(jar.Cookies(at)); got != want {
			t.Errorf("a browser sends %d cookies to %s, want %d", got, path, want)
		}
	}
}

// absolute are references of the page that would lead out of the base path.
var absolute = regexp.MustCompile("(?:href|src|action)=\"/|[\"'`(]/(?:api|assets|fleet|login|publish|whip)\\b")

func TestPageIsRelative(t *testing.T) {
	assets, err := loadAssets()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		for _, found := range absolute.FindAll(assets[name].body, -1) {
			t.Errorf("%s refers to %s, which is not below http.base_path; use root.js in scripts, and relative paths elsewhere", name, found)
		}
	}
}

// A base path that begins like a path of segd's own would hide it: config refuses these (served, in its validate.go).
func TestServedNames(t *testing.T) {
	s, err := New(Config{WHIP: http.NotFoundHandler(), WHEP: http.NotFoundHandler(), Metrics: http.NotFoundHandler()})
	require.NoError(t, err)
	defer s.Close()
	var names []string
	for _, pattern := range s.served {
		path := pattern[strings.IndexByte(pattern, '/')+1:]
		if name, _, _ := strings.Cut(path, "/"); name != "{$}" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if got, want := strings.Join(slices.Compact(names), " "), "api assets fleet history livez login metrics publish readyz recordings whep whip"; got != want {
		t.Errorf("segd serves %s at /; config refuses base paths that begin with %s", got, want)
	}
}
