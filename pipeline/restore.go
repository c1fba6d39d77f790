package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/memory"
)

const (
	// loadTimeout is how long a camera waits at its start for what is kept of it: a NATS server
	// elsewhere may not be there yet.
	loadTimeout = 10 * time.Second
	loadRetry   = 500 * time.Millisecond
	// staleAfter is how long ago the objects were where a checkpoint has them, at most. Later they are
	// looked for by what they look like alone, as those that have been away.
	staleAfter = 30 * time.Second
	// longestAway bounds how long a camera is taken not to have been followed, whatever clocks say.
	longestAway = 10 * 365 * 24 * time.Hour
)

// restore goes on from the newest sound checkpoint of the camera. It comes before the first stages.
func (c *Camera) restore(ctx context.Context) {
	if c.cfg.Checkpoints == nil {
		return
	}
	short, kept, err := c.load(ctx)
	if err != nil {
		c.log.Warn("no checkpoint is taken up; the objects of a run before are not known", keyError, err)
		return
	}
	for _, data := range kept {
		c.turn <- struct{}{} // a client that sets zones may be there already
		err := guard.Call(func() error { return c.restoreFrom(data, short, time.Now()) })
		<-c.turn
		if err != nil {
			c.refuseCheckpoint(err)
			continue
		}
		return
	}
}

// load waits for the store if that is away.
func (c *Camera) load(ctx context.Context) (short []byte, kept [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	for {
		if short, kept, err = c.cfg.Checkpoints.Load(ctx, c.cfg.Name); err == nil {
			return short, kept, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(loadRetry):
		}
	}
}

// refuseCheckpoint tells that a checkpoint, or a part of one, is not used.
func (c *Camera) refuseCheckpoint(err error) {
	c.log.Warn("checkpoint refused", keyError, err)
	c.emit(time.Now(), &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_CHECKPOINT_REFUSED, Message: err.Error()})
}

// read decodes a checkpoint of the camera.
func (c *Camera) read(data []byte) (*checkpoint.Checkpoint, error) {
	if data == nil {
		return nil, fmt.Errorf("pipeline: %w: what the store has of it is not what was kept", checkpoint.ErrDamaged)
	}
	cp, err := checkpoint.Decode(data)
	if err == nil && cp.Camera != c.cfg.Name {
		return nil, fmt.Errorf("pipeline: it is of camera %q", cp.Camera)
	}
	return cp, err
}

// restoreFrom goes on from a checkpoint, with what a short one that was taken later says, if that
// has no fault.
func (c *Camera) restoreFrom(data, short []byte, now time.Time) error {
	cp, err := c.read(data)
	if err != nil {
		return err
	}
	if short != nil {
		later, err := c.read(short)
		if err == nil {
			err = errors.Join(later.Faults...)
		}
		if err != nil {
			c.refuseCheckpoint(fmt.Errorf("%w; an earlier one is used", err))
		} else {
			update(cp, later)
		}
	}
	m, err := memory.Restore(cp)
	if err != nil {
		return err
	}
	for _, err := range cp.Faults {
		c.refuseCheckpoint(err)
	}
	table := cp.Objects
	if cp.Tracks != nil {
		if err := c.marker.Restore(*cp.Tracks); err != nil {
			c.refuseCheckpoint(err)
			cp.Tracks = nil
			table, _ = table.Apply(objects.Disown{})
		}
	}
	away := min(max(0, now.Sub(cp.Time)), longestAway)
	// Frames of files come from the first on again, whatever was seen last.
	stale := away > staleAfter || c.cfg.AnnotationFits
	if c.known = cp.Tracker; stale {
		c.known = nil
	}
	// Of before there were tracks, what was marked automatically is found anew.
	if stale || cp.Tracks == nil || !c.detects() {
		m.ForgetAutomatic(table)
	}
	if !c.detects() { // nothing would end it
		for _, o := range table.All() {
			if o.Automatic() {
				table, _ = table.Apply(objects.Remove{ID: o.ID})
			}
		}
	}
	// What no picture shows, and no track, cannot be found.
	table, _ = table.Apply(objects.Recall{Known: m.Objects()})
	if c.unchanged(cp) { // what it marks has been followed since
		c.notes.DropConfigured()
	} else {
		m.Adopt(c.memory)
	}
	c.epoch.Store(max(c.epoch.Load(), cp.Epoch+1))
	c.seqNext, c.ptsNext = cp.Sequence+1, cp.PTS
	c.restored = &restored{cp.Time, cp.FPS}
	c.memory = m
	c.newest.setTable(table)
	if err := c.zones.restore(c, cp); err != nil {
		c.refuseCheckpoint(fmt.Errorf("pipeline: zones: %w", err))
	}
	if cp.Foreign != 0 {
		c.refuseCheckpoint(fmt.Errorf("pipeline: it has version %d, and not %d: its pictures are used, and the objects looked for by what they look like there", cp.Foreign, checkpoint.Version))
	}
	c.log.Info("checkpoint taken up", keyObjects, len(table.All()), "pictures", len(m.Marked()), "age", away.Round(time.Millisecond))
	return nil
}

// update makes cp what it would have been when a later short one was taken.
func update(cp, later *checkpoint.Checkpoint) {
	if later.Foreign != cp.Foreign || later.Epoch != cp.Epoch || later.Sequence < cp.Sequence || cp.Tracker == nil || later.Tracker == nil ||
		later.Tracker.Size != cp.Tracker.Size {
		return
	}
	later.Marked, later.Last = cp.Marked, cp.Last
	*cp = *later
}

// restored is when the newest frame came that a checkpoint knows, and how many came in a second then.
type restored struct {
	last time.Time
	fps  float64
}

// catchUp leaves out as many numbers, and as much stream time, as the camera is likely to have sent between a
// checkpoint and f, the first frame since.
func (c *Camera) catchUp(f *ingest.Frame) {
	r := c.restored
	if r == nil {
		return
	}
	c.restored = nil
	away := min(max(0, f.Received.Sub(r.last)), longestAway)
	c.seqBase += max(1, uint64(math.Round(away.Seconds()*r.fps))) - 1
	c.ptsBase += away
	c.notes.Rebase(c.seqBase)
}

// unchanged tells whether the configured annotation is the one that there was when cp was taken, of a camera whose
// frames go on meanwhile.
func (c *Camera) unchanged(cp *checkpoint.Checkpoint) bool {
	return len(c.configuredHash) > 0 && slices.Equal(c.configuredHash, cp.Configured) && !c.cfg.AnnotationFits
}

// restore goes on with the zones and lines of a run before, or with those of the configuration where these
// were others then. Those that a client has set since the start stay.
func (z *zoneWatch) restore(c *Camera, cp *checkpoint.Checkpoint) error {
	if cp.Zones == nil || z.set {
		return nil
	}
	w, err := zones.Restore(cp.Zones)
	if err != nil {
		return err
	}
	if !bytes.Equal(z.configured, cp.ConfiguredZones) {
		if _, err := w.Change(c.cfg.Zones); err != nil {
			return err
		}
	}
	z.watcher = w
	z.changed(c)
	return nil
}
