package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/checkpoint"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/memory"
)

const (
	// captureEvery is how often what changes with every frame is kept. The newest picture
	// is after each command, wholeFirst later, when there is something to be known of what was marked, and then
	// ever more seldom, down to once in wholeEvery, or in wholeNew while an object is in sight that no picture shows.
	captureEvery = time.Second
	wholeFirst   = 2 * time.Second
	wholeNew     = 5 * time.Second
	wholeEvery   = 30 * time.Second
	// saveTimeout bounds how long it takes to keep a checkpoint, that at the end included.
	saveTimeout = 5 * time.Second
	// saveLeast is between one checkpoint and the next, however often somebody annotates.
	saveLeast = 200 * time.Millisecond
	// checkpointQuality is that of the pictures, 1 to 100.
	checkpointQuality = 95
)

// capture is what a camera knows at one moment.
type capture struct {
	checkpoint.Checkpoint                   // without pictures
	short                 bool              // they are not wanted
	picture               *ingest.Frame     // one reference; nil if it is short
	masks                 *segdv1.MaskFrame // of the picture
}

func (k *capture) drop() {
	if k != nil && k.picture != nil {
		k.picture.Release()
	}
}

// keeper has captures kept, in a goroutine of its own. One that comes while another is being
// kept replaces the one that waits.
type keeper struct {
	mu      sync.Mutex
	waiting *capture
	closed  bool
	filled  chan struct{} // capacity 1
	over    chan struct{} // closed when closed is

	owing atomic.Bool // a whole one was not kept: the next is to be whole
}

func (k *keeper) put(c *capture) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.drop()
		return
	}
	if k.waiting != nil && !k.waiting.short && c.short {
		c.drop() // that one must not be lost, and another comes soon
		return
	}
	k.waiting.drop()
	k.waiting = c
	k.wake()
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	close(k.over)
	k.wake()
}

func (k *keeper) wake() {
	select {
	case k.filled <- struct{}{}:
	default:
	}
}

// take waits for a capture; nil says that none will come any more.
func (k *keeper) take() *capture {
	for {
		k.mu.Lock()
		c, closed := k.waiting, k.closed
		k.waiting = nil
		k.mu.Unlock()
		if c != nil || closed {
			return c
		}
		<-k.filled
	}
}

// rest waits until the next capture may be kept: at once after close, as others may wait for the last one.
func (k *keeper) rest() {
	select {
	case <-k.over:
	case <-time.After(saveLeast):
	}
}

// captureDue captures what is due after a frame. It is called in the camera's turn.
func (s *stages) captureDue(r *report) {
	c, now := s.c, r.published
	if r.marked {
		c.wholeIn = 0
	}
	passed := now.Sub(c.capturedWhole)
	unpictured := func(o objects.Object) bool { return o.Area > 0 && !o.Pictured }
	switch {
	case r.marked, passed >= c.wholeIn, passed >= wholeNew && slices.ContainsFunc(r.table.All(), unpictured):
		c.capture(s, true)
	case now.Sub(c.captured) >= captureEvery && len(r.table.All()) > 0:
		c.capture(s, false)
	}
}

// capture notes what the camera knows, and hands it over to be kept, with the pictures if
// whole is true. It is called in the camera's turn, with the stages that there are.
func (c *Camera) capture(s *stages, whole bool) {
	c.captured = time.Now()
	if whole = c.keeper.owing.Swap(false) || whole; whole {
		c.wholeIn = min(2*max(c.wholeIn, wholeFirst/2), wholeEvery)
		c.capturedWhole = c.captured
	}
	c.known = s.step.Snapshot()
	if c.cfg.Checkpoints == nil {
		return
	}
	frame, masks := c.newest.retain()
	if frame == nil {
		return // nothing has come yet
	}
	if whole {
		table, _ := c.newest.table().Apply(objects.Picture{})
		c.newest.setTable(table)
	}
	tracks := c.marker.Snapshot()
	k := &capture{short: !whole, masks: masks, Checkpoint: checkpoint.Checkpoint{
		Camera: c.cfg.Name, Epoch: c.epoch.Load(), FPS: c.Snapshot().FPSIn, Time: frame.Received,
		Sequence: masks.Sequence, PTS: time.Duration(masks.PtsNs), Configured: c.configuredHash, ConfiguredZones: c.zones.configured,
		Objects: c.newest.table(), Tracks: &tracks, Tracker: c.known, Zones: c.zones.watcher.Snapshot(),
	}}
	if k.short {
		frame.Release()
	} else {
		k.picture = frame
	}
	c.keeper.put(k)
}

// keep keeps captures until there are none any more.
func (c *Camera) keep(ctx context.Context) {
	p := &encoder{}
	defer p.close()
	faults := coalesced{log: c.log, message: "checkpoint not kept: a restart would not find the camera's objects where they are"}
	defer faults.flush()
	for {
		k := c.keeper.take()
		if k == nil {
			return
		}
		begun := time.Now()
		var size int
		err := guard.Call(func() (err error) {
			size, err = c.save(ctx, p, k)
			return err
		})
		k.drop()
		c.cfg.Meter.Checkpoint(size, time.Since(begun), err)
		if err != nil {
			if !k.short {
				c.keeper.owing.Store(true)
			}
			faults.add(time.Now(), err)
		}
		c.keeper.rest()
	}
}

// save keeps k, and returns its size.
func (c *Camera) save(ctx context.Context, p *encoder, k *capture) (size int, err error) {
	if !k.short {
		if err := c.addPictures(p, k); err != nil {
			return 0, err
		}
	}
	data, err := checkpoint.Encode(&k.Checkpoint)
	if err != nil {
		return 0, err
	}
	if !c.cfg.Lease.Valid() { // another box may keep its own by now
		return 0, errUnleased
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	return len(data), c.cfg.Checkpoints.Save(ctx, c.cfg.Name, data, k.short)
}

var errUnleased = errors.New("pipeline: the lease of this camera is not valid now")

// addPictures adds the pictures that the objects are remembered by, and k's own.
func (c *Camera) addPictures(p *encoder, k *capture) (err error) {
	for _, s := range c.memory.Marked() {
		json, err := s.JSON(p.encode)
		if err != nil {
			return err
		}
		k.Marked = append(k.Marked, json)
	}
	if last := memory.Shown(k.masks, k.Objects, nil, true); last != nil {
		k.Last, err = p.encode(last.Annotation, k.picture.Pix)
	}
	return err
}

// encoder makes JSON of annotations with their pictures.
type encoder struct {
	width, height int
	jpeg          *codec.JPEGEncoder
}

func (p *encoder) encode(a *annotation.Annotation, bgr []byte) ([]byte, error) {
	if p.width != a.Width || p.height != a.Height {
		p.close()
		jpeg, err := codec.NewJPEGEncoder(a.Width, a.Height, a.Width, a.Height, checkpointQuality)
		if err != nil {
			return nil, fmt.Errorf("pipeline: checkpoint: %w", err)
		}
		p.width, p.height, p.jpeg = a.Width, a.Height, jpeg
	}
	own := *a
	var err error
	if own.Picture, err = p.jpeg.Encode(bgr); err != nil {
		return nil, fmt.Errorf("pipeline: checkpoint: %w", err)
	}
	return annotation.Marshal(&own)
}

func (p *encoder) close() {
	if p.jpeg != nil {
		p.jpeg.Close()
	}
	*p = encoder{}
}
