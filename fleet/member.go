package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

const (
	// watchers is how many boxes watch one box's life: as many may die with it at once, and
	// it is noticed as fast.
	watchers = 5
	// claimsAtOnce bounds the changes that are under way.
	claimsAtOnce = 8
	// leavingAtOnce is how many cameras a drained box gives away at a time.
	leavingAtOnce = 4
	// stepPause is from one look at what there is to do to the next, at least.
	stepPause = 5 * time.Millisecond
	// moveTime is for how long a move that was asked for counts as under way.
	moveTime = 10 * time.Second
	// refusedTime is for how long a box does not take a camera again that it could not run.
	refusedTime = time.Minute
	// forgetAfter is when the keys of boxes that are over are removed.
	forgetAfter = 10 * time.Minute
	// rateChange is what counts as another rate of a camera.
	rateChange = 1.25
	// openAgain is the pause before the bucket is opened again that could not be.
	openAgain = 500 * time.Millisecond
)

// Camera is one that there is.
type Camera struct {
	Name string
	// Wants are the labels that a box must have to run it.
	Wants map[string]string
}

// Lease is the right to run a camera, and to publish it while Valid says so.
type Lease struct {
	Camera string
	// Token is the fencing token: greater than those of all leases of the camera before.
	Token uint64
	// From is the box that ran it before, empty if none did, and Why it does not any more.
	From string
	Why  Why

	valid func() bool
}

// Valid tells whether the camera may be published now. It is to be asked before each frame.
func (l *Lease) Valid() bool { return l.valid() }

// Runner runs cameras. One goroutine calls Run.
type Runner interface {
	// Prepare makes ready for a camera that another box is about to give to this one, and returns once it
	// could run at once, or why it could not. It may be called from several goroutines, also beside Run,
	// and nothing may come of it.
	Prepare(ctx context.Context, camera string) error
	// Run has this box run exactly these cameras and returns once it does: others have
	// ended by then, and what is to be known of them elsewhere is kept. One with another
	// token than before begins anew. The others notice nothing. It returns why some do
	// not run, by camera.
	Run(ctx context.Context, leases []*Lease) (faults map[string]error)
}

// Meter is told what happens. It must not block.
type Meter interface {
	// Taken is a camera that was taken, and for how long no box held it that this one knows
	// of.
	Taken(why Why, free time.Duration)
	// Given is one that was given away.
	Given(why Why)
	// Lapsed is a time in which nothing could be published.
	Lapsed()
	// Fenced is a box whose session this one has ended.
	Fenced()
}

// Config is what a Member is made of. Conn, Site, Box and Runner are required.
type Config struct {
	Conn *nats.Conn
	// Site and Box are tokens of a NATS subject: A-Z, a-z, 0-9, _ and -. No two boxes of a
	// site have one name.
	Site, Box string
	// Page, Host and Version are told to others, and so are Labels.
	Page, Host, Version string
	Labels              map[string]string
	// Address is told to others, too; it may change. Nil: none is.
	Address func() string
	// Most is how many cameras this box takes; 0: any number.
	Most int
	// Replicas are how many servers keep the bucket, if this box makes it; 0: one.
	Replicas int
	Timing   Timing
	// Capacity is how many frames a second this box can label, and Rate how many a camera
	// that it runs sends; 0: not known. They may be nil, and must not block.
	Capacity func() float64
	Rate     func(camera string) float64
	Runner   Runner
	Meter    Meter        // nil: nothing is counted
	Logger   *slog.Logger // nil discards
}

// Member is this box's part in a fleet.
type Member struct {
	cfg   Config
	log   *slog.Logger
	store *store
	began time.Time

	ctx     context.Context // of all it does; ends after Run's
	jobs    sync.WaitGroup
	kick    chan struct{} // capacity 1: look at what there is to do
	driving chan struct{} // capacity 1: what is to run has changed

	// right guards what Lease.Valid needs.
	right sync.Mutex
	self  rights

	mu        sync.Mutex // guards what follows; before right
	view      *view
	synced    bool
	settled   instant // from when on cameras are taken
	claimAt   instant // not before
	opening   bool
	renewing  bool
	renewAt   instant // not before
	beatAt    instant
	signs     map[string]*silence // of the boxes that are watched
	subs      map[string]*nats.Subscription
	echoes    *nats.Subscription // to what this box says to itself alone
	ring      []string           // the boxes that are this one's to watch
	ringOf    int                // by that many joins
	cameras   map[string]Camera
	known     bool               // cameras have been told
	free      map[string]freed   // cameras that may be taken
	freeLoad  float64            // their rates
	taken     []uint64           // revisions of leases that this box has taken
	seen      uint64             // the newest revision that the watch has told of
	misfits   bool               // it may have cameras that are there no more
	pending   map[string]float64 // those that are being taken, and their rates
	leaving   map[string]leaving
	refused   map[string]instant // cameras that could not be run here, until when
	running   map[string]uint64  // tokens of the cameras that run
	fencing   map[string]bool
	planAt    instant
	planning  bool
	moving    map[string]moving // what the plan has asked for
	rateAt    instant
	lapse     bool
	duplicate bool // another box has this one's name
	ending    bool // this box gives its cameras away
	closing   bool // and waits for none of that any more
}

