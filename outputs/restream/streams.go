package restream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
)

// Overlay is what the path of a stream with the masks drawn ends with, CAMERA/overlay.
const Overlay = "overlay"

// The protocols that viewers may watch by.
const (
	RTSPProtocol = "rtsp"
	WHEPProtocol = "whep"
)

// DefaultViewers is how many may watch at once, all streams together.
const DefaultViewers = 64

// Why a viewer cannot watch, or not any longer.
var (
	// ErrNoStream: there is no stream at that path.
	ErrNoStream = errors.New("no such stream")
	// ErrFull: there are as many viewers as may be.
	ErrFull = errors.New("too many viewers")
	// ErrClosed: segd ends.
	ErrClosed = errors.New("the streams are closed")
	// ErrRemoved: the camera is not here any more.
	ErrRemoved = errors.New("the camera was removed, or another box runs it now")
)

// Config says how many may watch. Zero fields mean the default.
type Config struct {
	// Viewers are at most as many at once, and half of them of one stream. 0: DefaultViewers.
	Viewers int
	// Logger takes what happens. Nil discards.
	Logger *slog.Logger
}

// Streams are those of all cameras. Make them with New.
type Streams struct {
	cfg                       Config
	encoded, dropped, refused atomic.Uint64

	mu      sync.Mutex // guards what follows
	cameras map[string]camera
	viewers map[string]int // by protocol
	closed  bool
}

// camera has the streams of one.
type camera struct{ plain, overlay *stream }

// New returns streams of no camera yet. Close must follow.
func New(cfg Config) *Streams {
	cfg.Viewers = cmp.Or(cfg.Viewers, DefaultViewers)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Streams{cfg: cfg, cameras: map[string]camera{}, viewers: map[string]int{RTSPProtocol: 0, WHEPProtocol: 0}}
}

// Cameras sets which cameras there are. Who watches one that is gone is sent away; one that stays keeps its viewers.
func (s *Streams) Cameras(names []string) {
	s.mu.Lock()
	kept, gone := map[string]camera{}, s.cameras
	for _, name := range names {
		c, known := gone[name]
		switch {
		case s.closed:
			continue
		case !known:
			c = camera{newStream(s, name, false), newStream(s, name+"/"+Overlay, true)}
		}
		kept[name] = c
	}
	s.cameras = kept
	s.mu.Unlock()
	for name, c := range gone {
		if _, stays := kept[name]; !stays {
			c.plain.close(ErrRemoved)
			c.overlay.close(ErrRemoved)
		}
	}
}

// Publish sends a frame to those who watch: bgr returns its picture, tight rows of m.Width×3 bytes, and is called if
// there are viewers. It encodes on the caller's goroutine, waits for no viewer, and keeps neither argument.
func (s *Streams) Publish(m *segdv1.MaskFrame, bgr func() []byte) {
	s.mu.Lock()
	c, known := s.cameras[m.GetCamera()]
	s.mu.Unlock()
	if known {
		c.plain.publish(m, bgr)
		c.overlay.publish(m, bgr)
	}
}

// Watch lets a viewer in who watches the stream at path, CAMERA or CAMERA/overlay, by that protocol. The packets come
// once Start is called, by write, one call after the other: it may change neither header nor payload, and must not block.
// Where it returns an error the viewer is too slow. end is called, at most once, if the stream ends before Leave is
// called. Neither may call the Viewer's methods. The error wraps ErrNoStream, ErrRemoved, ErrFull or ErrClosed.
func (s *Streams) Watch(protocol, path string, write func(p *rtp.Packet, captured time.Time) error, end func(error)) (*Viewer, error) {
	st, err := s.enter(protocol, path)
	if err != nil {
		return nil, err
	}
	v := &Viewer{stream: st, protocol: protocol, write: write, end: end}
	if err := st.add(v, (s.cfg.Viewers+1)/2); err != nil {
		s.leave(protocol)
		return nil, err
	}
	return v, nil
}

// enter finds a stream and counts a viewer in.
func (s *Streams) enter(protocol, path string) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.find(path)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range s.viewers {
		total += n
	}
	if total >= s.cfg.Viewers {
		s.refused.Add(1)
		return nil, fmt.Errorf("%w: all streams together have their limit of %d (http.viewers)", ErrFull, s.cfg.Viewers)
	}
	s.viewers[protocol]++
	return st, nil
}

// Check tells why no viewer can watch the stream at path. It does not look at the limits.
func (s *Streams) Check(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.find(path)
	return err
}

func (s *Streams) find(path string) (*stream, error) {
	name, rest, below := strings.Cut(path, "/")
	c, known := s.cameras[name]
	switch {
	case s.closed:
		return nil, ErrClosed
	case known && !below:
		return c.plain, nil
	case known && rest == Overlay:
		return c.overlay, nil
	}
	return nil, fmt.Errorf("%w %q; accepts CAMERA and CAMERA/%s, of the cameras %q", ErrNoStream, limit.Cut(path, 80), Overlay, slices.Sorted(maps.Keys(s.cameras)))
}

func (s *Streams) leave(protocol string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers[protocol]--
}

// Stats is how the streams do. The counts are since New.
type Stats struct {
	Viewers map[string]int // by protocol
	Encoded uint64         // frames
	Dropped uint64         // frames that a viewer was too slow for
	Refused uint64         // viewers who came when there were as many as may be
}

// Stats tells how the streams do.
func (s *Streams) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{maps.Clone(s.viewers), s.encoded.Load(), s.dropped.Load(), s.refused.Load()}
}

// Close ends all viewers and lets no other in. It may be called more than once.
func (s *Streams) Close() {
	s.mu.Lock()
	s.closed = true
	all := s.cameras
	s.cameras = map[string]camera{}
	s.mu.Unlock()
	for _, c := range all {
		c.plain.close(ErrClosed)
		c.overlay.close(ErrClosed)
	}
}
