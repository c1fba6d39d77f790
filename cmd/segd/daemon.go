package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/whip"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/configured"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/web"
)

// daemon is what run and demo have in common: everything between a configuration
// and the masks.
type daemon struct {
	cfg         *config.Config
	log         *slog.Logger
	annotations map[string]*annotation.Annotation // by camera
	fits        bool                              // they are of the frames that come, as nobody can tell by the URL

	meters   *metrics.Metrics
	registry *prometheus.Registry
	whip     *whip.Server // nil: no camera takes publishers
	web      *web.Server
	bus      *bus.Bus

	checkpoints pipeline.Checkpoints // nil: nothing is kept over a restart
	drained     bool                 // serve has closed the bus, and told how that went
	models      []io.Closer          // the network's, and the detector
	cores       *cores.Cores
	set         *pipeline.Set
	limit       time.Duration // of systemd's watchdog; 0: none
	watch       *watchdog
}

// newLogger writes to w as the configuration says.
func newLogger(w io.Writer, cfg config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo // config accepts the four names only
	}
	opt := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// openDaemon takes the addresses, so that a second segd ends here, before
// anything slow. close must follow.
func openDaemon(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *daemon, err error) {
	d := &daemon{cfg: cfg, log: log, annotations: map[string]*annotation.Annotation{}}
	if err := errors.Join(d.readAnnotations(), checkSources(cfg)); err != nil {
		return nil, err
	}
	d.limit = systemdLimit(log)
	d.watch = newWatchdog(cfg.Cameras, d.limit)
	d.registry = prometheus.NewRegistry()
	d.meters = metrics.New(d.registry)
	d.meters.Build(version, "")
	d.meters.Budget(time.Duration(cfg.Tracker.BudgetMS) * time.Millisecond)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if err := d.openWHIP(); err != nil {
		return nil, err
	}
	page := web.Config{
		Addr: cfg.HTTP.Addr, Token: cfg.HTTP.Token, ViewerToken: cfg.HTTP.ViewerToken, PublishToken: cfg.WHIP.Token, Version: version, Logger: log,
		Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{Registry: d.registry}),
		Ready:   d.ready, Alive: d.alive, Commands: commands{d}, Settings: cfg.Public(),
		Panicked: func() { d.meters.CommandPanicked(metrics.HTTP) },
		TLSCert:  cfg.HTTP.TLS.Cert, TLSKey: cfg.HTTP.TLS.Key,
		TrustedProxies: cfg.HTTP.Proxies(), MaxViewers: cfg.HTTP.Viewers,
	}
	if d.whip != nil {
		page.WHIP = d.whip.Handler()
	}
	if d.web, err = web.New(page); err != nil {
		return nil, cli.Usage(err)
	}
	if err := d.web.Listen(); err != nil {
		return nil, err
	}
	d.meters.Page(func() metrics.Page { return metrics.Page(d.web.Stats()) })
	if d.bus, err = openBus(ctx, cfg, log, d.meters); err != nil {
		return nil, err
	}
	if kept := d.bus.Checkpoints(); kept != nil {
		d.checkpoints = kept
	} else {
		log.Info("objects are not kept over a restart; set nats.store_dir for that")
	}
	d.meters.Bus(func() metrics.Bus { return busMetrics(d.bus.Stats()) })
	return d, nil
}

// openWHIP takes the address for publishers' media, if there are cameras for them.
func (d *daemon) openWHIP() (err error) {
	cfg := whip.Config{
		Addr: d.cfg.WHIP.Addr, PublicIPs: d.cfg.WHIP.PublicIPs, Replace: d.cfg.WHIP.SecondPublisher == "replace", Logger: d.log,
	}
	for _, s := range d.cfg.WHIP.ICEServers {
		cfg.ICEServers = append(cfg.ICEServers, whip.ICEServer(s))
	}
	for _, cam := range d.cfg.Cameras {
		if cam.Published() {
			cfg.Cameras = append(cfg.Cameras, cam.Name)
		}
	}
	if len(cfg.Cameras) == 0 {
		return nil
	}
	if isLoopback(cfg.Addr) && !isLoopback(d.cfg.HTTP.Addr) && len(cfg.PublicIPs) == 0 {
		d.log.Warn("publishers of other machines reach http.addr, but not whip.addr, where their pictures would come in; "+
			"set whip.addr to an address that they reach, such as \":8189\"", "http.addr", d.cfg.HTTP.Addr, "whip.addr", cfg.Addr)
	}
	d.whip, err = whip.New(cfg)
	return err
}

