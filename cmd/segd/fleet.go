package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/internal/boxlink"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
)

// box is this segd's part in a fleet. The daemon's current configuration has all cameras of the fleet; this
// box runs those of them whose leases it has.
type box struct {
	d        *daemon
	host     string // this machine's name
	member   *fleet.Member
	meter    *metrics.FleetMeter
	capacity *capacity
	link     *boxlink.Link
	ahead    ahead

	// Who has the daemon's turn uses what follows.
	leases map[string]*fleet.Lease           // by camera
	tokens map[string]uint64                 // of the leases that the cameras were built with
	marks  map[string]*annotation.Annotation // what is marked in the first frames of cameras
}

// openFleet joins nothing yet.
func (d *daemon) openFleet() error {
	f := d.cfg.Fleet
	if !f.On() {
		return nil
	}
	b := &box{d: d, tokens: map[string]uint64{}, marks: map[string]*annotation.Annotation{}, capacity: newCapacity(d.cores)}
	var err error
	if b.host, err = os.Hostname(); err != nil {
		b.host = ""
	}
	b.meter = d.meters.Fleet(b.metrics)
	b.member, err = fleet.New(fleet.Config{
		Conn: d.bus.Conn(), Site: d.cfg.Site, Box: f.Box, Page: f.Page, Address: b.address, Host: b.host, Version: version,
		Labels: config.LabelMap(f.Labels), Most: f.MaxCameras, Replicas: d.cfg.NATS.Replicas, Timing: fleet.Timing{TTL: f.TTLTime()},
		Capacity: b.capacity.framesPerSecond, Rate: b.rate, Runner: b, Meter: boxMeter{b.meter}, Logger: d.log,
	})
	if err != nil {
		return err
	}
	if err := b.openLink(); err != nil {
		return err
	}
	d.box = b
	d.set.Stay() // others may come
	return nil
}

// rate is how many frames a second a camera sends.
func (b *box) rate(camera string) float64 {
	c, err := b.d.set.Camera(camera)
	if err != nil {
		return 0
	}
	return c.Snapshot().FPSIn
}

// lease is one as a camera asks it.
type lease struct {
	*fleet.Lease
	box string
}

func (l lease) Token() uint64 { return l.Lease.Token }
func (l lease) Box() string   { return l.box }
func (l lease) Moved() string {
	why := map[fleet.Why]string{
		fleet.WhyDied: "which fell silent", fleet.WhyLeft: "which ended", fleet.WhyDrain: "which is drained",
		fleet.WhyRebalance: "which has less room", fleet.WhyMove: "as somebody asked for it", fleet.WhyMisfit: "which cannot run it",
	}[l.Why]
	if l.From == "" || l.From == l.box || why == "" {
		return ""
	}
	return fmt.Sprintf("box %s follows the camera in place of box %s, %s", l.box, l.From, why)
}

// leaseOf is the right to publish a camera that this box runs (see here); nil without a fleet.
func (d *daemon) leaseOf(camera string) pipeline.Lease {
	if d.box == nil {
		return nil
	}
	return lease{d.box.leases[camera], d.cfg.Fleet.Box}
}

// here is cfg with the cameras only that this segd is to run: all of them without a fleet.
func (d *daemon) here(cfg *config.Config) *config.Config {
	if d.box == nil {
		return cfg
	}
	mine := *cfg
	mine.Cameras = slices.DeleteFunc(slices.Clone(cfg.Cameras), func(c config.Camera) bool { return d.box.leases[c.Name] == nil })
	return &mine
}

// anew are the cameras among those of cfg that are to be built anew because they come with another lease.
func (d *daemon) anew(cfg *config.Config) (names []string) {
	if d.box == nil {
		return nil
	}
	for _, cam := range cfg.Cameras {
		if token, ok := d.box.tokens[cam.Name]; ok && token != d.box.leases[cam.Name].Token {
			names = append(names, cam.Name)
		}
	}
	return names
}

// Run has this box run the cameras of leases and no others. It is fleet.Runner's.
func (b *box) Run(ctx context.Context, leases []*fleet.Lease) (faults map[string]error) {
	d := b.d
	faults = map[string]error{}
	if d.takeTurn(ctx) != nil {
		return faults // segd ends, and so have its cameras
	}
	defer func() { <-d.turn }()
	b.leases = make(map[string]*fleet.Lease, len(leases))
	for _, l := range leases {
		b.leases[l.Camera] = l
	}
	err := b.change(ctx)
	if err != nil && len(leases) > 1 { // one of them may keep the others from running
		all := b.leases
		b.leases = map[string]*fleet.Lease{}
		for _, cam := range d.ran.Cameras {
			if l := all[cam.Name]; l != nil {
				b.leases[cam.Name] = l
			}
		}
		for _, l := range leases {
			b.leases[l.Camera] = l
			if err := b.change(ctx); err != nil {
				faults[l.Camera] = err
				delete(b.leases, l.Camera)
			}
		}
	}
	for _, l := range leases {
		runs := slices.ContainsFunc(d.ran.Cameras, func(c config.Camera) bool { return c.Name == l.Camera })
		if faults[l.Camera] == nil && !runs {
			faults[l.Camera] = errors.Join(errors.New("it cannot be built"), err)
		}
	}
	return faults
}

