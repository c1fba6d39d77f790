package web

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/outbox"
)

const (
	maxWindow      = 16
	maxEvents      = 32               // that wait for a viewer
	maxMessageSize = 128              // bytes a viewer may send at once; acknowledgements are a few
	pingEvery      = 15 * time.Second // finds viewers that went away without a word
	pingTimeout    = 10 * time.Second
	closeGrace     = time.Second // how long a viewer may take to say goodbye
)

// liveOptions is what a viewer asks for.
type liveOptions struct {
	window int // frames that may be unacknowledged; 0: any number
	width  int // of pictures, in pixels; 0: as they come
	fps    int // at most; 0: as they come

	streamed bool // pictures that the camera's stream shows alike are left out
	operator bool // who asks is one
}

// widths are those of small pictures: few, so that each is made once for many.
var widths = []int{160, 320, 640}

const maxFPS = 30

// due tells whether it is time for v to get a frame. Viewers of one rate are due at the
// same frame, the first of each fraction of a second.
func (v *viewer) due(now time.Time) bool {
	if v.options.fps == 0 {
		return true
	}
	slot := now.UnixNano() / (int64(time.Second) / int64(v.options.fps))
	if slot == v.slot {
		return false
	}
	v.slot = slot
	return true
}

// viewer is one live connection to one camera.
type viewer struct {
	conn    *websocket.Conn
	timeout time.Duration // of one write
	options liveOptions
	wake    chan struct{} // holds one token when there may be something to send
	leaving atomic.Bool   // the closing handshake is going on
	slot    int64         // of the last frame offered, guarded by its camera's mu

	mu       sync.Mutex // guards what follows
	status   []byte     // newest unsent status
	events   outbox.Queue[[]byte]
	frame    *packet // newest unsent frame
	inFlight int     // frames sent and not acknowledged
	dropped  uint64  // frames replaced before they were sent
}

func newViewer(conn *websocket.Conn, options liveOptions, timeout time.Duration) *viewer {
	conn.SetReadLimit(maxMessageSize)
	return &viewer{conn: conn, timeout: timeout, options: options, wake: make(chan struct{}, 1), events: outbox.New[[]byte](maxEvents, 0, nil)}
}

// offer puts p in the mailbox, in place of an unsent frame if there is one, and
// tells whether there was.
func (v *viewer) offer(p *packet) (replaced bool) {
	v.mu.Lock()
	if replaced = v.frame != nil; replaced {
		v.dropped++
	}
	v.frame = p
	v.mu.Unlock()
	v.signal()
	return replaced
}

// forget drops the frame in the mailbox.
func (v *viewer) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.frame != nil {
		v.frame = nil
		v.dropped++
	}
}

func (v *viewer) tell(status []byte) {
	v.mu.Lock()
	v.status = status
	v.mu.Unlock()
	v.signal()
}

// event keeps ev for the viewer, and the oldest no longer when there are too many.
func (v *viewer) event(ev []byte) {
	v.mu.Lock()
	v.events.Put(ev)
	v.mu.Unlock()
	v.signal()
}

func (v *viewer) acknowledge() {
	v.mu.Lock()
	v.inFlight = max(0, v.inFlight-1)
	v.mu.Unlock()
	v.signal()
}

func (v *viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// take empties the mailbox of what may be sent now.
func (v *viewer) take() (status []byte, events [][]byte, frame *packet, dropped uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	status, v.status = v.status, nil
	events = slices.Clone(v.events.All())
	v.events.Drop(len(events))
	if v.frame != nil && (v.options.window == 0 || v.inFlight < v.options.window) {
		frame, v.frame = v.frame, nil
		v.inFlight++
	}
	return status, events, frame, v.dropped
}

// run serves the viewer until it leaves or fails, or quit, gone or moved is closed. It
// returns when all its goroutines have ended.
func (v *viewer) run(ctx context.Context, quit, gone, moved <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, part := range []func(context.Context){v.read, v.write, v.ping} {
		wg.Go(func() {
			part(ctx)
			if !v.leaving.Load() { // else writing fails, and must not cut the handshake short
				cancel()
			}
		})
	}
	select {
	case <-ctx.Done():
	case <-quit:
		v.goodbye(cancel, websocket.StatusGoingAway, "segd is stopping")
	case <-gone:
		v.goodbye(cancel, websocket.StatusGoingAway, "the camera was removed")
	case <-moved:
		v.goodbye(cancel, websocket.StatusGoingAway, "another box runs the camera")
	}
	cancel()
	_ = v.conn.CloseNow() // may be closed already
	wg.Wait()
}

// goodbye closes with the handshake, but waits no longer than closeGrace for a
// peer that does not answer: ending the context closes the connection under it.
func (v *viewer) goodbye(cancel context.CancelFunc, code websocket.StatusCode, reason string) {
	v.leaving.Store(true)
	timer := time.AfterFunc(closeGrace, cancel)
	defer timer.Stop()
	_ = v.conn.Close(code, reason)
}

// read takes acknowledgements; it also answers pings and notices the end.
func (v *viewer) read(ctx context.Context) {
	for {
		if _, _, err := v.conn.Read(ctx); err != nil {
			return
		}
		v.acknowledge()
	}
}

func (v *viewer) write(ctx context.Context) {
	var buf []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.wake:
		}
		status, events, frame, dropped := v.take()
		if status != nil {
			buf = appendNotice(buf[:0], noticeStatus, status)
			if v.send(ctx, websocket.MessageText, buf) != nil {
				return
			}
		}
		for _, ev := range events {
			buf = appendNotice(buf[:0], noticeEvent, ev)
			if v.send(ctx, websocket.MessageText, buf) != nil {
				return
			}
		}
		if frame != nil {
			buf = appendFrame(buf[:0], frame, dropped, time.Now())
			if v.send(ctx, websocket.MessageBinary, buf) != nil {
				return
			}
		}
	}
}

