package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/outputs/recording"
)

// testRecordings has one segment, of gate.
type testRecordings struct {
	file   string
	hidden bool
	asked  string
}

var recorded = recording.Segment{Start: time.Date(2027, 1, 31, 8, 0, 0, 5e6, time.UTC), Duration: 30 * time.Second, Bytes: 10}

func (r *testRecordings) State(string) (recording.State, error) {
	if r.hidden {
		return recording.State{}, &api.Refusal{Status: http.StatusNotFound, Detail: "it hides something"}
	}
	return recording.State{Is: recording.Waiting, Reason: "no video comes"}, nil
}

func (r *testRecordings) Segments(camera string, from, to time.Time, limit int) ([]recording.Segment, bool) {
	r.asked = fmt.Sprint(camera, from.Unix(), to.Unix(), limit)
	return []recording.Segment{recorded}, true
}

func (r *testRecordings) Video(camera, name string) (*os.File, error) {
	if camera != "gate" || name != recorded.Name() {
		return nil, nil
	}
	return os.Open(r.file)
}

func (r *testRecordings) Masks(camera, name string, each func(*segdv1.MaskFrame) error) (bool, error) {
	if camera != "gate" || name != recorded.Name() {
		return false, nil
	}
	for i := range 2 {
		if err := each(&segdv1.MaskFrame{Sequence: uint64(i), PtsNs: int64(i) * 1e8}); err != nil {
			return true, err
		}
	}
	return true, nil
}

func TestRecordings(t *testing.T) {
	r := &testRecordings{file: filepath.Join(t.TempDir(), "a.mp4")}
	if err := os.WriteFile(r.file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	const operator, viewer = "operator-0123456789", "viewer-0123456789"
	_, h := serve(t, Config{Recordings: r, Token: operator, ViewerToken: viewer}, "gate", "yard")
	get := func(path, token string, header ...string) answer {
		t.Helper()
		return ask(t, "GET", h.URL+"/api/v1/cameras/"+path, "", "", append(header, "Authorization", "Bearer "+token)...)
	}
	for _, tt := range []struct {
		path   string
		header []string
		status int
		want   string
	}{
		{"gate/recordings", nil, 200, `"state":"waiting","reason":"no video comes","segments":[{"name":"20270131T080000.005Z","start":"2027-01-31T08:00:00.005Z","end":"2027-01-31T08:00:30.005Z","bytes":10}],"more":true`},
		{"gate/recordings?from=2027-01-31T08:00:00Z&to=2027-01-31T08:00:01Z&limit=3", nil, 200, `"more":true`},
		{"gate/recordings?limit=2881&from=x", nil, 400, `"field":"limit","detail":"\"2881\"; accepts 1 to 2880"`},
		{"gate/recordings?from=2027-01-31T08:00:00Z&to=2027-01-31T08:00:00Z", nil, 400, `"field":"to"`},
		{"barn/recordings", nil, 404, "barn"},
		{"gate/recordings/" + recorded.Name(), nil, 200, "0123456789"},
		{"gate/recordings/" + recorded.Name(), []string{"Range", "bytes=2-4"}, 206, "234"},
		{"gate/recordings/" + recorded.Name(), []string{"Range", "bytes=20-"}, 416, "it has 10 bytes"},
		{"yard/recordings/" + recorded.Name(), nil, 404, "camera yard has no recording"},
		{"gate/recordings/" + recorded.Name() + "/masks", nil, 200, `"sequence":"1"`},
		{"yard/recordings/" + recorded.Name() + "/masks", nil, 404, "no recording"},
	} {
		for _, token := range []string{viewer, operator} {
			if a := get(tt.path, token, tt.header...); a.status != tt.status || !strings.Contains(strings.ReplaceAll(a.body, ": ", ":"), tt.want) {
				t.Errorf("%s: %d %s; want %d, %s", tt.path, a.status, a.body, tt.status, tt.want)
			}
		}
		if a := get(tt.path, "nobody-0123456789"); a.status != 401 {
			t.Errorf("%s without a token: %d", tt.path, a.status)
		}
	}
	if a := get("gate/recordings?from=2027-01-31T08:00:00Z&limit=3", viewer); a.status != 200 || r.asked != fmt.Sprint("gate", 1801382400, time.Time{}.Unix(), 3) {
		t.Errorf("%d; asked for %s", a.status, r.asked)
	}
	if a := get("gate/recordings/"+recorded.Name()+"/masks", viewer); strings.Count(a.body, "\n") != 2 {
		t.Errorf("not a line for each frame: %q", a.body)
	}
	r.hidden = true
	for _, path := range []string{"", "/" + recorded.Name(), "/" + recorded.Name() + "/masks"} {
		if a := get("gate/recordings"+path, operator); a.status != 404 || !strings.Contains(a.body, "hides something") {
			t.Errorf("%s while something is hidden: %d %s", path, a.status, a.body)
		}
	}
	_, h = serve(t, Config{}, "gate")
	ask(t, "GET", h.URL+"/api/v1/cameras/gate/recordings", "", "").want(t, 404, "recording.dir is not set", "without recordings")
}
