package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/segd/segd/internal/problem"
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

func (f *testFleet) Order(_ context.Context, box, order string) error {
	f.asked = append(f.asked, order+" "+box)
	return f.fail
}

func (f *testFleet) MoveCamera(_ context.Context, camera, box string) error {
	f.asked = append(f.asked, "move "+camera+" "+box)
	return f.fail
}

func (f *testFleet) Elsewhere(camera string) http.Handler {
	if camera != "yard" {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { problem.Write(w, http.StatusNotFound, "answered elsewhere") })
}

func TestFleet(t *testing.T) {
	f := &testFleet{}
	_, h := serve(t, Config{Fleet: f, Commands: newCameras(), Token: "operator-operator", ViewerToken: "viewer-viewer-viewer"}, "gate", "yard")
	do := func(method, path, body, token string, status int) {
		t.Helper()
		if a := ask(t, method, h.URL+apiRoot+path, typeJSON, body, "Authorization", "Bearer "+token); a.status != status {
			t.Errorf("%s %s: %d %s; want %d", method, path, a.status, a.body, status)
		}
	}
	const operator, viewer = "operator-operator", "viewer-viewer-viewer"
	do(http.MethodGet, "/fleet", "", viewer, http.StatusOK)
	do(http.MethodPost, "/fleet/boxes/a/drain", "", viewer, http.StatusForbidden)
	for _, order := range []string{OrderCordon, OrderDrain, OrderUncordon} {
		do(http.MethodPost, "/fleet/boxes/a/"+order, "", operator, http.StatusNoContent)
	}
	do(http.MethodPost, "/fleet/boxes/a/smash", "", operator, http.StatusNotFound)
	do(http.MethodGet, "/fleet/boxes/a/drain", "", operator, http.StatusMethodNotAllowed)
	do(http.MethodPost, "/fleet/cameras/gate/move", `{"box": "b"}`, operator, http.StatusNoContent)
	for _, bad := range []string{"", "{}", `{"box": 1}`, `{"box": "b", "why": "x"}`} {
		do(http.MethodPost, "/fleet/cameras/gate/move", bad, operator, http.StatusBadRequest)
	}
	if want := []string{"cordon a", "drain a", "uncordon a", "move gate b"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %q, want %q", f.asked, want)
	}
	f.fail = &Refusal{Status: http.StatusNotFound, Detail: `there is "a" "b"`}
	do(http.MethodPost, "/fleet/boxes/x/cordon", "", operator, http.StatusNotFound)
	f.fail = &Refusal{Status: http.StatusConflict, Detail: "it is full"}
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
	if a := ask(t, http.MethodGet, h.URL+apiRoot+"/fleet", "", ""); a.status != http.StatusNotFound {
		t.Errorf("without a fleet: %d", a.status)
	}
}
