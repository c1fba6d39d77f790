package web

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/coalesce"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/web/internal/thumbnail"
)

// wire writes every field, so that the page need not know defaults.
var wire = protojson.MarshalOptions{EmitUnpopulated: true}

// packet is one encoded frame, shared by all viewers and never changed.
type packet struct {
	header []byte // MaskFrame as JSON
	jpeg   []byte // empty: the camera's stream has the picture
}

// camera is what the server knows of one camera, and who watches it.
type camera struct {
	name     string
	faults   coalesce.Log
	gone     chan struct{}  // closed when the camera is removed
	watching atomic.Int32   // len(viewers), readable without mu
	skipped  *atomic.Uint64 // frames that viewers were too slow for, of all cameras

	encoders   encoders
	thumbnails thumbnail.Ring

	mu            sync.Mutex // guards what follows
	viewers       map[*viewer]struct{}
	status        []byte // newest Status as JSON; nil before the first
	width, height int
}

func newCamera(name string, cfg Config, skipped *atomic.Uint64) *camera {
	return &camera{
		skipped: skipped,
		name:    name, gone: make(chan struct{}),
		faults:   coalesce.Log{Write: cfg.Logger.With("camera", name).Error, Message: "frame or status not shown"},
		encoders: encoders{quality: cfg.JPEGQuality}, viewers: make(map[*viewer]struct{}),
	}
}

// publish makes one JPEG for each size that viewers wait for now, and another for those who see more of it.
func (c *camera) publish(mf *segdv1.MaskFrame, p *privacy.Picture) {
	width, height := int(mf.GetWidth()), int(mf.GetHeight())
	c.mu.Lock()
	c.width, c.height = width, height
	c.mu.Unlock()
	if c.watching.Load() == 0 {
		return
	}
	waiting := c.due(time.Now(), width, p)
	if len(waiting) == 0 {
		return
	}
	header, err := wire.Marshal(mf)
	if err != nil {
		c.faults.Add(1, fmt.Errorf("web: encoding frame %d: %w", mf.GetSequence(), err))
		return
	}
	for as, viewers := range waiting {
		var picture []byte
		if as.width != 0 {
			if picture, err = c.encoders.encode(p.BGR(as.plain), width, height, as.width); err != nil {
				c.faults.Add(1, err)
				return
			}
		}
		c.hand(&packet{header: header, jpeg: picture}, viewers)
	}
}

// hand gives p to viewers and waits for none.
func (c *camera) hand(p *packet, viewers []*viewer) {
	for _, v := range viewers {
		if v.offer(p) {
			c.skipped.Add(1)
		}
	}
}

// shown is how a frame is: how wide, 0 without its picture, and whether all of it is.
type shown struct {
	width int
	plain bool
}

// due returns the viewers whose time it is for a frame of that width, by what they get.
func (c *camera) due(now time.Time, width int, p *privacy.Picture) map[shown][]*viewer {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := map[shown][]*viewer{}
	for v := range c.viewers {
		if !v.due(now) {
			continue
		}
		as := shown{width, p.Plain(v.options.operator)}
		switch {
		case v.options.streamed && as.plain == p.Plain(false): // streams are as for who is no operator
			as.width = 0
		case v.options.width != 0:
			as.width = min(width, v.options.width)
		}
		waiting[as] = append(waiting[as], v)
	}
	return waiting
}

// setStatus shows st to the viewers and returns it as JSON, nil if that failed.
func (c *camera) setStatus(st *segdv1.Status) []byte {
	status, err := wire.Marshal(st)
	if err != nil {
		c.faults.Add(1, fmt.Errorf("web: encoding status: %w", err))
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
	for v := range c.viewers {
		v.tell(status)
	}
	return status
}

// tellEvent shows an event, as JSON, to the viewers there are.
func (c *camera) tellEvent(ev []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.viewers {
		v.event(ev)
	}
}

func (c *camera) add(v *viewer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewers[v] = struct{}{}
	c.watching.Store(int32(len(c.viewers)))
	if c.status != nil {
		v.tell(c.status)
	}
}

func (c *camera) remove(v *viewer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.viewers, v)
	c.watching.Store(int32(len(c.viewers)))
}

func (c *camera) info() cameraInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cameraInfo{Name: c.name, Width: c.width, Height: c.height, Viewers: len(c.viewers), Status: c.status}
}
