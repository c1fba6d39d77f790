package web

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/outbox"
)

const (
	eventsKept    = 256 // for clients that come back
	eventsWaiting = 256 // for one client
	heartbeat     = 15 * time.Second
)

// notice is one event or status on its way to the clients of /events.
type notice struct {
	id     uint64
	kind   string // event or status
	camera string
	data   []byte // JSON
}

// listener is one client of /events.
type listener struct {
	camera  string // empty: all
	waiting chan notice

	mu      sync.Mutex
	dropped uint64 // since the last notice that was sent
}

// offer gives n to l and tells whether l is too slow for it.
func (l *listener) offer(n notice) (dropped bool) {
	if l.camera != "" && l.camera != n.camera {
		return false
	}
	select {
	case l.waiting <- n:
		return false
	default:
		l.mu.Lock()
		l.dropped++
		l.mu.Unlock()
		return true
	}
}

// takeDropped returns how many notices were lost since it was last called.
func (l *listener) takeDropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.dropped
	l.dropped = 0
	return n
}

// feed hands events and statuses to all who listen.
type feed struct {
	dropped atomic.Uint64 // by all listeners

	mu        sync.Mutex
	last      uint64 // id of the newest notice
	kept      outbox.Queue[notice]
	listeners map[*listener]struct{}
}

// newFeed begins with numbers above those of any process before it, so that a client
// that comes back after a restart misses nothing.
func newFeed() *feed {
	return &feed{last: uint64(time.Now().UnixMicro()), kept: outbox.New[notice](eventsKept, 0, nil), listeners: map[*listener]struct{}{}}
}

func (f *feed) tell(kind, camera string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	n := notice{f.last, kind, camera, data}
	if kind == noticeEvent {
		f.kept.Put(n)
	}
	for l := range f.listeners {
		if l.offer(n) {
			f.dropped.Add(1)
		}
	}
}

const (
	noticeEvent  = "event"
	noticeStatus = "status"
)

// join adds a listener, who first gets the kept events after the one it saw last.
func (f *feed) join(camera string, after uint64, replay bool) *listener {
	l := &listener{camera: camera, waiting: make(chan notice, eventsWaiting)}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.kept.All() {
		if replay && n.id > after {
			l.offer(n) // there is room for all that are kept
		}
	}
	f.listeners[l] = struct{}{}
	return l
}

func (f *feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
}

// events serves server-sent events until the client leaves or the server ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	camera := query.Get("camera")
	if query.Has("camera") && s.camera(camera) == nil {
		return &api.Refusal{
			Status: http.StatusNotFound, Detail: fmt.Sprintf("no camera %q; accepts those in %s/cameras", camera, apiRoot),
			Fields: []api.Field{{Field: "camera", Detail: "unknown"}},
		}
	}
	var after uint64
	given := r.Header.Get("Last-Event-ID")
	if given != "" {
		var err error
		if after, err = strconv.ParseUint(given, 10, 64); err != nil {
			return badField(api.Field{Field: "Last-Event-ID", Detail: fmt.Sprintf("%q; accepts the id of an event", given)})
		}
	}
	leave, ok := s.enter(w, r)
	if !ok {
		return nil
	}
	defer leave()
	l := s.feed.join(camera, after, given != "")
	defer s.feed.leave(l)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s.stream(w, r, l)
	return nil
}

// stream writes l's notices. Each write has a time limit of its own in place of the
// request's.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, l *listener) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // else the connection ends with the request's; httptest's recorder has none
	send := func(text []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)) // likewise
		if _, err := w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
	if send([]byte(": segd\n\n")) != nil {
		return
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	var text []byte
	for {
		text = text[:0]
		select {
		case n := <-l.waiting:
			text = fmt.Appendf(text, "id: %d\nevent: %s\ndata: %s\n\n", n.id, n.kind, n.data)
		case <-tick.C:
			text = append(text, ": still here\n\n"...)
		case <-r.Context().Done():
			return
		case <-s.quit:
			return
		}
		if n := l.takeDropped(); n > 0 {
			text = fmt.Appendf(text, "event: dropped\ndata: {\"count\":%d}\n\n", n)
		}
		if send(text) != nil {
			return
		}
	}
}

// Event tells of something that happened at a camera. It keeps nothing of ev.
func (s *Server) Event(ev *segdv1.Event) {
	data, err := wire.Marshal(ev)
	if err != nil {
		s.cfg.Logger.Error("event not shown", "camera", ev.GetCamera(), "error", err)
		return
	}
	s.feed.tell(noticeEvent, ev.GetCamera(), data)
	if c := s.camera(ev.GetCamera()); c != nil {
		c.tellEvent(data)
	}
}
