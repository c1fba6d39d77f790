package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/segd/segd/internal/coalesce"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/keeper"
)

const (
	// captureEvery is how often what changes with every frame is kept. The newest picture
	// is after each command, wholeFirst later, when there is something to be known of what was marked, and then
	// ever more seldom, down to once in wholeEvery, or in wholeNew while an object is in sight that no picture shows.
	captureEvery = time.Second
	wholeFirst   = 2 * time.Second
	wholeNew     = 5 * time.Second
	wholeEvery   = 30 * time.Second
)

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
	if whole = c.keeper.Owes() || whole; whole {
		c.wholeIn = min(2*max(c.wholeIn, wholeFirst/2), wholeEvery)
		c.capturedWhole = c.captured
	}
	c.known = s.step.Snapshot()
	if c.cfg.Checkpoints == nil {
		return
	}
	frame, _, masks := c.newest.retain()
	if frame == nil {
		return // nothing has come yet
	}
	if whole {
		table, _ := c.newest.table().Apply(objects.Picture{})
		c.newest.setTable(table)
	}
	tracks := c.marker.Snapshot()
	k := &keeper.Capture{Short: !whole, Masks: masks, Checkpoint: checkpoint.Checkpoint{
		Camera: c.cfg.Name, Epoch: c.epoch.Load(), FPS: c.Snapshot().FPSIn, Time: frame.Received,
		Sequence: masks.Sequence, PTS: time.Duration(masks.PtsNs), Configured: c.configuredHash, ConfiguredZones: c.zones.configured,
		Objects: c.newest.table(), Tracks: &tracks, Tracker: c.known, Zones: c.zones.watcher.Snapshot(),
	}}
	if whole {
		k.Picture, k.Scenes = frame, c.memory.Marked()
	} else {
		frame.Release()
	}
	c.keeper.Put(k)
}

// keep keeps captures until there are none any more.
func (c *Camera) keep(ctx context.Context) {
	faults := coalesce.Log{Write: c.log.Warn, Message: "checkpoint not kept: a restart would not find the camera's objects where they are"}
	defer faults.Flush()
	c.keeper.Run(ctx, func(bytes int, took time.Duration, err error) {
		c.cfg.Meter.Checkpoint(bytes, took, err)
		if err != nil {
			faults.Add(1, err)
		}
	})
}