// isLoopback tells whether what listens at addr is reached from this machine only.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// checkSources finds what the configuration cannot know to be wrong with a URL.
func checkSources(cfg *config.Config) error {
	var faults []error
	for _, cam := range cfg.Cameras {
		if cam.Published() {
			continue
		}
		if _, err := ingest.Open(configured.Source(cam, nil)); err != nil {
			faults = append(faults, cli.Usage(err))
		}
	}
	return errors.Join(faults...)
}

func openBus(ctx context.Context, cfg *config.Config, log *slog.Logger, meters *metrics.Metrics) (*bus.Bus, error) {
	c, err := busConfig(cfg, log, meters)
	if err != nil {
		return nil, err
	}
	return bus.Open(ctx, c)
}

func busConfig(cfg *config.Config, log *slog.Logger, meters *metrics.Metrics) (bus.Config, error) {
	host, text, err := net.SplitHostPort(cfg.NATS.Addr)
	if err != nil {
		return bus.Config{}, fmt.Errorf("nats.addr: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return bus.Config{}, fmt.Errorf("nats.addr: %w", err)
	}
	var users []bus.User
	for _, u := range cfg.NATS.Users {
		users = append(users, bus.User{Name: u.Name, Password: u.Password, NKey: u.NKey, Role: bus.Role(u.Role)})
	}
	return bus.Config{
		Users: users, Cert: cfg.NATS.TLS.Cert, Key: cfg.NATS.TLS.Key,
		Site: cfg.Site, URL: cfg.NATS.URL, Host: host, Port: port, Token: cfg.NATS.Token,
		StoreDir: cfg.NATS.StoreDir, SyncAlways: cfg.NATS.Sync == "always", JSON: cfg.NATS.Format == "json",
		Duplicates: cfg.NATS.Duplicates == "allow", Version: version, Logger: log,
		Access: configured.NATSAccess(cfg.NATS), Events: retention(cfg.NATS.Events), Masks: retention(cfg.NATS.Masks),
		Panicked: func() { meters.CommandPanicked(metrics.NATS) },
		Refused:  func(r bus.Refusal) { meters.CommandRefused(string(r)) },
	}, nil
}

func retention(r config.Retention) bus.Retention {
	return bus.Retention{MaxAge: r.Age(), MaxBytes: r.Bytes()}
}

func (d *daemon) readAnnotations() error {
	var faults []error
	for _, cam := range d.cfg.Cameras {
		if cam.Annotation == "" {
			continue
		}
		a, err := configured.ReadAnnotation(cam.Annotation)
		if err != nil {
			faults = append(faults, fmt.Errorf("camera %s: %w", cam.Name, err))
			continue
		}
		d.annotations[cam.Name] = a
	}
	return errors.Join(faults...)
}

// build makes the cameras; nothing is dialled yet. They share the cores, one model and one detector.
func (d *daemon) build() error {
	d.cores = cores.New(runtime.GOMAXPROCS(0))
	m := d.cfg.Model
	if m.Threads == 0 {
		m.Threads = max(1, runtime.GOMAXPROCS(0)/len(d.cfg.Cameras)) // all may be in the network at once
	}
	model, err := configured.OpenModel(m)
	if err != nil {
		return err
	}
	d.models = append(d.models, model)
	info := model.Info()
	d.meters.Backend(info.Engine+" "+info.Device, filepath.Base(info.Path))
	for _, e := range info.Engines {
		d.log.Info("the network's engine", "engine", e.Name, "version", e.Version, "used", e.Name == info.Engine, "milliseconds", e.Milliseconds, "error", e.Error)
	}
	detectors := *d.cfg
	detectors.Model = m
	detector, err := configured.OpenDetector(&detectors)
	if err != nil {
		return err
	}
	if detector != nil {
		d.models = append(d.models, detector)
		info := detector.Info()
		d.log.Info("the detector", "model", filepath.Base(info.Path), "engine", info.Engine, "input", fmt.Sprintf("%d×%d", info.InputWidth, info.InputHeight))
	}
	var configs []pipeline.Config
	var names []string
	for i, cam := range d.cfg.Cameras {
		names = append(names, cam.Name)
		configs = append(configs, d.camera(i, cam, model))
		if cam.Detect.On() {
			c := &configs[i]
			c.Detect, c.NewDetector = configured.Detect(cam.Detect), func() (pipeline.Detector, error) { return detector, nil }
		}
	}
	if d.set, err = pipeline.NewSet(configs...); err != nil {
		return err
	}
	d.web.Cameras(names)
	return commands{d}.serve(names)
}

// camera is the configuration of the i-th camera.
func (d *daemon) camera(i int, cam config.Camera, model features.Model) pipeline.Config {
	m := meter{d.meters.Camera(cam.Name)}
	return pipeline.Config{
		Site: d.cfg.Site, Name: cam.Name,
		Open: func(o ingest.Observer) (pipeline.Source, error) {
			o.Packets, o.Held, o.Jitter = m.Packets, m.Held, m.Jitter
			o.Decoder = func(id codec.ID, on codec.Device) { m.Decoder(id.String(), string(on)) }
			o.DecodeFallback = func(error) { m.DecodeFallback() } // the source logs it
			cfg := configured.Source(cam, d.log)
			cfg.Observer, cfg.FirstDial = o, configured.Stagger(i)
			if cam.Published() {
				cfg.Door = d.whip.Door(cam.Name)
			}
			return ingest.Open(cfg)
		},
		NewExtractor: func() (pipeline.Extractor, error) {
			return features.New(features.Config{Superpixels: d.cfg.Superpixels, Cores: d.cores}, model)
		},
		NewStepper: func() (pipeline.Stepper, error) {
			return tracker.New(tracker.Config{Budget: time.Duration(d.cfg.Tracker.BudgetMS) * time.Millisecond, Cores: d.cores})
		},
		Publisher:  d.bus,
		Viewer:     d.web,
		Meter:      m,
		Cores:      d.cores,
		Annotation: d.annotations[cam.Name], AnnotationFits: d.fits || configured.Fits(cam),
		Zones: cam.Layout(), Checkpoints: d.checkpoints,
		Slow:   time.Duration(d.cfg.Log.SlowMS) * time.Millisecond,
		Logger: d.log,
	}
}

// ready says why segd is not ready. A camera that is down is no reason: others
// may be up, and it comes back by itself.
func (d *daemon) ready() error {
	return d.bus.Err()
}

// alive says that cameras are up and none advances.
func (d *daemon) alive() error { return d.watch.check(time.Now(), d.set.Snapshots()) }

// serve runs the cameras until ctx ends or all sources have, and the page beside
// them. tick, if not nil, is called once a second.
//
// The order of ending is written here and nowhere else: the sources stop, the
// frames in hand are finished, publishers are sent away, the bus is drained, and
// HTTP goes last, so that the page and the metrics tell of all of it.
func (d *daemon) serve(ctx context.Context, tick func(elapsed time.Duration)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup

	webCtx, stopWeb := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWeb()
	var webErr error
	helpers.Go(func() {
		defer cancel() // without the page nobody would see what goes on
		webErr = d.web.Run(webCtx)
	})
	ticked := make(chan struct{})
	if tick != nil {
		helpers.Go(func() { everySecond(ticked, tick) })
	}

	helpers.Go(func() { everySecond(ticked, func(time.Duration) { _ = d.alive() }) }) // it is to see each advance

	err := d.set.Run(ctx)
	close(ticked)
	if d.whip != nil {
		d.whip.Close()
	}
	err = errors.Join(err, d.bus.Close())
	d.drained = true
	stopWeb()
	helpers.Wait()
	return errors.Join(err, webErr)
}

// everySecond calls tick until done is closed.
func everySecond(done <-chan struct{}, tick func(elapsed time.Duration)) {
	start := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case now := <-ticker.C:
			tick(now.Sub(start))
		}
	}
}

// close gives back what is left. It may follow serve or come instead of it.
func (d *daemon) close() error {
	var faults []error
	if d.whip != nil {
		d.whip.Close()
	}
	if d.bus != nil && !d.drained {
		faults = append(faults, d.bus.Close())
	}
	if d.web != nil {
		d.web.Close()
	}
	for _, m := range d.models {
		faults = append(faults, m.Close())
	}
	d.models = nil
	return errors.Join(faults...)
}
