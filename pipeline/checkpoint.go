package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/checkpoint"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

// Checkpoints keep what cameras know over a restart; *bus.Checkpoints does.
type Checkpoints interface {
	// Save keeps a checkpoint of a camera. The one before stays until it is whole.
	Save(ctx context.Context, camera string, data []byte) error
	// Load returns what is kept of a camera, the newest first; nothing is no error.
	Load(ctx context.Context, camera string) ([][]byte, error)
}

// DefaultCheckpointEvery is how often a camera is captured unless Config says.
const DefaultCheckpointEvery = 2 * time.Second

const (
	// saveTimeout bounds how long it takes to keep a checkpoint, that at the end included.
	saveTimeout = 5 * time.Second
	// saveLeast is between one checkpoint and the next, however often somebody annotates.
	saveLeast = 200 * time.Millisecond
	// checkpointQuality is that of the pictures, 1 to 100.
	checkpointQuality = 95
)

// capture is what a camera knows at one moment.
type capture struct {
	state   *checkpointv1.Checkpoint // without pictures
	picture *ingest.Frame            // one reference; nil if there is none
	masks   *segdv1.MaskFrame        // of the picture
	objects []*segdv1.Object         // of the masks, without what was removed since
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
}

func (k *keeper) put(c *capture) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.drop()
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

// ended tells whether the next capture is the last.
func (k *keeper) ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

// capture notes what the camera knows, and hands it over to be kept. It is called in the camera's
// turn, with the stages that there are.
func (c *Camera) capture(s *stages) {
	now := time.Now()
	c.captured = now
	state := s.step.State()
	c.memory.setState(state)
	if c.cfg.Checkpoints == nil {
		return
	}
	k := &capture{state: &checkpointv1.Checkpoint{
		Camera: c.cfg.Name, Time: timestamppb.New(now), Epoch: c.epoch.Load(), Fps: c.Snapshot().FPSIn,
		Tracker: state, Marker: c.automatic.state(), Zones: c.zones.state(c.cfg.Zones), Configured: c.configuredHash,
	}}
	k.picture, k.masks, k.objects = c.newest.retain()
	if k.masks != nil {
		k.state.Sequence, k.state.PtsNs = k.masks.Sequence, k.masks.PtsNs
	}
	for id, o := range s.objects {
		k.state.Objects = append(k.state.Objects, &checkpointv1.Object{Id: id, Label: o.label, State: uint32(o.state)})
	}
	slices.SortFunc(k.state.Objects, func(a, b *checkpointv1.Object) int { return int(a.Id) - int(b.Id) })
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
		err := guard(func() (err error) {
			size, err = c.save(ctx, p, k)
			return err
		})
		k.drop()
		c.cfg.Meter.Checkpoint(size, time.Since(begun), err)
		if err != nil {
			faults.add(time.Now(), err)
		}
		if !c.keeper.ended() {
			time.Sleep(saveLeast)
		}
	}
}

// save keeps k, and returns its size.
func (c *Camera) save(ctx context.Context, p *encoder, k *capture) (size int, err error) {
	for _, s := range c.memory.scenes() {
		if s.json == nil {
			if s.json, err = p.encode(s.annotation, s.bgr); err != nil {
				return 0, err
			}
			c.memory.encoded(s)
		}
		k.state.Marked = append(k.state.Marked, s.json)
	}
	if k.picture != nil {
		if last := shown(k.masks, k.objects, nil, true); last != nil {
			if k.state.Last, err = p.encode(last.annotation, k.picture.Pix); err != nil {
				return 0, err
			}
		}
	}
	data, err := checkpoint.Encode(k.state)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	return len(data), c.cfg.Checkpoints.Save(ctx, c.cfg.Name, data)
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
