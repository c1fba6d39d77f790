package web

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/waitfor"
)

// testHistory has events with rising sequences; next is a sequence, too.
type testHistory struct {
	events []*segdv1.Event // the newest first
	fail   error
	asked  []api.Kept
	block  chan struct{} // not nil: Kept waits for it
}

func (h *testHistory) Kept(_ context.Context, q api.Kept) (events []*segdv1.Event, next uint64, err error) {
	h.asked = append(h.asked, q)
	if h.block != nil {
		<-h.block
	}
	for _, ev := range h.events {
		if q.Before != 0 && ev.Sequence >= q.Before {
			continue
		}
		if len(events) == q.Limit {
			return events, events[len(events)-1].Sequence, h.fail
		}
		events = append(events, ev)
	}
	return events, 0, h.fail
}

func (h *testHistory) Picture(_ context.Context, camera, name string) ([]byte, error) {
	if camera == "gate" && strings.HasPrefix(name, "0-") {
		return []byte("picture " + name), h.fail
	}
	return nil, h.fail
}

func newTestHistory(n int) *testHistory {
	h := &testHistory{}
	for i := n; i > 0; i-- {
		h.events = append(h.events, &segdv1.Event{
			Camera: "gate", Sequence: uint64(i), Time: timestamppb.New(time.Unix(1_800_000_000+int64(i), 0)), Kind: segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED,
			ObjectId: 1, Thumbnail: fmt.Sprintf("/api/v1/cameras/gate/thumbnails/%d-%d-1.jpg", i%3/2, i/2),
		})
	}
	return h
}

func TestHistory(t *testing.T) {
	history := newTestHistory(120)
	_, h := serve(t, Config{History: history}, "gate")
	all := api.Kept{
		Camera: "gate", Class: "traffic light", Kind: "object_entered", Zone: "lawn", Object: "Ann", Before: 7, Limit: 3,
		From: time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC), To: time.Date(2027, 1, 31, 8, 0, 0, 500_000_000, time.UTC),
	}
	for _, tt := range []struct {
		query  string
		asked  api.Kept
		status int
		want   []string
	}{
		{"", api.Kept{Limit: 50}, 200, []string{`"sequence":"120"`, `"next":"71"`, `"kind":"EVENT_KIND_OBJECT_ENTERED"`}},
		{"?limit=200", api.Kept{Limit: 200}, 200, []string{`"sequence":"1"`}},
		{
			"?camera=gate&class=traffic+light&kind=object_entered&zone=lawn&object=Ann&before=7&limit=3&from=2027-01-31T08:00:00Z&to=2027-01-31T08:00:00.5Z",
			all, 200, []string{`"sequence":"6"`, `"next":"4"`},
		},
		{"?limit=201&camera=a.*&kind=entered&from=yesterday&before=0&zone=&hue=red&class=a&class=b", api.Kept{}, 400, []string{
			`"field":"before","detail":"\"0\"; accepts the next of an answer"`, `"field":"camera","detail":"\"a.*\"; accepts the name of a camera"`,
			`"field":"class","detail":"it is there 2 times; accepts one"`, `"field":"from","detail":"\"yesterday\"; accepts a time of RFC 3339`,
			`"field":"hue","detail":"no such parameter; accepts before, camera, class, from, kind, limit, object, to, zone"`,
			`"field":"kind","detail":"\"entered\"; accepts annotation_accepted,`, `"field":"limit","detail":"\"201\"; accepts 1 to 200"`,
			`"field":"zone","detail":"0 characters; accepts 1 to 100"`,
		}},
		{"?from=2027-01-31T08:00:00Z&to=2027-01-31T08:00:00%2B01:00", api.Kept{}, 400, []string{`"field":"to","detail":"it is not after from`}},
	} {
		history.asked = nil
		a := ask(t, "GET", h.URL+"/api/v1/history"+tt.query, "", "")
		if a.status != tt.status || tt.status == 200 && !slices.Equal(history.asked, []api.Kept{tt.asked}) || tt.status != 200 && history.asked != nil {
			t.Errorf("%s: %d %.300s; asked for %+v, want %+v", tt.query, a.status, a.body, history.asked, tt.asked)
		}
		for _, want := range tt.want {
			assert.Contains(t, a.body, want, "%s", tt.query)
		}
	}
	history.fail = &api.Refusal{Status: http.StatusServiceUnavailable, Detail: "not connected"}
	for _, path := range []string{"/history", "/history/export", "/cameras/gate/thumbnails/0-1-1.jpg"} {
		ask(t, "GET", h.URL+"/api/v1"+path, "", "").want(t, 503, "not connected", "%s", path)
	}
	_, h = serve(t, Config{}, "gate")
	for _, path := range []string{"/history", "/history/export"} {
		ask(t, "GET", h.URL+"/api/v1"+path, "", "").want(t, 404, "keeps no events", "%s", path)
	}
}

