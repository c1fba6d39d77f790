package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/coalesce"
	"github.com/segd/segd/internal/pause"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/internal/accuracy"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/keeper"
	"github.com/segd/segd/pipeline/internal/memory"
	"github.com/segd/segd/pipeline/internal/pending"
	"github.com/segd/segd/pipeline/set"
	"github.com/segd/segd/tracker"
)

// Config is what one camera is made of. Site, Name, Open, NewExtractor,
// NewStepper and Publisher are required.
type Config struct {
	Site, Name string // tokens of the NATS subjects

	// Open, NewExtractor and NewStepper build the camera's parts: once at the
	// start and again whenever the stages have to be built anew. NewExtractor makes a
	// second one, for earlier frames, when the first of them is annotated.
	Open         func(ingest.Observer) (Source, error)
	NewExtractor func() (Extractor, error)
	NewStepper   func() (Stepper, error)

	// NewDetector builds what finds the things that are marked by themselves, as Detect says, when the
	// other parts are built; nil: only people mark.
	NewDetector func() (Detector, error)
	Detect      Detect

	Publisher Publisher
	Viewer    Viewer // nil: no viewers
	Meter     Meter  // nil: nothing is counted
	Cores     Cores  // nil: there is one for every stage

	// Annotation is queued before the first frame, if it has no picture; the objects of
	// one that has are looked for in the frames by what they look like there. nil: none.
	Annotation *annotation.Annotation
	// AnnotationFits: the frame that an Annotation without picture is put on is known to be
	// the one it was made on. Else an event says that it is not known.
	AnnotationFits bool

	// Privacy is what pictures do not show that the Viewer gets, and who asks for one; Every is set from Detect.
	Privacy privacy.Config

	// Zones are the zones and lines whose events are told, until SetZones.
	Zones zones.Layout

	// Rules are told of as long as they are so; where one's zone is no more, it rests.
	Rules []rules.Rule

	// Checkpoints keep what the camera knows over a restart; nil: nothing does.
	Checkpoints Checkpoints

	// Lease is the right to publish, where other boxes of a fleet may have it; nil: there are none.
	Lease Lease

	// MinBackoff and MaxBackoff bound the pause before failed stages are built
	// anew; it doubles from the one to the other. 0: 1 s and 30 s.
	MinBackoff, MaxBackoff time.Duration

	// Slow is the time from capture to publish from which on a frame is logged with
	// the time of each stage, one a minute at most. 0: never.
	Slow time.Duration

	Logger *slog.Logger // nil discards
}

// Camera runs one feed through its stages.
type Camera struct {
	cfg    Config
	nth    int // of the cameras on its cores
	log    *slog.Logger
	stats  stats
	notes  pending.Queue
	memory *memory.Memory
	events eventQueue
	ran    atomic.Bool
	newest newest

	accuracy accuracy.Records

	// turn is held while stages is used: its stepper and the objects it knows. A
	// channel, so that waiting for it can end.
	turn     chan struct{}
	stages   *stages // nil while there are none
	zones    zoneWatch
	marker   *marking.Marker // used in the turn only
	previews chan struct{}

	lookFaults coalesce.Log

	// Used in the turn only: what the tracker knew besides the pictures, lately, nil for nothing; and how many
	// stages in a row have failed soon after they learnt the objects again.
	known      *tracker.Snapshot
	failures   int
	ration     ration                // of events of objects
	mayTell    func(first bool) bool // ration.may
	sayLimited rate.Sometimes

	epoch          atomic.Uint64
	keeper         *keeper.Keeper
	captured       time.Time // the last time; this and the next two are used in the turn only
	capturedWhole  time.Time
	wholeIn        time.Duration // after that
	configuredHash []byte        // of Config.Annotation; nil without

	// seqBase and ptsBase carry the numbering across restarts of the stages; only
	// the goroutine of Run touches them and next….
	seqBase, seqNext uint64
	ptsBase, ptsNext time.Duration
	restored         *restored // nil once a frame has come since
}

