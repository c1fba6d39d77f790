package daemon

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/pipeline"
)

// build makes the cameras; nothing is dialled yet. They share the cores, one model and one detector.
func (d *daemon) build(ctx context.Context) error {
	d.cores = cores.New(runtime.GOMAXPROCS(0))
	if err := d.openFleet(); err != nil {
		return err
	}
	if err := d.serveBus(); err != nil {
		return err
	}
	kept := cameras.Kept{}
	if d.kept != nil {
		kept = cameras.Kept{Bucket: d.bus, KeyFile: configured.CamerasKey(d.cfg.NATS), Checkpoints: d.kept}
	}
	return d.cameras.Start(ctx, cameras.Initial{Settings: d.cfg, Marks: d.annotations, Kept: kept, Open: d.openModel})
}

// serveBus has the bus answer requests, about no camera yet.
func (d *daemon) serveBus() error {
	var reload func(context.Context) ([]byte, error)
	if r := d.reloader; r != nil {
		reload = func(ctx context.Context) ([]byte, error) {
			out, err := r.reload(ctx, "a request over NATS")
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		}
	}
	var about api.Fleet
	if d.box != nil {
		about = fleetCommands{d}
	}
	c := commands{d.set}
	return d.bus.Serve(bus.Commands{
		Fleet:    about,
		Reload:   reload,
		Manage:   d.cameras,
		List:     d.web.ListJSON,
		Show:     d.web.CameraJSON,
		Camera:   func(name string) (bus.Camera, error) { return c.camera(name) },
		Refuse:   c.Refuse,
		Snapshot: d.web.Snapshot,
	})
}

// host is a daemon as its cameras see it.
type host struct{ d *daemon }

func (h host) Open(next *config.Config) (undo func(), err error) {
	if err := h.d.checkWebhooks(next); err != nil {
		return nil, err
	}
	opened, err := h.d.whip.open(next)
	if err != nil {
		return nil, err
	}
	undo = func() {
		if opened {
			h.d.whip.close()
		}
	}
	if err := h.d.openDetector(next); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

func (h host) Check(b cameras.Build) error { return h.d.camera(b).Check() }

func (h host) Build(b cameras.Build) (*pipeline.Camera, error) {
	h.d.web.ForgetPictures(b.Camera.Name)
	return pipeline.New(h.d.camera(b))
}

func (h host) Claim(names []string) error { return h.d.bus.Cameras(names) }

func (h host) Tell(here, going, all []config.Camera) {
	h.d.web.Cameras(namesOf(slices.Concat(all, going)))
	there := slices.Concat(going, here)
	h.d.watch.cameras(there)
	h.d.whip.cameras(there)
	h.d.streams.Cameras(namesOf(there))
}

func namesOf(cameras []config.Camera) (names []string) {
	for _, cam := range cameras {
		names = append(names, cam.Name)
	}
	return names
}

func (h host) Changed(now *config.Config) {
	setLevel(h.d.level, now.Log)
	h.d.tellFleet(now.Cameras)
}

func (h host) Removed(name string) { h.d.meters.Remove(name) }

func (h host) Possible(running, wanted *config.Config) *config.Config {
	next := *running
	next.Cameras, next.Privacy, next.Log.Level, next.Webhooks = wanted.Cameras, wanted.Privacy, wanted.Log.Level, wanted.Webhooks
	if h.d.whip.get() == nil { // but for the token, which the page has
		next.WHIP = wanted.WHIP
		next.WHIP.Token = running.WHIP.Token
	}
	if h.d.detector == nil {
		next.Detector = wanted.Detector
	}
	return &next
}