// built notes with which leases the cameras were built that there are.
func (b *box) built(cameras []config.Camera) {
	b.tokens = make(map[string]uint64, len(cameras))
	for _, cam := range cameras {
		b.tokens[cam.Name] = b.leases[cam.Name].Token
	}
}

// change has run what b.leases say.
func (b *box) change(ctx context.Context) error {
	c, err := b.d.prepare(b.d.current.Load(), nil)
	if err != nil {
		return err
	}
	return b.d.apply(ctx, c)
}

// remember notes what is marked in the first frames of cameras, and returns that of all.
func (d *daemon) remember(marks map[string]*annotation.Annotation) map[string]*annotation.Annotation {
	if d.box == nil {
		return marks
	}
	maps.Copy(d.box.marks, marks)
	return d.box.marks
}

// tellFleet tells the fleet which cameras there are.
func (d *daemon) tellFleet(cameras []config.Camera) {
	if d.box == nil {
		return
	}
	list := make([]fleet.Camera, len(cameras))
	for i, cam := range cameras {
		list[i] = fleet.Camera{Name: cam.Name, Wants: config.LabelMap(cam.Requires)}
	}
	d.box.member.Cameras(list)
}

// followKept has the cameras that are kept be those of this box, too, as other boxes change them, until ctx ends.
func (d *daemon) followKept(ctx context.Context) {
	d.bus.WatchKeptCameras(ctx, func() {
		values, err := d.fetchKept(ctx)
		if err != nil || d.takeTurn(ctx) != nil {
			return // it is looked at again with the next change, or connection
		}
		defer func() { <-d.turn }()
		d.takeKept(values)
		before := d.current.Load()
		next := *before
		next.Cameras = slices.Clone(d.added.fileCameras())
		also, marks := d.wantedAdded(ctx, func(string) bool { return false })
		next.Cameras = d.ordered(slices.Concat(next.Cameras, also))
		c, err := d.prepare(&next, marks)
		if err == nil {
			err = d.apply(ctx, c)
		}
		if err != nil {
			d.log.Error("the cameras are not those of the fleet", "error", err)
			return
		}
		for _, name := range config.Diff(before, &next).Removed {
			d.forget(ctx, name) // whoever removed it may have been before what this box kept at its end
		}
	})
}

// metrics are what Prometheus is told.
func (b *box) metrics() metrics.Fleet {
	if b.member == nil {
		return metrics.Fleet{}
	}
	s := b.member.Status()
	m := metrics.Fleet{Publishing: s.Publishing, Plan: s.Plan == s.Box, Cameras: len(s.Cameras)}
	for _, one := range s.Boxes {
		if one.Alive {
			m.Boxes++
		}
		if one.Name == s.Box {
			m.Own, m.Capacity, m.Load, m.Cordoned = one.Cameras, one.Capacity, one.Load, one.Cordoned
		}
	}
	for _, cam := range s.Cameras {
		if cam.Box == "" {
			m.Unplaced++
		}
	}
	return m
}

// boxMeter counts what the fleet package tells.
type boxMeter struct{ *metrics.FleetMeter }

func (m boxMeter) Taken(why fleet.Why, free time.Duration) { m.FleetMeter.Taken(string(why), free) }
func (m boxMeter) Given(why fleet.Why)                     { m.FleetMeter.Given(string(why)) }

// fleetCommands answers what the API and the bus ask about the fleet.
type fleetCommands struct{ d *daemon }

func (c fleetCommands) ShowFleet(context.Context) ([]byte, error) {
	return c.d.box.member.Status().JSON(), nil
}

func (c fleetCommands) OrderBox(ctx context.Context, name string, order bus.Kind) error {
	m := c.d.box.member
	do := map[bus.Kind]func(context.Context, string) error{
		bus.KindCordon: m.Cordon, bus.KindDrain: m.Drain, bus.KindUncordon: m.Uncordon,
	}[order]
	return fleetRefusal(do(ctx, name))
}

func (c fleetCommands) Order(ctx context.Context, name, order string) error {
	return c.OrderBox(ctx, name, map[string]bus.Kind{
		web.OrderCordon: bus.KindCordon, web.OrderDrain: bus.KindDrain, web.OrderUncordon: bus.KindUncordon,
	}[order])
}

func (c fleetCommands) MoveCamera(ctx context.Context, camera, to string) error {
	return fleetRefusal(c.d.box.member.Move(ctx, camera, to))
}

// Box is the name of this box.
func (c fleetCommands) Box() string { return c.d.cfg.Fleet.Box }

// Elsewhere is the box that runs a camera, if that is another one, and who answers for it.
func (c fleetCommands) Elsewhere(camera string) (box string, there http.Handler) {
	box, _ = c.d.box.elsewhere(camera)
	if box == "" {
		return "", nil
	}
	return box, c.d.box.link.To(box)
}

// Connect takes a connection of another box.
func (c fleetCommands) Connect(w http.ResponseWriter, r *http.Request) {
	c.d.box.link.Connect(w, r)
}

// fleetRefusal gives an error of the fleet the status it answers with.
func fleetRefusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fleet.ErrUnknown):
		return &web.Refusal{Status: http.StatusNotFound, Detail: oneLine(err)}
	case errors.Is(err, context.DeadlineExceeded):
		return &web.Refusal{Status: http.StatusGatewayTimeout, Detail: oneLine(err)}
	}
	return &web.Refusal{Status: http.StatusConflict, Detail: oneLine(err)}
}