// New returns a camera that Run will start. It names every missing part of cfg.
func New(cfg Config) (*Camera, error) {
	var faults []error
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"Site", cfg.Site == ""}, {"Name", cfg.Name == ""}, {"Open", cfg.Open == nil},
		{"NewExtractor", cfg.NewExtractor == nil}, {"NewStepper", cfg.NewStepper == nil},
		{"Publisher", cfg.Publisher == nil},
	} {
		if part.missing {
			faults = append(faults, fmt.Errorf("pipeline: camera %q: Config.%s is missing", cfg.Name, part.name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if cfg.Viewer == nil {
		cfg.Viewer = nopViewer{}
	}
	if cfg.Meter == nil {
		cfg.Meter = nopMeter{}
	}
	if cfg.Cores == nil {
		cfg.Cores = nopCores{}
	}
	if cfg.Lease == nil {
		cfg.Lease = noLease{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MinBackoff == 0 {
		cfg.MinBackoff = time.Second
	}
	if cfg.MaxBackoff == 0 {
		cfg.MaxBackoff = 30 * time.Second
	}
	c := &Camera{
		cfg: cfg, nth: cfg.Cores.Join(), log: cfg.Logger.With(keyCamera, cfg.Name), memory: &memory.Memory{},
		events: eventQueue{notices: make(chan notice, maxEvents)},
		turn:   make(chan struct{}, 1), previews: make(chan struct{}, maxPreviews),
		keeper: keeper.New(cfg.Checkpoints, cfg.Lease.Valid), sayLimited: rate.Sometimes{Interval: time.Minute},
	}
	c.epoch.Store(uint64(time.Now().UnixMilli()))
	c.ration = newRation(c.limited)
	c.mayTell = c.ration.may
	c.stats.snap.Camera = cfg.Name
	if err := c.zones.begin(c); err != nil {
		return nil, fmt.Errorf("pipeline: camera %q: %w", cfg.Name, err)
	}
	if err := c.beginMarking(); err != nil {
		return nil, fmt.Errorf("pipeline: camera %q: %w", cfg.Name, err)
	}
	c.lookFaults.Write, c.lookFaults.Message = c.log.Warn, "not looked for what there is"
	if err := c.configure(cfg.Annotation); err != nil {
		return nil, err
	}
	return c, nil
}

// Check tells what New would, without a log.
func (cfg Config) Check() error {
	cfg.Viewer, cfg.Logger = nil, nil
	_, err := New(cfg)
	return err
}

// Name is the camera's name.
func (c *Camera) Name() string { return c.cfg.Name }

// Snapshot tells how the camera does.
func (c *Camera) Snapshot() Snapshot { return c.snapshot(time.Now()) }

func (c *Camera) snapshot(now time.Time) Snapshot {
	snap := c.stats.snapshot(now)
	snap.Objects = c.newest.table().All()
	return snap
}

// State is the status as of now.
func (c *Camera) State() *segdv1.Status {
	now := time.Now()
	st := status(c.cfg.Site, c.snapshot(now), now)
	st.Epoch, st.Lease = c.epoch.Load(), c.cfg.Lease.Token()
	st.Box = c.cfg.Lease.Box()
	return st
}

// Keys of the log.
const (
	keyCamera  = "camera"
	keyError   = "error"
	keyStage   = "stage"
	keySeq     = "seq"
	keyCount   = "count"
	keyPause   = "pause"
	keyStack   = "stack"
	keyEvent   = "event"
	keyMessage = "message"
	keyObject  = "object"
	keyObjects = "objects"
	keyRule    = "rule"
	keyZone    = "zone"
	keyZones   = "zones"
	keyLines   = "lines"
)

// Run follows the camera until ctx ends or a source that can end does, and
// returns nil for both. It builds failed stages anew for ever. It may be called
// once.
func (c *Camera) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("pipeline: camera %s: Run was called twice", c.cfg.Name)
	}
	c.cfg.Meter.Watch(c.Snapshot)
	var helpers sync.WaitGroup
	helpers.Go(c.tell)
	if moved := c.cfg.Lease.Moved(); moved != "" {
		c.emit(time.Now(), &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_CAMERA_MOVED, Message: moved})
	}
	c.restore(ctx)
	stop := make(chan struct{})
	helpers.Go(func() { c.tellStatus(stop) })
	var keeping sync.WaitGroup
	keeping.Go(func() { c.keep(context.WithoutCancel(ctx)) })

	c.repeat(ctx)

	c.keeper.Close()
	keeping.Wait()
	c.refuse()
	c.newest.drop()
	close(stop)
	c.lookFaults.Flush()
	c.events.close()
	helpers.Wait()
	return nil
}

// Reasons to be down that are no fault.
var (
	errStopped = errors.New("segd stops")
	errEnded   = errors.New("the source has ended")
)

// stopped is why ctx, that of Run, has ended.
func stopped(ctx context.Context) error {
	if why := context.Cause(ctx); errors.Is(why, set.ErrRemoved) || errors.Is(why, set.ErrReplaced) {
		return why
	}
	return errStopped
}

// faultless are the reasons to be down that nothing has failed for.
func faultless(reason error) bool {
	return slices.ContainsFunc([]error{errStopped, errEnded, set.ErrRemoved, set.ErrReplaced}, func(e error) bool { return errors.Is(reason, e) })
}

// repeat runs the stages until they end well.
func (c *Camera) repeat(ctx context.Context) {
	pauses := pause.Growing(c.cfg.MinBackoff, c.cfg.MaxBackoff)
	for {
		began := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			c.down(stopped(ctx))
			return
		}
		if err == nil {
			c.down(errEnded)
			return
		}
		if time.Since(began) > c.cfg.MaxBackoff {
			pauses.Reset()
		}
		wait := pauses.NextBackOff()
		c.report(err, wait)
		c.down(err)
		c.retry(err, wait)
		c.stats.with(func(s *Snapshot) { s.Restarts++ })
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (c *Camera) report(err error, wait time.Duration) {
	c.log.Error("camera failed, starting it anew", keyError, err, keyPause, wait.Round(time.Millisecond))
	var p *guard.Panic
	if errors.As(err, &p) {
		c.log.Debug("where it failed", keyStack, string(p.Stack))
	}
}

// tellStatus publishes a status every second, and a last one at the end.
func (c *Camera) tellStatus(stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	faults := coalesce.Log{Write: c.log.Warn, Message: "status not published"}
	defer faults.Flush()
	for ended := false; !ended; {
		select {
		case <-stop:
			ended = true
		case <-tick.C:
		}
		st := c.State()
		if !c.cfg.Lease.Valid() { // it is another's to tell
			c.cfg.Viewer.Status(st)
			continue
		}
		if err := c.cfg.Publisher.PublishStatus(st); err != nil {
			c.publishFailed()
			faults.Add(1, err)
		}
		c.cfg.Viewer.Status(st)
	}
}

func (c *Camera) publishFailed() { c.stats.with(func(s *Snapshot) { s.PublishFailures++ }) }

// observer listens to the source.
func (c *Camera) observer() ingest.Observer {
	return ingest.Observer{
		Up:           c.up,
		Down:         c.down,
		Retry:        c.retry,
		Missed:       func(why ingest.Miss, n int) { c.stats.with(func(s *Snapshot) { s.Missed[why] += uint64(n) }) },
		ClockOffset:  c.cfg.Meter.ClockOffset,
		Deinterlaced: func(now bool) { c.stats.with(func(s *Snapshot) { s.Deinterlaced = now }) },
	}
}

func (c *Camera) up(again bool) {
	if again {
		c.stats.with(func(s *Snapshot) { s.Reconnects++ })
	}
	changed := false
	c.stats.with(func(s *Snapshot) {
		changed = !s.Up
		s.Up, s.Reason, s.Since = true, "", time.Time{}
		s.Attempts, s.NextAttempt = 0, time.Time{}
	})
	if changed {
		c.log.Info("camera up", "again", again)
		c.emit(time.Now(), &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP})
	}
}

func (c *Camera) down(reason error) {
	changed := false
	c.stats.with(func(s *Snapshot) {
		// The first word counts too: a camera may be down from the start.
		changed = s.Up || s.Reason == ""
		if changed {
			s.Since = time.Now()
		}
		s.Up, s.Reason = false, plain.Error(reason)
	})
	if changed {
		level := slog.LevelDebug // who found the fault has logged it
		if faultless(reason) {
			level = slog.LevelInfo
		}
		c.log.Log(context.Background(), level, "camera down", keyError, reason)
		c.emit(time.Now(), &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_CAMERA_DOWN, Message: plain.Error(reason)})
	}
}

// retry notes that an attempt failed with err and when the next one is. The reason may
// be another than at first: a camera that boots refuses before it answers.
func (c *Camera) retry(err error, pause time.Duration) {
	c.stats.with(func(s *Snapshot) {
		s.Reason = plain.Error(err)
		s.Attempts++
		s.NextAttempt = time.Now().Add(pause)
	})
}
