package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/docs"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/web"
	"github.com/segd/segd/web/alerts"
)

// openWeb takes the address of the page.
func (d *daemon) openWeb() (err error) {
	cfg := d.cfg
	page := web.Config{
		Addr: cfg.HTTP.Addr, Token: cfg.HTTP.Token, ViewerToken: cfg.HTTP.ViewerToken, PublishToken: cfg.WHIP.Token, Version: d.version.Number, Logger: d.log,
		Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{Registry: d.registry}),
		Ready:   d.ready, Alive: d.alive, Commands: commands{d.set}, Cameras: d.cameras, Settings: d.settings, WHIP: publisherDoor{d}, WHEP: viewerDoor{d},
		Panicked: func() { d.meters.CommandPanicked(metrics.HTTP) },
		TLSCert:  cfg.HTTP.TLS.Cert, TLSKey: cfg.HTTP.TLS.Key,
		History: history{d}, TrustedProxies: cfg.HTTP.Proxies(), BasePath: cfg.HTTP.BasePath, MaxViewers: cfg.HTTP.Viewers,
	}
	if d.recordings != nil {
		page.Recordings = shownRecordings{d.recordings, d}
	}
	if cfg.Fleet.On() {
		page.Fleet = fleetCommands{d}
	}
	if cfg.HTTP.Alertmanager != "" {
		client := alerts.New(cfg.HTTP.Alertmanager, docs.Runbook, d.log)
		page.Alerts = func(ctx context.Context) ([]byte, error) {
			firing, err := client.Firing(ctx)
			if err != nil {
				return nil, err
			}
			return json.Marshal(firing)
		}
	}
	if d.reloader != nil {
		page.Reload = func(ctx context.Context) (api.Reloaded, error) { return d.reloader.reload(ctx, "the API") }
	}
	if d.web, err = web.New(page); err != nil {
		return cli.Usage(err)
	}
	if err := d.web.Listen(); err != nil {
		return err
	}
	d.meters.Page(d.web.Stats)
	return nil
}

// busConfig is the NATS server that the daemon uses, or is.
func (d *daemon) busConfig() (bus.Config, error) {
	c, err := configured.NATS(d.cfg, d.log)
	c.Version = d.version.Number
	if d.cfg.Fleet.On() {
		c.Duplicates = true // the fleet's leases see to it
	}
	c.Panicked = func() { d.meters.CommandPanicked(metrics.NATS) }
	c.Refused = d.meters.CommandRefused
	return c, err
}

// networkThreads is model.threads by default: half of the cores for all cameras, which may be in the network at once.
// Beside it superpixels grow and the frame before is tracked.
func networkThreads(cores, cameras int) int { return max(1, cores/2/max(1, cameras)) }

// openModel opens the network that all cameras share, now and later; so many there are now.
func (d *daemon) openModel(cameras int) error {
	m := d.cfg.Model
	if m.Threads == 0 {
		m.Threads = networkThreads(runtime.GOMAXPROCS(0), cameras)
	}
	opt := configured.ModelOptions(m)
	opt.OnDevice = d.deviceChanged
	model, err := configured.OpenModel(m.Path, opt)
	if err != nil {
		return err
	}
	d.model, d.models = model, append(d.models, model)
	info := model.Info()
	d.computed, d.heads = m, len(info.Classes) > 0
	if d.box != nil {
		d.box.capacity.guess(networkTime(info))
	}
	d.meters.Network(func() metrics.Network { return networkMetrics(model.Status(), filepath.Base(info.Path)) })
	for _, e := range info.Engines {
		d.log.Info("the network's engine", "engine", e.Name, "version", e.Version, "device", e.Device,
			"used", e.Name == info.Engine && e.Device == info.Device, "milliseconds", e.Milliseconds, "batch", info.Batch, "error", e.Error, "unbatched", e.Unbatched)
	}
	return nil
}