// An export has each event, and each picture once that there is.
func TestHistoryExport(t *testing.T) {
	history := newTestHistory(450)
	_, h := serve(t, Config{History: history}, "gate")
	for _, n := range []int{450, 201} {
		query := ""
		if n != 450 {
			query = fmt.Sprintf("?camera=gate&limit=%d", n)
		}
		a := ask(t, "GET", h.URL+"/api/v1/history/export"+query, "", "")
		if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Disposition"), `attachment; filename="segd-events-`) {
			t.Fatalf("%d %v", a.status, a.header)
		}
		file, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
		require.NoError(t, err)
		want := map[string]string{}
		for _, ev := range history.events[:n] {
			if name := ev.Thumbnail[strings.LastIndexByte(ev.Thumbnail, '/')+1:]; strings.HasPrefix(name, "0-") {
				want["pictures/gate/"+name] = "picture " + name
			}
		}
		for _, f := range file.File {
			r, err := f.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			if f.Name == "events.jsonl" {
				if lines := bytes.Split(bytes.TrimSpace(data), []byte("\n")); len(lines) != n || !bytes.Contains(lines[n-1], fmt.Appendf(nil, `"sequence":"%d"`, 451-n)) {
					t.Errorf("%d events, the last is %s; want %d", len(lines), lines[len(lines)-1], n)
				}
				continue
			}
			if want[f.Name] != string(data) {
				t.Errorf("%s: %q; want %q", f.Name, data, want[f.Name])
			}
			delete(want, f.Name)
		}
		if len(want) > 0 {
			t.Errorf("%d pictures are missing: %v", len(want), want)
		}
	}
}

// There is one export at a time.
func TestHistoryExportsOne(t *testing.T) {
	history := newTestHistory(1)
	history.block = make(chan struct{})
	s, _ := serve(t, Config{History: history}, "gate")
	export := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/api/v1/history/export", nil))
		return w
	}
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- export() }()
	waitfor.True(t, "the first export", func() bool { return len(s.exports) == 1 })
	if w := export(); w.Code != 429 || w.Header().Get("Retry-After") != "10" {
		t.Errorf("another one meanwhile: %d %v", w.Code, w.Header())
	}
	history.block <- struct{}{}
	if w := <-first; w.Code != 200 {
		t.Errorf("the first: %d %s", w.Code, w.Body)
	}
}

// What the newest thumbnails have no longer is fetched from those that are kept.
func TestHistoryThumbnail(t *testing.T) {
	_, h := serve(t, Config{History: newTestHistory(0)}, "gate", "yard")
	for path, want := range map[string]int{"gate/thumbnails/0-1-1.jpg": 200, "gate/thumbnails/1-1-1.jpg": 404, "yard/thumbnails/0-1-1.jpg": 404, "attic/thumbnails/0-1-1.jpg": 404} {
		if a := ask(t, "GET", h.URL+"/api/v1/cameras/"+path, "", ""); a.status != want || want == 200 && a.body != "picture 0-1-1.jpg" {
			t.Errorf("%s: %d %s; want %d", path, a.status, a.body, want)
		}
	}
}
