package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image/jpeg"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
)

// managed is a Manager of one camera that runs, one that is paused and one that cannot.
type managed struct {
	mu    sync.Mutex
	calls []string
	hold  chan struct{} // Try waits for it to be closed; nil: it does not
	begun chan struct{} // of Try's calls
}

func (m *managed) note(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
}

func (m *managed) Declared() ([]api.Declared, api.Adding) {
	return []api.Declared{
		{Name: "gate", URL: "rtsp://xxxxx@h/", Source: api.SourceFile, Kept: true},
		{Name: "attic", URL: "whip:", Source: api.SourceAdded, Paused: true, Given: json.RawMessage(`{"name":"attic"}`)},
		{Name: "cellar", Source: api.SourceAdded, Fault: "sealed with another key"},
	}, api.Adding{Kept: true, Detect: []string{"person"}}
}

func (m *managed) Add(_ context.Context, body []byte) (string, error) {
	m.note("add " + string(body))
	if string(body) != "{}" {
		return "", &api.Refusal{Status: http.StatusUnprocessableEntity, Detail: "no", Fields: []api.Field{{Pointer: "/url", Detail: "no"}}}
	}
	return "attic", nil
}

func (m *managed) Set(_ context.Context, camera string, patch []byte) (string, error) {
	m.note("set " + camera + " " + string(patch))
	return camera, nil
}

func (m *managed) Remove(_ context.Context, camera string) error {
	m.note("remove " + camera)
	return nil
}

func (m *managed) Try(context.Context, []byte) (*api.Tried, error) {
	if m.hold != nil {
		m.begun <- struct{}{}
		<-m.hold
	}
	return &api.Tried{Width: 2000, Height: 1000, PixelAspect: 0.5, Codec: "H264", BGR: make([]byte, 3*2000*1000)}, nil
}

func (m *managed) Discover(context.Context, []byte) (json.RawMessage, error) {
	return json.RawMessage(`{"cameras":[]}`), nil
}

// Every camera is listed, whether it runs or not; each operation reaches the Manager and answers as
// openapi.json says.
func TestManagedCameras(t *testing.T) {
	m := &managed{}
	_, h := serve(t, Config{Cameras: m, Commands: newCameras()}, "gate", "new")
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/cameras", "", 200, `"name":"cellar"`},
		{"GET", "/cameras/gate", "", 200, `"source":"file"`},
		{"GET", "/cameras/attic", "", 200, `"paused":true`},
		{"GET", "/cameras/nothing", "", 404, "no camera"},
		{"GET", "/cameras/attic/objects", "", 404, "is paused"},
		{"GET", "/cameras/cellar/objects", "", 404, "sealed with another key"},
		{"POST", "/cameras", "{}", 201, `"name":"attic"`},
		{"POST", "/cameras", `{"url": 1}`, 422, `"/url"`},
		{"POST", "/cameras", `{"name": "` + strings.Repeat("b", 300<<10) + `"}`, 413, "larger than"},
		{"PATCH", "/cameras/attic", `{"fps": 3}`, 200, `"name":"attic"`},
		{"DELETE", "/cameras/attic", "", 204, ""},
		{"POST", "/cameras/test", "{}", 200, `"width":2000`},
		{"POST", "/cameras/discover", "{}", 200, "[]"},
		{"DELETE", "/cameras", "", 405, "GET, HEAD, POST"},
		{"PUT", "/cameras/attic", "{}", 405, "accepts DELETE, GET, HEAD, PATCH"},
		{"PUT", "/cameras/{camera}", "{}", 405, "accepts DELETE, GET, HEAD, PATCH"},
	} {
		a := ask(t, tt.method, h.URL+apiRoot+tt.path, typeJSON, tt.body)
		a.want(t, tt.status, tt.want, "%s %s", tt.method, tt.path)
	}
	assert.Equal(t, []string{"add {}", `add {"url": 1}`, `set attic {"fps": 3}`, "remove attic"}, m.calls)
	ask(t, "PATCH", h.URL+apiRoot+"/cameras/attic", typePatch, "{}").want(t, 200, "", "a merge patch")
	ask(t, "PATCH", h.URL+apiRoot+"/cameras/attic", "text/plain", "{}").want(t, 415, "", "text")
	var picture struct{ Picture string }
	a := ask(t, "POST", h.URL+apiRoot+"/cameras/test", typeJSON, "{}")
	require.NoError(t, json.Unmarshal([]byte(a.body), &picture))
	text, err := base64.StdEncoding.DecodeString(picture.Picture)
	require.NoError(t, err)
	// As it is meant to be seen, and smaller.
	if size, err := jpeg.DecodeConfig(bytes.NewReader(text)); err != nil || size.Width != testWidth || size.Height != testWidth {
		t.Errorf("a picture of %d×%d, %v", size.Width, size.Height, err)
	}
	var list struct{ Cameras []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(ask(t, "GET", h.URL+apiRoot+"/cameras", "", "").body), &list))
	names := []string{}
	for _, c := range list.Cameras {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"gate", "attic", "cellar", "new"}, names)
}

// A path such as /cameras/test has one method, and those of a camera while there is one of that name.
func TestNamesOfOperations(t *testing.T) {
	_, h := serve(t, Config{Cameras: &managed{}}, "gate", "test")
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/cameras/discover", 405, "POST"},
		{"HEAD", "/cameras/discover", 405, "POST"},
		{"PATCH", "/cameras/discover", 405, "POST"},
		{"DELETE", "/cameras/discover", 405, "POST"},
		{"PUT", "/cameras/discover", 405, "POST"},
		{"PUT", "/cameras/test", 405, "DELETE, GET, HEAD, PATCH, POST"},
		{"PATCH", "/cameras/test", 200, ""},
		{"GET", "/cameras/test", 200, ""},
		{"POST", "/cameras/test", 200, ""},
		{"GET", "/cameras/{camera}", 404, ""},
	} {
		a := ask(t, tt.method, h.URL+apiRoot+tt.path, typeJSON, "{}")
		if a.status != tt.status || a.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, Allow %q; want %d, %q", tt.method, tt.path, a.status, a.header.Get("Allow"), tt.status, tt.allow)
		}
	}
}

// Two at a time are tried or looked for, and viewers do neither.
func TestTryingIsBounded(t *testing.T) {
	m := &managed{hold: make(chan struct{}), begun: make(chan struct{})}
	_, h := serve(t, Config{Cameras: m, Token: testToken, ViewerToken: viewerToken}, "gate")
	asked := func(token, path string) answer {
		return ask(t, "POST", h.URL+apiRoot+path, typeJSON, "{}", "Authorization", "Bearer "+token)
	}
	for _, path := range []string{"/cameras", "/cameras/test", "/cameras/discover"} {
		if a := asked(viewerToken, path); a.status != 403 {
			t.Errorf("a viewer at %s: %d %s", path, a.status, a.body)
		}
	}
	var trying sync.WaitGroup
	for range tryingAtOnce {
		trying.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", h.URL+apiRoot+"/cameras/test", strings.NewReader("{}"))
			req.Header = http.Header{"Content-Type": {typeJSON}, "Authorization": {"Bearer " + testToken}}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			assert.Equal(t, 200, resp.StatusCode)
		})
		<-m.begun
	}
	for _, path := range []string{"/cameras/test", "/cameras/discover"} {
		if a := asked(testToken, path); a.status != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("a third at %s: %d %s", path, a.status, a.body)
		}
	}
	close(m.hold)
	trying.Wait()
	if a := asked(testToken, "/cameras/discover"); a.status != 200 {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
}
