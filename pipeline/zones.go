package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/internal/message"
	"github.com/segd/segd/tracker"
)

// zoneWatch follows the camera's objects through its zones. It outlives the stages: an object
// that is found again by new ones is where it was. It is used in the camera's turn only.
type zoneWatch struct {
	watcher    *zones.Watcher
	rules      *rules.Watcher
	heeded     []rules.Object             // objects, as rules take them
	configured []byte                     // Config.Zones as JSON
	objects    []zones.Object             // of the frame in hand
	set        bool                       // by a client, while c is there
	early      map[uint32][]*segdv1.Event // by object: what happened before an event tells of it
	untold     map[visit]bool             // entries that no event told of, so that none tells of their end

	layout atomic.Pointer[zones.Layout] // the watcher's, for any goroutine
}

// visit is an object in a zone.
type visit struct {
	object uint32
	zone   string
}

// maxEarly bounds what is kept of an object until an event tells of it.
const maxEarly = 16

func (z *zoneWatch) begin(c *Camera) (err error) {
	z.early, z.untold = map[uint32][]*segdv1.Event{}, map[visit]bool{}
	if z.watcher, err = zones.New(c.cfg.Zones); err != nil {
		return err
	}
	if z.rules, err = rules.New(c.cfg.Rules, c.cfg.Zones); err != nil {
		return err
	}
	if z.configured, err = json.Marshal(c.cfg.Zones); err != nil {
		return err
	}
	z.changed(c)
	return nil
}

// changed tells the layout and the counts as they are now.
func (z *zoneWatch) changed(c *Camera) {
	l := z.watcher.Layout()
	z.layout.Store(&l)
	z.counted(c)
}

// counted tells the counts as they are now.
func (z *zoneWatch) counted(c *Camera) {
	counts := z.watcher.Counts()
	c.stats.with(func(s *Snapshot) { s.Zones = counts })
}

// observe returns what happens in the frame of it, where the objects are those of a table. It follows what was held back until
// now.
func (z *zoneWatch) observe(c *Camera, it *item, res *tracker.Result, table objects.Table) (out []*segdv1.Event) {
	for _, o := range table.All() {
		if early := z.early[o.ID]; o.Appeared && len(early) > 0 {
			delete(z.early, o.ID)
			out = append(out, z.limit(c, early)...)
		}
	}
	if l := z.watcher.Layout(); len(l.Zones)+len(l.Lines)+len(c.cfg.Rules) == 0 {
		return out
	}
	z.objects = z.objects[:0]
	for _, o := range res.Objects {
		known, _ := table.Get(o.ID)
		z.objects = append(z.objects, zones.OfMask(o.ID, o.Mask, known.Away()).WithExtent(o.Extent, res.Width, res.Height))
	}
	for _, o := range table.All() {
		if o.Dormant {
			z.objects = append(z.objects, zones.Object{ID: o.ID, Lost: o.Away()})
		}
	}
	events := z.watcher.Observe(zones.Frame{Time: it.pts, Width: res.Width, Height: res.Height, Objects: z.objects})
	out = append(out, z.events(c, events, it.seq, taken(it.frame), table.Get)...)
	return append(out, z.heed(c, it, res, table)...)
}

// heed returns what the rules tell of the objects in hand.
func (z *zoneWatch) heed(c *Camera, it *item, res *tracker.Result, table objects.Table) (out []*segdv1.Event) {
	if len(c.cfg.Rules) == 0 {
		return nil
	}
	z.heeded = z.heeded[:0]
	for _, o := range z.objects {
		known, _ := table.Get(o.ID)
		z.heeded = append(z.heeded, rules.Object{
			ID: o.ID, Class: cmp.Or(known.Class, known.Label), Told: known.Appeared, Lost: o.Lost, Seen: o.Visible,
			Foot: zones.Point{o.Foot[0] * float64(res.Width), o.Foot[1] * float64(res.Height)}, Height: o.Height,
		})
	}
	for _, ev := range z.rules.Observe(rules.Frame{Time: it.pts, Wall: taken(it.frame).Local(), Objects: z.heeded, Layout: z.watcher.Layout(), In: z.watcher.Inside}) {
		if c.ration.may(true) {
			o, _ := table.Get(ev.Object)
			out = append(out, message.OfRule(ev, it.seq, &o))
		}
	}
	return out
}

