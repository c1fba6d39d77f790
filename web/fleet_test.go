package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
)

// testFleet notes what is asked of it.
type testFleet struct {
	asked []string
	fail  error
}

func (f *testFleet) ShowFleet(context.Context) ([]byte, error) {
	return []byte(`{"box":"a","plan":"b","publishing":true,"boxes":[{"name":"a","labels":{"gpu":"true"},"alive":true,"capacity_fps":40,"load_fps":12.5,"cameras":2}],` +
		`"cameras":[{"name":"gate","box":"a","token":7,"from":"b","why":"died","fps":10},{"name":"yard","fault":"no box","requires":{"near":"yard"}}]}`), f.fail
}

func (f *testFleet) OrderBox(_ context.Context, box, order string) error {
	f.asked = append(f.asked, order+" "+box)
	return f.fail
}

func (f *testFleet) MoveCamera(_ context.Context, camera, box string) error {
	f.asked = append(f.asked, "move "+camera+" "+box)
	return f.fail
}

func (f *testFleet) Box() string { return "a" }

func (f *testFleet) Connect(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusUpgradeRequired)
}

func (f *testFleet) Elsewhere(camera string) (string, http.Handler) {
	if camera != "yard" {
		return "", nil
	}
	return "b", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.WriteProblem(w, http.StatusNotFound, "answered elsewhere")
	})
}

func TestFleet(t *testing.T) {
	f := &testFleet{}
	_, h := serve(t, Config{Fleet: f, Commands: newCameras(), Token: "operator-operator", ViewerToken: "viewer-viewer-viewer"}, "gate", "yard")
	do := func(method, path, body, token string, status int) {
		t.Helper()
		ask(t, method, h.URL+apiRoot+path, typeJSON, body, "Authorization", "Bearer "+token).want(t, status, "", "%s %s", method, path)
	}
	const operator, viewer = "operator-operator", "viewer-viewer-viewer"
	do(http.MethodGet, "/fleet", "", viewer, http.StatusOK)
	do(http.MethodPost, "/fleet/boxes/a/drain", "", viewer, http.StatusForbidden)
	for _, order := range []string{"cordon", "drain", "uncordon"} {
		do(http.MethodPost, "/fleet/boxes/a/"+order, "", operator, http.StatusNoContent)
	}
	do(http.MethodPost, "/fleet/boxes/a/smash", "", operator, http.StatusNotFound)
	do(http.MethodGet, "/fleet/boxes/a/drain", "", operator, http.StatusMethodNotAllowed)
	do(http.MethodPost, "/fleet/cameras/gate/move", `{"box": "b"}`, operator, http.StatusNoContent)
	for _, bad := range []string{"", "{}", `{"box": 1}`, `{"box": "b", "why": "x"}`} {
		do(http.MethodPost, "/fleet/cameras/gate/move", bad, operator, http.StatusBadRequest)
	}
	assert.Equal(t, []string{"cordon a", "drain a", "uncordon a", "move gate b"}, f.asked, "asked")
	f.fail = &api.Refusal{Status: http.StatusNotFound, Detail: `there is "a" "b"`}
	do(http.MethodPost, "/fleet/boxes/x/cordon", "", operator, http.StatusNotFound)
	f.fail = &api.Refusal{Status: http.StatusConflict, Detail: "it is full"}
	do(http.MethodPost, "/fleet/cameras/gate/move", `{"box": "b"}`, operator, http.StatusConflict)

	// Another box answers for the camera that it runs, of those who may ask.
	do(http.MethodGet, "/cameras/gate/objects", "", viewer, http.StatusOK)
	do(http.MethodGet, "/cameras/yard/objects", "", viewer, http.StatusNotFound)
	do(http.MethodDelete, "/cameras/yard/objects", "", viewer, http.StatusForbidden)
	do(http.MethodGet, "/cameras/yard/objects", "", "wrong-wrong-wrong-wrong", http.StatusUnauthorized)
	var list cameraList
	if err := json.Unmarshal([]byte(ask(t, http.MethodGet, h.URL+apiRoot+"/cameras", "", "", "Authorization", "Bearer "+viewer).body), &list); err != nil || len(list.Cameras) != 2 {
		t.Errorf("the list: %+v %v", list, err)
	}

	_, h = serve(t, Config{}, "gate")
	ask(t, http.MethodGet, h.URL+apiRoot+"/fleet", "", "").want(t, http.StatusNotFound, "", "without a fleet")
}

// twoBoxes is a fleet of the box that is asked, here, and another one, there.
type twoBoxes struct {
	Fleet

	at    atomic.Value // the box, by name, that runs every camera
	there http.Handler
}

func (f *twoBoxes) Box() string { return "here" }

func (f *twoBoxes) Elsewhere(string) (string, http.Handler) {
	if box := f.at.Load().(string); box != "here" {
		return box, f.there
	}
	return "", nil
}

// Who watches a camera that moves is told, wherever it was and wherever it goes, and comes again.
func TestLiveEndsWhenTheCameraMoves(t *testing.T) {
	_, other := serve(t, Config{}, "gate")
	at, err := url.Parse(other.URL)
	require.NoError(t, err)
	f := &twoBoxes{there: httputil.NewSingleHostReverseProxy(at)}
	f.at.Store("here")
	_, h := serve(t, Config{Fleet: f}, "gate")
	for _, step := range []struct{ from, to, reason string }{
		{"here", "there", "another box runs the camera"},
		{"there", "elsewhere", ""}, // the way there is cut: the other box may be dead
		{"elsewhere", "here", ""},
	} {
		f.at.Store(step.from)
		conn := dial(t, h.URL, "/api/v1/cameras/gate/live", nil)
		f.at.Store(step.to)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, _, err := conn.Read(ctx)
		cancel()
		var closed websocket.CloseError
		if errors.As(err, &closed); closed.Reason != step.reason || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("from %s to %s: %v; want reason %q", step.from, step.to, err, step.reason)
		}
	}
}

// What the other box knows alone is asked there, and what all boxes know is answered here.
func TestWhatIsAskedElsewhere(t *testing.T) {
	f := &twoBoxes{there: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.WriteJSON(w, http.StatusOK, typeJSON, json.RawMessage(`"there"`))
	})}
	f.at.Store("there")
	s, err := New(Config{Fleet: f, Commands: newCameras(), Cameras: &managed{}})
	require.NoError(t, err)
	defer s.Close()
	s.Cameras([]string{"gate"})
	for _, tt := range []struct {
		method, path string
		there        bool
	}{
		{http.MethodGet, "/cameras/gate", true},
		{http.MethodPatch, "/cameras/gate", false},
		{http.MethodDelete, "/cameras/gate", false},
		{http.MethodGet, "/cameras/gate/snapshot", true},
		{http.MethodPut, "/cameras/gate/zones", true},
		{http.MethodGet, "/cameras", false},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(tt.method, "http://127.0.0.1"+apiRoot+tt.path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", typeJSON)
		s.Handler().ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Body)
		assert.Equal(t, tt.there, strings.TrimSpace(string(body)) == `"there"`, "%s %s is answered there; %s", tt.method, tt.path, body)
		if tt.path == "/cameras" && w.Header().Get(headerBox) != "here" {
			t.Errorf("the list does not say which box it is of: %q", w.Header())
		}
	}
}