func (v *viewer) send(ctx context.Context, kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	return v.conn.Write(ctx, kind, message)
}

func (v *viewer) ping(ctx context.Context) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
		err := v.conn.Ping(pingCtx)
		cancel()
		if err != nil {
			return
		}
	}
}

// appendNotice appends an event or a status as a text message.
func appendNotice(dst []byte, kind string, data []byte) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, kind...)
	dst = append(dst, `":`...)
	dst = append(dst, data...)
	return append(dst, '}')
}

// appendFrame appends the binary message described in the package comment.
func appendFrame(dst []byte, p *packet, dropped uint64, sent time.Time) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, `{"dropped":`...)
	dst = strconv.AppendUint(dst, dropped, 10)
	dst = append(dst, `,"sent":`...)
	dst = strconv.AppendFloat(dst, float64(sent.UnixMicro())/1000, 'f', 3, 64)
	dst = append(dst, `,"frame":`...)
	dst = append(dst, p.header...)
	dst = append(dst, '}')
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return append(dst, p.jpeg...)
}

// live makes a viewer of the request.
func (s *Server) live(w http.ResponseWriter, r *http.Request, c *camera) error {
	options, err := parseLiveOptions(r.URL.Query())
	if err != nil {
		return err
	}
	options.operator = s.gate.role(r) == mayOperate
	leave, ok := s.enter(w, r)
	if !ok {
		return nil
	}
	defer leave()
	// Accept refuses other origins and writes its own answer.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.cfg.Logger.Debug("live connection refused", "camera", c.name, "remote", r.RemoteAddr, "error", err)
		return nil
	}
	defer func() { _ = conn.CloseNow() }()    // net/http no longer does, whatever happens
	ctx := context.WithoutCancel(r.Context()) // the request ended with the upgrade
	moved, end := s.whenMoved(ctx, c.name, "")
	defer end()
	v := newViewer(conn, options, s.cfg.WriteTimeout)
	c.add(v)
	defer c.remove(v)
	v.run(ctx, s.quit, c.gone, moved.Done())
	return nil
}

func parseLiveOptions(query url.Values) (options liveOptions, err error) {
	known := []string{"window", "width", "fps", "pictures"}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return options, badField(api.Field{Field: name, Detail: fmt.Sprintf("no such option; accepts %s", strings.Join(known, ", "))})
		}
	}
	number := func(name string, ok func(n int) bool, accepts string) (n int) {
		values := query[name]
		if len(values) == 0 || err != nil {
			return 0
		}
		n, fault := strconv.Atoi(values[0])
		if fault != nil || len(values) > 1 || !ok(n) {
			err = badField(api.Field{Field: name, Detail: fmt.Sprintf("%q; accepts %s", values, accepts)})
		}
		return n
	}
	options.window = number("window", func(n int) bool { return n >= 1 && n <= maxWindow }, fmt.Sprintf("a number of frames from 1 to %d", maxWindow))
	options.width = number("width", func(n int) bool { return slices.Contains(widths, n) }, fmt.Sprintf("one of %d pixels", widths))
	options.fps = number("fps", func(n int) bool { return n >= 1 && n <= maxFPS }, fmt.Sprintf("a number of frames a second from 1 to %d", maxFPS))
	if values, given := query["pictures"]; given && err == nil {
		if options.streamed = slices.Equal(values, []string{"streamed"}); !options.streamed {
			err = badField(api.Field{Field: "pictures", Detail: fmt.Sprintf("%q; accepts streamed: without those that the camera's stream shows alike", values)})
		}
	}
	return options, err
}