// rights are what this box may do.
type rights struct {
	session string
	tenure  tenure
	open    bool // the session's key is there
	hearing hearing
	beats   [64]beat // the newest
	next    uint64   // number of the next one
}

// beat is a heartbeat that was sent.
type beat struct {
	sent       instant
	connection uint64
	deaf       bool // for this box alone
}

// leaving is where a camera is to go.
type leaving struct {
	to           string // empty: to any box
	why          Why
	asked, ready bool // that box was asked to make ready, and has or will not
}

type moving struct {
	to    string
	until instant
}

var token = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// New returns a member that Run will have join the fleet.
func New(cfg Config) (*Member, error) {
	var faults []error
	for _, part := range []struct {
		name    string
		missing bool
	}{{"Conn", cfg.Conn == nil}, {"Runner", cfg.Runner == nil}} {
		if part.missing {
			faults = append(faults, fmt.Errorf("fleet: Config.%s is missing", part.name))
		}
	}
	for name, value := range map[string]string{"Site": cfg.Site, "Box": cfg.Box} {
		if !token.MatchString(value) {
			faults = append(faults, fmt.Errorf("fleet: %s %q; want letters, digits, _ and -", name, value))
		}
	}
	faults = append(faults, cfg.Timing.setDefaults())
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Meter == nil {
		cfg.Meter = uncounted{}
	}
	if cfg.Capacity == nil {
		cfg.Capacity = func() float64 { return 0 }
	}
	if cfg.Address == nil {
		cfg.Address = func() string { return "" }
	}
	if cfg.Rate == nil {
		cfg.Rate = func(string) float64 { return 0 }
	}
	s, err := newStore(cfg.Conn, cfg.Site, cfg.Replicas)
	if err != nil {
		return nil, err
	}
	m := &Member{
		cfg: cfg, log: cfg.Logger, store: s, began: time.Now(),
		kick: make(chan struct{}, 1), driving: make(chan struct{}, 1),
		view: newView(), signs: map[string]*silence{}, subs: map[string]*nats.Subscription{},
		cameras: map[string]Camera{}, free: map[string]freed{}, pending: map[string]float64{},
		leaving: map[string]leaving{}, refused: map[string]instant{}, running: map[string]uint64{},
		fencing: map[string]bool{}, moving: map[string]moving{},
	}
	m.self = rights{session: nuid.Next(), hearing: hearing{echo: never}}
	return m, nil
}

func (m *Member) now() instant { return time.Since(m.began) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run takes part in the fleet until ctx ends. Then it has its cameras end, gives them to
// others and leaves.
func (m *Member) Run(ctx context.Context) error {
	all, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	m.ctx = all
	if !m.openStore(ctx) {
		return nil
	}
	var parts sync.WaitGroup
	watching, stopWatch := context.WithCancel(all)
	parts.Go(func() { m.store.watch(watching, m.told, m.sync) })
	parts.Go(func() { m.drive(all) })
	requests, err := m.serve()
	if err == nil {
		m.loop(ctx)
		m.giveAway()
		m.leave()
		for _, sub := range requests {
			_ = sub.Unsubscribe() // a connection that is lost has none
		}
	}
	stopWatch()
	cancel()
	poke(m.driving)
	parts.Wait()
	m.jobs.Wait()
	m.unsubscribe()
	return err
}

// openStore opens the bucket, for as long as that takes.
func (m *Member) openStore(ctx context.Context) bool {
	said := ""
	for {
		err := m.store.open(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			m.log.Warn("the fleet is not there yet, trying on", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(openAgain):
		}
	}
}

// loop looks at what is to be done, whenever something has changed and at least as often as a heartbeat is due.
func (m *Member) loop(ctx context.Context) {
	tick := time.NewTicker(m.cfg.Timing.Beat / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.kick:
		}
		m.mu.Lock()
		m.step(m.now())
		m.mu.Unlock()
		time.Sleep(stepPause) // much may change at once
	}
}

// step does what is due. It needs mu, as do those it calls.
func (m *Member) step(now instant) {
	m.beat(now)
	if !m.synced {
		return
	}
	m.attend(now)
	m.watchOthers(now)
	if !m.mayAct(now) {
		return
	}
	m.claim(now)
	m.release()
	m.evenOut(now)
	m.drain()
	m.tellRates(now)
}

// mayAct tells whether this box has a session that is valid.
func (m *Member) mayAct(now instant) bool {
	m.right.Lock()
	defer m.right.Unlock()
	return m.self.open && m.self.tenure.valid(now)
}

// session is this box's, which may have no key yet.
func (m *Member) session() string {
	m.right.Lock()
	defer m.right.Unlock()
	return m.self.session
}

// do does f beside what else goes on, and then has it looked at what there is to do.
func (m *Member) do(f func(ctx context.Context)) {
	m.jobs.Go(func() {
		f(m.ctx)
		poke(m.kick)
	})
}

// told takes in what the watch tells.
func (m *Member) told(c change) {
	m.mu.Lock()
	m.seen = max(m.seen, c.revision)
	m.mu.Unlock()
	m.changed(c)
}

// changed takes in what a key of the bucket has become.
func (m *Member) changed(c change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learn(c, m.now())
	if m.synced {
		poke(m.kick)
	}
}

func (m *Member) learn(c change, now instant) {
	concerned := m.concerns(c.key)
	cameras, err := m.view.apply(c.key, c.value, c.revision, now)
	if err != nil {
		m.log.Warn("a record of the fleet is not read", "key", c.key, "error", err)
	}
	if concerned || m.concerns(c.key) {
		m.misfits = true
		poke(m.driving)
	}
	for _, camera := range cameras {
		m.reconsider(camera, now)
	}
}

// concerns tells whether a key is this box's, or of a camera that it has.
func (m *Member) concerns(key string) bool {
	if camera, ok := strings.CutPrefix(key, cameraKey); ok {
		return m.view.leases[camera].Box == m.cfg.Box
	}
	return key == boxKey+m.cfg.Box
}

// reconsider looks whether a camera may be taken by now.
func (m *Member) reconsider(camera string, now instant) {
	_, known := m.cameras[camera]
	l := m.view.leases[camera]
	m.setFree(camera, known && m.view.holder(l) == nil, now)
	if g, ok := m.moving[camera]; ok && (l.Box == g.to || l.Session == "") {
		delete(m.moving, camera)
	}
}

// sync notes that all there was is known.
func (m *Member) sync() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = true
	poke(m.kick)
}

