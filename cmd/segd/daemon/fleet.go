package daemon

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/segd/segd/api"
	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/web/boxlink"
)

// box is this segd's part in a fleet.
type box struct {
	d        *daemon
	host     string // this machine's name
	member   *fleet.Member
	capacity *capacity
	link     *boxlink.Link
	ahead    ahead
}

// openFleet joins nothing yet.
func (d *daemon) openFleet() error {
	f := d.cfg.Fleet
	if !f.On() {
		return nil
	}
	b := &box{d: d, capacity: newCapacity(d.cores)}
	var err error
	if b.host, err = os.Hostname(); err != nil {
		b.host = ""
	}
	b.member, err = fleet.New(fleet.Config{
		Conn: d.bus.Conn(), Site: d.cfg.Site, Box: f.Box, Page: f.Page, Address: b.address, Host: b.host, Version: b.d.version.Number,
		Labels: config.LabelMap(f.Labels), Most: f.MaxCameras, Replicas: d.cfg.NATS.Replicas, Timing: fleet.Timing{TTL: f.TTLTime()},
		Capacity: b.capacity.framesPerSecond, Rate: b.rate, Runner: b, Meter: d.meters.Fleet(b.status), Logger: d.log,
	})
	if err != nil {
		return err
	}
	if err := b.openLink(); err != nil {
		return err
	}
	d.box = b
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
		fleet.WhyRebalance: "which has less room", fleet.WhyMove: "as an operator asked for it", fleet.WhyMisfit: "which cannot run it",
	}[l.Why]
	if l.From == "" || l.From == l.box || why == "" {
		return ""
	}
	return fmt.Sprintf("box %s follows the camera in place of box %s, %s", l.box, l.From, why)
}

// Run has this box run the cameras of leases and no others. It is fleet.Runner's.
func (b *box) Run(ctx context.Context, leases []*fleet.Lease) (faults map[string]error) {
	return b.d.cameras.Assign(ctx, leases)
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

// status is what Prometheus is told.
func (b *box) status() fleet.Status {
	if b.member == nil {
		return fleet.Status{}
	}
	return b.member.Status()
}

// fleetCommands answers what the API and the bus ask about the fleet.
type fleetCommands struct{ d *daemon }

func (c fleetCommands) ShowFleet(context.Context) ([]byte, error) {
	return c.d.box.member.Status().JSON(), nil
}

func (c fleetCommands) OrderBox(ctx context.Context, name, order string) error {
	return fleetRefusal(c.d.box.member.Order(ctx, name, order))
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
	if err == nil {
		return nil
	}
	status := api.StatusOf(err, http.StatusConflict, api.Status{Is: fleet.ErrUnknown, Code: http.StatusNotFound})
	return &api.Refusal{Status: status, Detail: plain.OneLine(err)}
}
