package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/web"
	"github.com/segd/segd/web/boxlink"
)

// handedOn bounds how many requests of other boxes are answered at once, of each kind, besides live connections.
const handedOn = 64

// boxSecret is what the boxes of a fleet know one another by: a client with its tokens is one of them, and decides itself
// who may do what. Where there are no tokens anybody can make it, as anybody may do everything.
func boxSecret(c *config.Config) ([]byte, error) {
	return json.Marshal([]string{c.Site, c.HTTP.Token, c.HTTP.ViewerToken, c.WHIP.Token})
}

// openLink begins to hand requests on to other boxes, and to answer theirs.
func (b *box) openLink() error {
	c := b.d.cfg
	secret, err := boxSecret(c)
	if err != nil {
		return err
	}
	const roles = 2 // that may watch, each as many as http.viewers
	b.link, err = boxlink.New(boxlink.Config{
		Box: c.Fleet.Box, Secret: secret, Address: b.addressOf, Answer: b.d.web.ServeHandedOn, As: b.d.web.As, Viewer: web.Viewer,
		Commands: handedOn, Views: roles*c.HTTP.Viewers + handedOn, Logger: b.d.log,
	})
	if here := b.address(); c.Fleet.Address == "" && (here == "" || boxlink.Loopback(here)) {
		b.d.log.Warn("boxes on other machines do not reach the page of this one, so users there neither see nor change the cameras that run here; "+
			"set http.addr to an address that they reach, such as \":8080\", with http.token, or fleet.address to the URL of a proxy before it", "address", here)
	}
	return err
}

// address is the URL at which other boxes reach this one's page.
func (b *box) address() string {
	f := b.d.cfg.Fleet
	return cmp.Or(f.Address, f.Page, boxlink.Address(b.d.web.URL(), b.d.bus.Conn().LocalAddr()))
}

// addressOf is the URL at which that box says that others reach its page.
func (b *box) addressOf(name string) (string, error) {
	other, known := b.member.Box(name)
	if !known {
		return "", errors.New("it is not in the fleet any more")
	}
	return addressFrom(b.host, other)
}

// addressFrom is where a box is reached from the machine of that name.
func addressFrom(host string, to fleet.Box) (string, error) {
	switch {
	case to.Address == "":
		return "", fmt.Errorf("it does not say at which address (segd %s); accepts a fleet.address there", to.Version)
	case boxlink.Loopback(to.Address) && to.Host != host:
		return "", fmt.Errorf("its address is %s, which is of its own machine only; accepts another http.addr there, or a fleet.address", to.Address)
	}
	return to.Address, nil
}

// elsewhere is the box that runs a camera, if that is another one, and the URL of its page.
func (b *box) elsewhere(camera string) (name, page string) {
	name, page = b.member.Holder(camera)
	if name == b.d.cfg.Fleet.Box {
		return "", ""
	}
	return name, page
}

// publisherDoor is where publishers come to, by WHIP: those of a camera that another box runs are sent to its page or,
// where it has none, what they ask is handed on.
type publisherDoor struct{ d *daemon }

func (p publisherDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := p.d
	if d.box == nil {
		d.whip.ServeHTTP(w, r)
		return
	}
	camera, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/whip/"), "/")
	name, page := d.box.elsewhere(camera)
	switch {
	case name == "":
		d.whip.ServeHTTP(w, r)
	case page != "" && !boxlink.Handed(r):
		http.Redirect(w, r, strings.TrimSuffix(page, "/")+r.URL.Path, http.StatusTemporaryRedirect)
	default:
		d.box.link.To(name).ServeHTTP(w, r)
	}
}

// viewerDoor is where viewers come to, by WHEP. What they ask of a camera that another box runs is handed on, whatever
// page that box has: browsers send no cookies where they are sent.
type viewerDoor struct{ d *daemon }

func (v viewerDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	camera, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/whep/"), "/")
	if name := v.d.boxOf(camera); name != "" {
		v.d.box.link.To(name).ServeHTTP(w, r)
		return
	}
	v.d.whip.watch(v.d.cameras.Settings(), w, r)
}

// boxOf is the box that runs a camera, if that is another one.
func (d *daemon) boxOf(camera string) (name string) {
	if d.box != nil {
		name, _ = d.box.elsewhere(camera)
	}
	return name
}

// hearOthers tells the page of what other boxes publish, until ctx ends: of each camera what has the greatest lease. In
// a large fleet it does while it has viewers only, since each box tells of each of its cameras once a second.
func (b *box) hearOthers(ctx context.Context) {
	d := b.d
	var mu sync.Mutex
	leases := map[string]uint64{}
	newest := func(camera string, token uint64) bool {
		if name, _ := b.elsewhere(camera); name == "" {
			return false // this box tells of it itself
		}
		mu.Lock()
		defer mu.Unlock()
		if token < leases[camera] {
			return false
		}
		leases[camera] = token
		return true
	}
	others := bus.Handlers{
		Event: func(e *segdv1.Event) {
			if newest(e.Camera, e.Lease) {
				d.web.Event(e)
			}
		},
		Status: func(s *segdv1.Status) {
			if newest(s.Camera, s.Lease) {
				d.web.Status(s)
			}
		},
	}
	stop := func() {}
	defer func() { stop() }()
	heard := false
	var looked time.Time
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if d.web.Stats().Viewers > 0 {
			looked = time.Now()
		}
		few := len(d.cameras.Settings().Cameras) <= fewCameras
		switch wanted := few || time.Since(looked) < lookedFor; {
		case wanted && !heard:
			end, err := d.bus.Hear(others)
			if err != nil {
				d.log.Debug("what other boxes publish is not heard", "error", err)
				break
			}
			stop, heard = end, true
		case !wanted && heard:
			stop()
			stop, heard = func() {}, false
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const (
	// fewCameras are so many that each box can hear of all.
	fewCameras = 256
	// lookedFor is for how long others are heard after the page's last viewer.
	lookedFor = time.Minute
)
