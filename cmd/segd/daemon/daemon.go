package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/outputs/recording"
	"github.com/segd/segd/outputs/restream"
	"github.com/segd/segd/outputs/webhook"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/web"
)

// daemon is what run and demo have in common: everything between a configuration
// and the masks.
type daemon struct {
	version     Version
	cfg         *config.Config // at the start: all but the cameras is as it says
	base        string         // folder that relative paths of added cameras start at
	log         *slog.Logger
	level       *slog.LevelVar                    // of log
	annotations map[string]*annotation.Annotation // by camera; of cfg
	fits        bool                              // they are of the frames that come, which the URL does not tell

	meters     *metrics.Metrics
	registry   *prometheus.Registry
	whip       *publishers
	streams    *restream.Streams
	rtsp       *restream.RTSP // nil: there is none
	web        *web.Server
	bus        *bus.Bus
	mqtt       *mqtt.Publisher  // nil: there is no broker
	webhooks   *webhook.Sender  // to whatever webhooks there are
	recordings *recording.Store // nil: nothing is recorded
	kept       checkpoints      // nil: nothing is kept over a restart
	drained    bool             // serve has closed the bus, and told how that went
	model      features.Model
	models     []io.Closer         // the network's
	detector   configured.Detector // for all cameras that detect; nil: the network's heads do
	computed   config.Model        // what computes network and detector
	heads      bool                // the network has some
	cores      *cores.Cores
	cameras    *cameras.Manager[*pipeline.Camera]
	set        *set.Set[*pipeline.Camera]
	box        *box          // nil: there is no fleet
	limit      time.Duration // of systemd's watchdog; 0: none
	watch      *watchdog
	reloader   *reloader // nil: there is no file to read again
}

// checkpoints keep what cameras know over a restart.
type checkpoints interface {
	pipeline.Checkpoints
	// Delete removes all that is kept of a camera.
	Delete(ctx context.Context, camera string) error
}

// newLogger writes to w as the configuration says; the level can be set later.
func newLogger(w io.Writer, cfg config.Log) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	setLevel(level, cfg)
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: cutAttr}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opt)), level
	}
	return slog.New(slog.NewTextHandler(w, opt)), level
}

// cutAttr cuts what others have made long: none of them is to fill the disk.
func cutAttr(_ []string, a slog.Attr) slog.Attr {
	var text string
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	default:
		if a.Value.Kind() != slog.KindAny {
			return a // of a few bytes
		}
		text = fmt.Sprint(v)
	}
	most := limit.MaxLogged
	if a.Key == "stack" {
		most = limit.MaxStack
	}
	if len(text) > most {
		a.Value = slog.StringValue(limit.Cut(text, most))
	}
	return a
}

func setLevel(level *slog.LevelVar, cfg config.Log) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(cfg.Level)); err != nil {
		l = slog.LevelInfo // config accepts the four names only
	}
	level.Set(l)
}

// openDaemon takes the addresses, so that a second segd ends here, before
// anything slow. with, if not nil, is called before. close must follow.
func openDaemon(ctx context.Context, v Version, cfg *config.Config, log *slog.Logger, with func(*daemon)) (_ *daemon, err error) {
	d := newDaemon(v, cfg, log)
	if with != nil {
		with(d)
	}
	d.cameras = cameras.New(cameras.Config[*pipeline.Camera]{Host: host{d}, Base: d.base, Shared: cfg.Fleet.On(), Logger: log})
	d.set = d.cameras.Running()
	if d.annotations, err = cameras.Check(ctx, cfg); err != nil {
		return nil, err
	}
	d.limit = systemdLimit(log)
	d.watch = newWatchdog(cfg.Cameras, d.limit)
	d.meters.Build(d.version.Number, d.version.Commit)
	d.meters.Budget(time.Duration(cfg.Tracker.BudgetMS) * time.Millisecond)
	d.meters.Tolerance(tracker.Tolerance)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if err := d.openStreams(); err != nil {
		return nil, err
	}
	if err := d.openRecordings(); err != nil {
		return nil, err
	}
	if _, err := d.whip.open(cfg); err != nil {
		return nil, err
	}
	if err := d.openWeb(); err != nil {
		return nil, err
	}
	busConfig, err := d.busConfig()
	if err != nil {
		return nil, err
	}
	if d.bus, err = bus.Open(ctx, busConfig); err != nil {
		return nil, err
	}
	if kept := d.bus.Checkpoints(); kept != nil {
		d.kept = kept
	} else {
		log.Info("objects are not known any more after a restart; with nats.store_dir they are")
	}
	d.meters.Bus(d.bus.Stats)
	if err := d.openMQTT(); err != nil {
		return nil, err
	}
	if err := d.openWebhooks(); err != nil {
		return nil, err
	}
	return d, nil
}

// newDaemon has nothing open yet.
func newDaemon(v Version, cfg *config.Config, log *slog.Logger) *daemon {
	d := &daemon{
		version: v, cfg: cfg, log: log, level: new(slog.LevelVar), annotations: map[string]*annotation.Annotation{},
		registry: prometheus.NewRegistry(), whip: &publishers{log: log}, webhooks: webhook.New(v.Number, log),
	}
	d.meters = metrics.New(d.registry)
	return d
}

// close gives back what is left. It may follow serve or come instead of it.
func (d *daemon) close() error {
	var faults []error
	d.closeStreams()
	if d.box != nil {
		d.box.link.Close()
	}
	if d.bus != nil && !d.drained {
		faults = append(faults, d.bus.Close())
	}
	if d.recordings != nil {
		d.recordings.Close()
	}
	if d.web != nil {
		d.web.Close()
	}
	for _, m := range d.models {
		faults = append(faults, m.Close())
	}
	d.models = nil
	if d.detector != nil {
		faults = append(faults, d.detector.Close())
	}
	return errors.Join(faults...)
}