// Cameras tells which cameras there are; before the first call none is run.
func (m *Member) Cameras(list []Camera) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.misfits = true, true
	now := m.now()
	old := m.cameras
	m.cameras = make(map[string]Camera, len(list))
	for _, c := range list {
		m.cameras[c.Name] = c
		if was, ok := old[c.Name]; !ok || !maps.Equal(was.Wants, c.Wants) {
			delete(m.refused, c.Name)
		}
	}
	for name := range old {
		m.reconsider(name, now)
	}
	for name := range m.cameras {
		m.reconsider(name, now)
	}
	poke(m.driving)
	poke(m.kick)
}

// mine are the cameras whose lease this session has.
func (m *Member) mine() map[string]bool {
	m.right.Lock()
	open, session := m.self.open, m.self.session
	m.right.Unlock()
	if b := m.view.alive(m.cfg.Box, session); b != nil && open {
		return b.cameras
	}
	return nil
}

// wanted are the leases of what this box is to run. It needs mu.
func (m *Member) wanted() map[string]*Lease {
	session, all := m.session(), map[string]*Lease{}
	if m.closing {
		return all
	}
	for camera := range m.mine() {
		if m.away(camera) {
			continue
		}
		if _, ok := m.cameras[camera]; !ok {
			continue
		}
		l := m.view.leases[camera]
		all[camera] = &Lease{
			Camera: camera, Token: l.token(), From: l.From, Why: l.Why,
			valid: func() bool { return m.validIn(session) },
		}
	}
	return all
}

// validIn tells whether what that session holds may be published.
func (m *Member) validIn(session string) bool {
	m.right.Lock()
	defer m.right.Unlock()
	return m.self.open && m.self.session == session && m.self.tenure.valid(m.now())
}

// drive has the Runner run what is wanted, until ctx ends.
func (m *Member) drive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.driving:
		}
		m.mu.Lock()
		want := m.wanted()
		tokens := make(map[string]uint64, len(want))
		for camera, l := range want {
			tokens[camera] = l.Token
		}
		same := maps.Equal(tokens, m.running)
		maps.Copy(m.running, tokens) // from now on: none is given up before the Runner has ended it
		m.mu.Unlock()
		if same {
			continue
		}
		leases := slices.Collect(maps.Values(want))
		slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.Camera, b.Camera) })
		faults := m.cfg.Runner.Run(ctx, leases)
		m.mu.Lock()
		m.running = tokens
		for camera, err := range faults {
			m.log.Error("a camera cannot be run by this box, others may", "camera", camera, "error", err)
			m.refused[camera] = m.now() + refusedTime
			m.leaving[camera] = leaving{why: WhyMisfit}
			delete(m.running, camera)
		}
		m.mu.Unlock()
		poke(m.kick)
		poke(m.driving) // it may have changed meanwhile
	}
}

// uncounted stands in for a Meter.
type uncounted struct{}

func (uncounted) Taken(Why, time.Duration) {}
func (uncounted) Given(Why)                {}
func (uncounted) Lapsed()                  {}
func (uncounted) Fenced()                  {}
