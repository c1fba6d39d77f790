package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const viewerToken = "viewer-0123456789abcdef"

// Who may do what, over all that is served.
func TestAccess(t *testing.T) {
	s, err := New(Config{
		Token: testToken, ViewerToken: viewerToken, PublishToken: "publisher-0123456789", Commands: newCameras(),
		Settings: func() json.RawMessage { return json.RawMessage(`{}`) }, Reload: reloads, Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		WHIP:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }),
		Alive: func() error { return fmt.Errorf("camera gate stands still") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Cameras([]string{"gate"})

	type served struct {
		method, path string
		operator     bool // needs the operator
		public       bool // needs nobody
	}
	all := []served{
		{"GET", "/", false, false},
		{"GET", "/metrics", false, false},
		{"GET", "/api/v1/nothing", false, false},
		{"PUT", "/api/v1/cameras", false, false}, // 405
		{"POST", "/whip/gate", true, false},
		{"PATCH", "/whip/gate/1", true, false},
		{"DELETE", "/whip/gate/1", true, false},
		{"GET", "/login", false, true},
		{"GET", "/livez", false, true},
		{"GET", "/readyz", false, true},
		{"GET", "/assets/main.js", false, true},
		{"GET", "/publish/gate", false, true},
	}
	fill := strings.NewReplacer("{camera}", "gate", "{id}", "1", "{sequence}", "41", "{holder}", "me")
	for _, r := range s.api() {
		if strings.HasSuffix(r.path, "/events") || strings.HasSuffix(r.path, "/live") {
			continue // below: they have no end
		}
		all = append(all, served{r.method, fill.Replace(r.path), r.method != http.MethodGet, false})
	}
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
	operators := [][]string{{"Authorization", "Bearer " + testToken}, {"Cookie", cookie(testToken)}}
	viewers := [][]string{{"Authorization", "Bearer " + viewerToken}, {"Cookie", cookie(viewerToken)}}
	strangers := [][]string{nil, {"Authorization", "Bearer wrong-wrong-wrong-wrong"}, {"Cookie", cookieName + "=" + viewerToken}}

	refused := []int{http.StatusUnauthorized, http.StatusForbidden}
	for _, r := range all {
		for _, who := range operators {
			if w := ask(r.method, r.path, who...); slices.Contains(refused, w.Code) {
				t.Errorf("operator, %s %s: %d %s", r.method, r.path, w.Code, w.Body)
			}
		}
		for _, who := range viewers {
			w := ask(r.method, r.path, who...)
			if r.operator && (w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "the operator's token")) {
				t.Errorf("viewer, %s %s: %d %s; want 403 that says whose token it takes", r.method, r.path, w.Code, w.Body)
			}
			if !r.operator && slices.Contains(refused, w.Code) {
				t.Errorf("viewer, %s %s: %d %s", r.method, r.path, w.Code, w.Body)
			}
		}
		for _, who := range strangers {
			w := ask(r.method, r.path, who...)
			out := w.Code == http.StatusUnauthorized || w.Code == http.StatusSeeOther
			if out == r.public {
				t.Errorf("stranger, %s %s: %d %s", r.method, r.path, w.Code, w.Body)
			}
		}
	}
	if w := ask("POST", "/whip/gate", "Authorization", "Bearer publisher-0123456789"); w.Code != http.StatusCreated {
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
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(viewerToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
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
			security, _ := item.(map[string]any)[method].(map[string]any)["security"]
			if security == nil {
				security = d.doc["security"]
			}
			viewer := slices.ContainsFunc(security.([]any), func(s any) bool { _, ok := s.(map[string]any)["viewer"]; return ok })
			if viewer != (method == "get") {
				t.Errorf("%s %s takes a viewer: %v", method, path, viewer)
			}
		}
	}
}
