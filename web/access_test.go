package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/docs"
)

const (
	viewerToken    = "viewer-0123456789abcdef"
	publisherToken = "publisher-0123456789"
)

// docs/security.md names what is served, and nothing else.
func TestRoutesAreDocumented(t *testing.T) {
	s, err := New(Config{
		Commands: newCameras(), Cameras: &managed{}, Settings: func() json.RawMessage { return nil }, Reload: reloads,
		Metrics: http.NotFoundHandler(), WHIP: http.NotFoundHandler(), WHEP: http.NotFoundHandler(),
	})
	require.NoError(t, err)
	defer s.Close()
	rows, err := docs.Table("../docs/security.md", "Over HTTP")
	require.NoError(t, err)
	var want []string
	for _, row := range rows {
		for _, route := range row.Names {
			for _, path := range []string{whipPath, whepPath} {
				if strings.Contains(route, " "+path) {
					route = path // the package whip's, by whatever method
				}
			}
			want = append(want, route)
		}
	}
	methods := map[string]bool{} // paths that have some: their other methods are answered 405
	for _, pattern := range s.served {
		if _, path, ok := strings.Cut(pattern, " "); ok {
			methods[path] = true
		}
	}
	var got []string
	for _, pattern := range s.served {
		if !methods[pattern] && pattern != apiRoot+"/" { // which is answered 404
			got = append(got, strings.Replace(pattern, "/{$}", "/", 1))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.Empty(t, cmp.Diff(slices.Compact(want), got), "what is served (-docs/security.md +code)")
}

// Who may do what, over all that is served.
func TestAccess(t *testing.T) {
	s, err := New(Config{
		Token: testToken, ViewerToken: viewerToken, PublishToken: publisherToken, Commands: newCameras(), Cameras: &managed{},
		Settings: func() json.RawMessage { return json.RawMessage(`{}`) }, Reload: reloads, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		WHIP:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }),
		WHEP:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }),
		Alive: func() error { return fmt.Errorf("camera gate stands still") },
	})
	require.NoError(t, err)
	defer s.Close()
	s.Cameras([]string{"gate"})

	// What docs/security.md says, and two of the API's own answers to what it does not have.
	rows, err := docs.Table("../docs/security.md", "Over HTTP")
	require.NoError(t, err)
	rows = append(rows, docs.Row{Names: []string{"GET /api/v1/nothing", "PUT /api/v1/cameras"}, Cells: map[string]string{"nobody": "no", "publisher": "no", "viewer": "yes", "operator": "yes"}})
	fill := strings.NewReplacer("{camera}", "gate", "{id}", "1", "{sequence}", "41", "{holder}", "me", "{name}", "main.js", "{box}", "a")
	ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
		body := ""
		switch {
		case strings.HasSuffix(path, "/annotations"):
			body = `{"objects":[]}`
		case method == http.MethodPatch:
			body = `{"label":"x"}`
		}
		req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		req.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", len(path)) // so that no allowance is spent
		if body != "" {
			req.Header.Set("Content-Type", typeJSON)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		return w
	}
	cookie := func(token string) string {
		w := ask("GET", "/?token="+token)
		if c := w.Result().Cookies(); len(c) == 1 {
			return c[0].String()
		}
		t.Fatalf("signing in with %q: %d %s", token, w.Code, w.Body)
		return ""
	}
	as := map[string][][]string{
		"nobody":    {nil, {"Authorization", "Bearer wrong-wrong-wrong-wrong"}, {"Cookie", cookieName + "=" + viewerToken}},
		"publisher": {{"Authorization", "Bearer " + publisherToken}},
		"viewer":    {{"Authorization", "Bearer " + viewerToken}, {"Cookie", cookie(viewerToken)}},
		"operator":  {{"Authorization", "Bearer " + testToken}, {"Cookie", cookie(testToken)}},
	}
	for _, row := range rows {
		for _, route := range row.Names {
			if strings.HasSuffix(route, "/events") || strings.HasSuffix(route, "/live") {
				continue // below: they have no end
			}
			method, path, _ := strings.Cut(fill.Replace(route), " ")
			for who, ways := range as {
				for _, header := range ways {
					w := ask(method, path, header...)
					refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden || w.Code == http.StatusSeeOther && path != "/login"
					if may := row.Cells[who] == "yes"; refused == may {
						t.Errorf("%s, %s: %d %s; want %s", who, route, w.Code, w.Body, row.Cells[who])
					}
					if who == "viewer" && w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "the operator's token") {
						t.Errorf("viewer, %s: %s; want it to say whose token it takes", route, w.Body)
					}
				}
			}
		}
	}
	if w := ask("POST", "/whip/gate", "Authorization", "Bearer "+publisherToken); w.Code != http.StatusCreated {
		t.Errorf("a publisher: %d %s", w.Code, w.Body)
	}
	// Reasons and names are for who may see the cameras.
	for who, want := range map[string]string{"Bearer " + testToken: "stands still", "Bearer " + viewerToken: "stands still", "": "not alive\n"} {
		if w := ask("GET", "/livez", "Authorization", who); !strings.Contains(w.Body.String(), want) {
			t.Errorf("/livez tells %q %s", who, w.Body)
		}
	}
	for token, want := range map[string]string{testToken: "operator", viewerToken: "viewer"} {
		if w := ask("GET", "/api/v1/cameras", "Authorization", "Bearer "+token); !strings.Contains(w.Body.String(), `"access":"`+want+`"`) {
			t.Errorf("%s is told %s", want, w.Body)
		}
	}

	h := httptest.NewServer(s.Handler())
	defer h.Close()
	_ = dial(t, h.URL, "/api/v1/cameras/gate/live", bearer(viewerToken)).CloseNow()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/api/v1/events", nil)
	require.NoError(t, err)
	req.Header = bearer(viewerToken)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("events for a viewer: %s", resp.Status)
	}
}

// openapi.json says whom each operation takes.
func TestOpenAPISaysWhoMay(t *testing.T) {
	d := describedAPI(t)
	for path, item := range d.doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			security := item.(map[string]any)[method].(map[string]any)["security"]
			if security == nil {
				security = d.doc["security"]
			}
			viewer := slices.ContainsFunc(security.([]any), func(s any) bool { _, ok := s.(map[string]any)["viewer"]; return ok })
			assert.Equal(t, method == "get", viewer, "%s %s takes a viewer", method, path)
		}
	}
}