// forget forgets an object that was removed, as of frame seq.
func (z *zoneWatch) forget(c *Camera, o objects.Object, seq uint64) []*segdv1.Event {
	events := z.events(c, z.watcher.Forget(o.ID), seq, time.Time{}, func(uint32) (objects.Object, bool) { return o, true })
	delete(z.early, o.ID)
	maps.DeleteFunc(z.untold, func(v visit, _ bool) bool { return v.object == o.ID })
	return events
}

// events are what happened to objects then, in frame seq, with the counts told as they are now. Then is zero of an object that
// is forgotten.
func (z *zoneWatch) events(c *Camera, events []zones.Event, seq uint64, then time.Time, of func(id uint32) (objects.Object, bool)) (out []*segdv1.Event) {
	for _, ev := range events {
		o, _ := of(ev.Object)
		o.ID = ev.Object
		told := message.OfZone(ev, seq, &o)
		if o.Appeared {
			out = append(out, told)
			continue
		}
		early := z.early[o.ID]
		if len(early) == maxEarly {
			for _, ev := range early {
				z.leaveOut(ev)
				c.limited()
			}
			early = nil
		}
		if !then.IsZero() {
			c.complete(told, then)
		}
		z.early[o.ID] = append(early, told)
	}
	out = z.limit(c, out)
	if len(events) > 0 {
		z.counted(c)
	}
	return out
}

// leaveOut notes that an event is not told, so that the end of an entry is only told if that was.
func (z *zoneWatch) leaveOut(ev *segdv1.Event) {
	switch in := (visit{ev.ObjectId, ev.Zone}); ev.Kind {
	case segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED:
		z.untold[in] = true
	case segdv1.EventKind_EVENT_KIND_OBJECT_LEFT:
		delete(z.untold, in)
	}
}

// limit leaves out what is beyond the limit, and the ends of what was left out.
func (z *zoneWatch) limit(c *Camera, events []*segdv1.Event) []*segdv1.Event {
	return slices.DeleteFunc(events, func(ev *segdv1.Event) (out bool) {
		switch untold := z.untold[visit{ev.ObjectId, ev.Zone}]; {
		case ev.Kind == segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED:
			out = !c.ration.may(true)
		case ev.Kind != segdv1.EventKind_EVENT_KIND_OBJECT_LEFT:
			out = untold || !c.ration.may(true)
		case untold:
			out = true
		default:
			c.ration.owe()
		}
		if out {
			z.leaveOut(ev)
		}
		return out
	})
}

// Zones are the camera's zones and lines, with their defaults. They must not be changed.
func (c *Camera) Zones() zones.Layout { return *c.zones.layout.Load() }

// SetZones puts other zones and lines in place of those there are, from the next frame on, and
// returns them with their defaults. Those that are the same go on counting; objects leave those
// that are gone or changed, of which the counts are forgotten; new ones begin at 0. It works
// while the camera is down, too, and lasts as long as c does, and over a restart if checkpoints are kept and
// Config.Zones are the same then. It waits for the frame in hand, and
// no longer than ctx. Errors wrap each *zones.Fault of l, or what ended ctx.
func (c *Camera) SetZones(ctx context.Context, l zones.Layout) (set zones.Layout, err error) {
	err = c.inTurn(ctx, func() error {
		z := &c.zones
		events, err := z.watcher.Change(l)
		if err != nil {
			return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
		}
		z.set = true
		z.changed(c)
		now := time.Now()
		c.emit(now, z.events(c, events, c.newest.sequence(), now, c.newest.table().Get)...)
		set = z.watcher.Layout()
		for _, name := range c.cfg.Detect.Zones {
			if !set.Has(name) {
				c.log.Warn("nothing is marked by itself in a zone that is no more", keyZone, name)
			}
		}
		for _, r := range c.cfg.Rules {
			if r.Zone != "" && !set.Has(r.Zone) {
				c.log.Warn("a rule rests: its zone is no more", keyRule, r.Name, keyZone, r.Zone)
			}
		}
		if c.stages != nil {
			c.capture(c.stages, true)
		}
		c.log.Info("zones and lines changed", keyZones, len(set.Zones), keyLines, len(set.Lines))
		return nil
	})
	return set, err
}
