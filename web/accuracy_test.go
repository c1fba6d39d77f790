package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

func (c asked) Judge(seq uint64, truths []api.Truth) ([]api.Accuracy, error) {
	var all []api.Accuracy
	for _, t := range truths {
		all = append(all, api.Accuracy{Sequence: seq, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ID: t.ID, Label: t.Label, Truth: len(t.Counts), Mask: 6, J: 0.5, Missed: 0.25, False: 0.125})
	}
	return all, c.note("judge %s %d %d", c.camera, seq, len(truths))
}

func (c asked) Accuracy() []api.Accuracy {
	_ = c.note("accuracy %s", c.camera)
	return nil
}

func (c asked) ForgetAccuracy() { _ = c.note("forget %s", c.camera) }

func TestAccuracy(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	long := strings.Repeat("1", 5000)
	for _, tt := range []struct {
		method, body string
		fail         error
		status       int
		want, call   string
	}{
		{"GET", "", nil, 200, `{"records":[]}`, "accuracy gate"},
		{"DELETE", "", nil, 204, "", "forget gate"},
		{"POST", `{"frame": 41, "objects": [{"id": 1, "counts": "` + long + `"}, {"label": "cat", "counts": "12"}]}`, nil, 200,
			`{"records":[{"sequence":41,"time":"2026-01-02T03:04:05Z","id":1,"label":"","truth":5000,"mask":6,"j":0.5,"missed":0.25,"false":0.125},{"sequence":41,`, "judge gate 41 2"},
		{"POST", `{"frame": 41, "objects": [{"id": 1}]}`, &api.Refusal{Status: 404, Detail: "41 is no longer kept"}, 404, "no longer kept", "judge gate 41 1"},
		{"POST", `{"objects": [{"id": 1}]}`, nil, 400, `"pointer":"/frame","detail":"it is missing; accepts the sequence number of a kept frame"`, ""},
		{"POST", `{"frame": -1}`, nil, 400, `"pointer":"/frame","detail":"a JSON number -1; accepts a whole number from 0 on"`, ""},
		{"POST", `{"frame": 41, "objects": [{"id": 4294967296}]}`, nil, 400, `accepts a whole number from 0 to 4294967295`, ""},
		{"POST", `{"frame": 41, "truth": 1}`, nil, 400, `unknown field \"truth\"`, ""},
		{"POST", `{"frame": 41} 42`, nil, 400, `the body is not a JSON object`, ""},
		{"POST", `null`, nil, 400, `the body is not a JSON object: it is null`, ""},
		{"POST", ``, nil, 400, `the body is empty`, ""},
		{"POST", `{"frame": 41, "objects": [{"counts": "` + strings.Repeat("1", limit.MaxLayout) + `"}]}`, nil, 413, "256 KiB accepted", ""},
		{"PUT", `{}`, nil, 405, "accepts DELETE, GET, HEAD, POST", ""},
	} {
		c.calls, c.fail = nil, tt.fail
		contentType := ""
		if tt.body != "" || tt.method == "POST" {
			contentType = "application/json"
		}
		a := ask(t, tt.method, h.URL+"/api/v1/cameras/gate/accuracy", contentType, tt.body)
		a.want(t, tt.status, tt.want, "%s %.80s", tt.method, tt.body)
		if got := strings.Join(c.calls, " "); got != tt.call {
			t.Errorf("%s %.80s: the camera was asked %q; want %q", tt.method, tt.body, got, tt.call)
		}
	}
	var none accuracyList
	if a := ask(t, "POST", h.URL+"/api/v1/cameras/gate/accuracy", "text/plain", "{}"); a.status != 415 || json.Unmarshal([]byte(a.body), &none) != nil {
		t.Errorf("of another type: %d %q", a.status, a.body)
	}
}
