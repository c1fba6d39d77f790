package web

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
)

// sse is a client of /events.
type sse struct {
	t    *testing.T
	scan *bufio.Scanner
	end  context.CancelFunc
}

func follow(t *testing.T, url string, header ...string) *sse {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
	})
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	s := &sse{t, bufio.NewScanner(resp.Body), cancel}
	s.scan.Buffer(nil, 1<<20)
	return s
}

// next returns the fields of the next notice; comments are skipped.
func (s *sse) next() map[string]string {
	s.t.Helper()
	fields := map[string]string{}
	for s.scan.Scan() {
		line := s.scan.Text()
		if name, value, ok := strings.Cut(line, ": "); ok && name != "" {
			fields[name] = value
		}
		if line == "" && len(fields) > 0 {
			return fields
		}
	}
	s.t.Fatalf("the stream ended: %v", s.scan.Err())
	return nil
}

func (s *sse) event() (id uint64, ev *segdv1.Event) {
	s.t.Helper()
	fields := s.next()
	ev = new(segdv1.Event)
	if err := protojson.Unmarshal([]byte(fields["data"]), ev); err != nil || fields["event"] != "event" {
		s.t.Fatalf("%v: %v", fields, err)
	}
	id, err := strconv.ParseUint(fields["id"], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return id, ev
}

func renamed(camera string, id uint32) *segdv1.Event {
	return &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED, Camera: camera, ObjectId: id, ObjectLabel: "two\nlines"}
}

func (f *feed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}

func TestEvents(t *testing.T) {
	s, h := serve(t, Config{}, "gate", "yard")
	all, yard := follow(t, h.URL+"/api/v1/events"), follow(t, h.URL+"/api/v1/events?camera=yard")
	waitFor(t, "both to listen", func() bool { return s.feed.count() == 2 })

	s.Event(renamed("gate", 1))
	s.Event(renamed("yard", 2))
	s.Status(&segdv1.Status{Camera: "yard", Up: true, FpsIn: 25})
	first, ev := all.event()
	if ev.Camera != "gate" || ev.ObjectId != 1 || ev.ObjectLabel != "two\nlines" {
		t.Errorf("got %v", ev)
	}
	second, ev := all.event()
	if ev.Camera != "yard" || second <= first {
		t.Errorf("got %v with id %d after %d", ev, second, first)
	}
	if _, ev := yard.event(); ev.Camera != "yard" {
		t.Errorf("of yard alone: %v", ev)
	}
	for _, l := range []*sse{all, yard} {
		fields := l.next()
		st := new(segdv1.Status)
		if err := protojson.Unmarshal([]byte(fields["data"]), st); err != nil || fields["event"] != "status" || st.FpsIn != 25 {
			t.Errorf("status %v: %v", fields, err)
		}
	}

	// Who comes back gets what it missed, and no more.
	back := follow(t, h.URL+"/api/v1/events", "Last-Event-ID", strconv.FormatUint(first, 10))
	if id, ev := back.event(); id != second || ev.Camera != "yard" {
		t.Errorf("missed %v with id %d; want %d", ev, id, second)
	}

	all.end()
	yard.end()
	back.end()
	waitFor(t, "all to leave", func() bool { return s.feed.count() == 0 })
}

// A client that reads nothing costs bounded memory, and is told what it lost.
func TestEventsOfASlowClient(t *testing.T) {
	f := newFeed()
	slow, quick := f.join("", 0, false), f.join("gate", 0, false)
	for i := range uint32(3 * eventsWaiting) {
		f.tell(noticeEvent, "gate", []byte(fmt.Sprint(i)))
		<-quick.waiting
	}
	assert.Equal(t, eventsWaiting, len(slow.waiting), "wait")
	assert.EqualValues(t, 2*eventsWaiting, slow.takeDropped(), "dropped")
	if n := quick.takeDropped(); n != 0 || slow.takeDropped() != 0 {
		t.Errorf("%d dropped for one that reads", n)
	}
	assert.EqualValues(t, 2*eventsWaiting, f.dropped.Load(), "dropped in all")
	assert.Equal(t, eventsKept, f.kept.Len(), "kept")
}

func TestEventsTellWhatWasDropped(t *testing.T) {
	s, h := serve(t, Config{}, "gate")
	c := follow(t, h.URL+"/api/v1/events")
	waitFor(t, "it to listen", func() bool { return s.feed.count() == 1 })
	s.feed.mu.Lock()
	for l := range s.feed.listeners {
		l.mu.Lock()
		l.dropped = 7
		l.mu.Unlock()
	}
	s.feed.mu.Unlock()
	s.Event(renamed("gate", 1))
	c.event()
	if fields := c.next(); fields["event"] != "dropped" || fields["data"] != `{"count":7}` {
		t.Errorf("got %v", fields)
	}
}

func TestEventsRefused(t *testing.T) {
	s, h := serve(t, Config{MaxViewers: 1}, "gate")
	for _, tt := range []struct {
		path, id string
		status   int
	}{
		{"?camera=attic", "", 404},
		{"?camera=", "", 404},
		{"", "yesterday", 400},
	} {
		ask(t, "GET", h.URL+"/api/v1/events"+tt.path, "", "", "Last-Event-ID", tt.id).want(t, tt.status, "", "%q after %q", tt.path, tt.id)
	}
	follow(t, h.URL+"/api/v1/events")
	waitFor(t, "it to listen", func() bool { return s.feed.count() == 1 })
	ask(t, "GET", h.URL+"/api/v1/events", "", "").want(t, 503, "limit of 1 viewers", "one too many")
}