// openDetector opens the configured detector when cameras come that the first need it, or says why the network cannot
// do without.
func (d *daemon) openDetector(next *config.Config) error {
	i := slices.IndexFunc(next.Cameras, func(c config.Camera) bool { return c.Detect.On() })
	switch {
	case i < 0 || d.detector != nil:
		return nil
	case next.Detector.Path == "" && !d.heads:
		return &config.SettingError{Path: fmt.Sprintf("cameras[%d].detect", i), Err: fmt.Errorf(
			"camera %s: detect: the network %s has no heads; accepted: detect: {off: true}, the network in the binary, or a detector.path",
			next.Cameras[i].Name, d.cfg.Model.Path)}
	}
	with := *next
	with.Model = d.computed
	var err error
	if d.detector, err = configured.OpenDetector(&with); d.detector != nil {
		d.log.Info("the detector", "model", d.detector.String())
	}
	return err
}

// deviceChanged is told when a card has failed, and why, and when it computes again.
func (d *daemon) deviceChanged(engine, device string, why error) {
	if why != nil {
		d.log.Error("the card has failed; the processor computes the network, and it is tried again by and by", "engine", engine, "device", device, "error", why)
		return
	}
	d.log.Info("the card computes the network again", "engine", engine, "device", device)
}

func networkMetrics(s dnn.Status, model string) metrics.Network {
	n := metrics.Network{
		Backend: s.Engine + " " + s.Device, Model: model, Failed: s.Failed, Failures: s.Failures,
		Runs: map[string]uint64{}, Images: map[string]uint64{},
	}
	for device, w := range s.Work {
		n.Runs[device], n.Images[device] = w.Runs, w.Images
	}
	return n
}

// camera is the configuration of a camera.
func (d *daemon) camera(b cameras.Build) pipeline.Config {
	cam := b.Camera
	m := d.meters.Camera(cam.Name)
	recorder := d.recorder(cam)
	c := pipeline.Config{
		Site: d.cfg.Site, Name: cam.Name,
		Open: func(o ingest.Observer) (pipeline.Source, error) {
			o.Held, o.Packets, o.Decoder = m.Held, m.Packets, m.Decoder
			o = recorded(o, recorder)
			if d.box != nil {
				if source := d.box.ahead.take(cam); source != nil {
					source.Attach(o)
					return source, nil
				}
			}
			cfg := cameras.Source(cam, d.log)
			cfg.Observer, cfg.FirstDial = o, configured.Stagger(b.Nth)
			if cam.Published() {
				if door := d.whip.door(cam.Name); door != nil { // of a camera that is about to go
					cfg.Door = door
				}
			}
			return ingest.Open(cfg)
		},
		NewExtractor: func() (pipeline.Extractor, error) {
			return features.New(features.Config{Superpixels: d.cfg.Superpixels, Cores: d.cores}, d.model)
		},
		NewStepper: func() (pipeline.Stepper, error) {
			return tracker.New(tracker.Config{Budget: time.Duration(d.cfg.Tracker.BudgetMS) * time.Millisecond, Cores: d.cores})
		},
		Publisher:  publisher{d.bus, d.webhooks, d.mqtt, recorder},
		Viewer:     shown{d.web, d.streams, d.bus, hidesSum(cam, b.Settings.PrivacyOf(cam))},
		Meter:      m,
		Cores:      d.cores,
		Annotation: b.Marks, AnnotationFits: d.fits || configured.Fits(cam),
		Privacy: cameras.Privacy(b.Settings.PrivacyOf(cam)),
		Zones:   cam.Layout(), Rules: cam.RulesOf(), Checkpoints: d.kept,
		Slow:   time.Duration(d.cfg.Log.SlowMS) * time.Millisecond,
		Logger: d.log,
	}
	if b.Lease != nil {
		c.Lease = lease{b.Lease, d.cfg.Fleet.Box}
	}
	if cam.Detect.On() {
		c.Detect = configured.Detect(cam.Detect)
		if d.detector != nil {
			c.NewDetector = func() (pipeline.Detector, error) { return d.detector, nil }
		}
	}
	return c
}
