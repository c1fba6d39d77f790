package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// claimTime is how long a segd waits for another's objection before it publishes a
	// camera. It asks twice meanwhile, since a cluster takes a moment to know of a
	// subscription.
	claimTime = 300 * time.Millisecond
	// claimEvery is how often it says what it publishes, for those that it could not
	// hear when it started; one that is silent for silence is gone.
	claimEvery    = 5 * time.Second
	silence       = 3 * claimEvery
	maxDuplicates = 16
)

// ErrTaken is in the chain of Serve's error about a camera that another segd publishes.
var ErrTaken = errors.New("bus: camera taken")

// claim is what a segd says of its cameras to those of its site, as JSON on
// segd.v1.<site>.claim. A segd that has one of them too answers with its own.
type claim struct {
	Instance string   `json:"instance"` // of one run of a segd
	Host     string   `json:"host"`
	Process  int      `json:"process"`
	Holds    []string `json:"holds,omitempty"` // what it publishes
	Wants    []string `json:"wants,omitempty"` // what it is about to
	Meant    bool     `json:"meant,omitempty"` // that others publish them too
}

// claims keep two segd from publishing one camera unnoticed. Who wants a camera says so
// and waits for objections: those that publish it object, and of those that want it at
// the same moment the one with the least name. Each subscribes before it asks, so of two
// at least the later hears the other, and both then judge alike. A claim has to be
// spoken for: that of a dead segd, or of one's own earlier connection, keeps no segd out.
type claims struct {
	conn    *nats.Conn
	log     *slog.Logger
	site    string
	subject string
	wake    chan struct{} // holds one: say what is published
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex
	subs       []*nats.Subscription // none until the first claim
	inbox      string
	own        claim
	lost       map[string]claim     // wanted cameras, to whom
	refused    chan struct{}        // closed at the first loss
	duplicates map[string]duplicate // by instance
}

// duplicate is another segd with a camera of ours.
type duplicate struct {
	heard   time.Time
	cameras string
}

func newClaims(cfg Config, instance string) *claims {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &claims{
		log: cfg.Logger, site: cfg.Site, subject: claimSubject(cfg.Site), wake: make(chan struct{}, 1),
		own:        claim{Instance: instance, Host: host, Process: os.Getpid(), Meant: cfg.Duplicates},
		duplicates: map[string]duplicate{},
	}
}

// start runs what repeats our claim until end.
func (c *claims) start(ctx context.Context, conn *nats.Conn) {
	c.conn = conn
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.running.Go(func() { c.run(ctx) })
}

func (c *claims) run(ctx context.Context) {
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.wake:
		}
		c.forget(time.Now())
		if len(c.now().Holds) > 0 && c.conn.IsConnected() {
			c.say()
		}
	}
}

// take claims cameras instead of those it has, or returns an ErrTaken that names whose
// they are. Without a connection there is no segd to ask; those that have them too are
// noticed once there is one.
func (c *claims) take(cameras []string) error {
	if err := c.subscribe(); err != nil {
		return fmt.Errorf("bus: claim the cameras: %w", err)
	}
	c.mu.Lock()
	var wants []string
	for _, camera := range cameras {
		if !c.own.Meant && !slices.Contains(c.own.Holds, camera) {
			wants = append(wants, camera)
		}
	}
	c.own.Wants, c.lost, c.refused = wants, map[string]claim{}, make(chan struct{})
	c.mu.Unlock()

	if len(wants) > 0 && c.conn.IsConnected() {
		c.ask()
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.own.Wants = nil
	var faults []error
	for _, camera := range cameras {
		if by, ok := c.lost[camera]; ok {
			faults = append(faults, fmt.Errorf("%w: camera %s of site %s is published by another segd: host %q, process %d, instance %q; "+
				"want another site or other names, or nats.duplicates: allow for both if it is meant", ErrTaken, camera, c.site, by.Host, by.Process, by.Instance))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	c.own.Holds = slices.Clone(cameras)
	c.look()
	return nil
}

// ask says what we want until claimTime is over or another segd objects.
func (c *claims) ask() {
	for range 2 {
		c.say()
		select {
		case <-c.refused:
			return
		case <-time.After(claimTime / 2):
		}
	}
}

func (c *claims) subscribe() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subs) > 0 {
		return nil
	}
	c.inbox = c.conn.NewInbox()
	for _, subject := range []string{c.subject, c.inbox} {
		sub, err := c.conn.Subscribe(subject, c.hear)
		if err != nil {
			return err
		}
		c.subs = append(c.subs, sub)
	}
	return nil
}

// say publishes our claim, for those to answer who have a camera of it too.
func (c *claims) say() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(&nats.Msg{Subject: c.subject, Reply: c.inbox})
}

// send sends our claim. It needs mu, so that no claim of a camera leaves after the camera was given up.
func (c *claims) send(msg *nats.Msg) {
	var err error
	if msg.Data, err = json.Marshal(c.own); err == nil {
		msg.Header = nats.Header{headerContentType: {TypeJSON}}
		err = c.conn.PublishMsg(msg)
	}
	if err != nil { // it is said again
		c.log.Debug("claim not sent", "err", err)
	}
}

// hear judges another's claim and answers one that asks.
func (c *claims) hear(msg *nats.Msg) {
	var theirs claim
	if json.Unmarshal(msg.Data, &theirs) != nil || theirs.Instance == "" {
		return // of no segd that is known
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.judge(theirs, time.Now()) && msg.Reply != "" && isRequest(msg.Reply, msg.Header) {
		c.send(&nats.Msg{Subject: msg.Reply})
	}
}

// judge notes what theirs means for our cameras, and tells whether we have one in common. It needs mu.
func (c *claims) judge(theirs claim, now time.Time) (common bool) {
	if theirs.Instance == c.own.Instance {
		return false
	}
	for _, camera := range c.own.Wants {
		if slices.Contains(theirs.Holds, camera) || (slices.Contains(theirs.Wants, camera) && theirs.Instance < c.own.Instance) {
			if len(c.lost) == 0 {
				close(c.refused)
			}
			c.lost[camera] = theirs
		}
	}
	if !c.own.Meant && !theirs.Meant {
		c.compare(theirs, now)
	}
	any := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	return any(theirs.Holds, c.own.Holds) || any(theirs.Holds, c.own.Wants) || any(theirs.Wants, c.own.Holds) || any(theirs.Wants, c.own.Wants)
}

// compare notes a duplicate that has come, has gone or is still there. It needs mu.
func (c *claims) compare(theirs claim, now time.Time) {
	var both []string
	for _, camera := range theirs.Holds {
		if slices.Contains(c.own.Holds, camera) {
			both = append(both, camera)
		}
	}
	known, is := c.duplicates[theirs.Instance]
	cameras := strings.Join(both, " ")
	switch {
	case len(both) == 0 && is:
		delete(c.duplicates, theirs.Instance)
		c.log.Info("the other segd has gone", "instance", theirs.Instance, "cameras", known.cameras)
		return
	case len(both) == 0, !is && len(c.duplicates) >= maxDuplicates:
		return
	case known.cameras != cameras:
		c.log.Error("another segd publishes the same cameras, their masks are mixed; want another site or other names, "+
			"or nats.duplicates: allow if it is meant",
			"cameras", cameras, "host", theirs.Host, "process", theirs.Process, "instance", theirs.Instance)
	}
	c.duplicates[theirs.Instance] = duplicate{now, cameras}
}

// forget drops the duplicates that are silent.
func (c *claims) forget(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for instance, r := range c.duplicates {
		if now.Sub(r.heard) > silence {
			delete(c.duplicates, instance)
			c.log.Info("the other segd has gone", "instance", instance, "cameras", r.cameras)
		}
	}
}

// look has our claim said soon.
func (c *claims) look() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *claims) now() claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

// others is how many other segd publish a camera of ours.
func (c *claims) others() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.duplicates)
}

// end gives up all cameras and says so.
func (c *claims) end() {
	if c.cancel == nil { // never started
		return
	}
	c.cancel()
	c.running.Wait()
	c.mu.Lock()
	subs, held := c.subs, len(c.own.Holds) > 0
	c.own.Holds, c.subs = nil, nil
	if held && c.conn.IsConnected() {
		c.send(&nats.Msg{Subject: c.subject})
	}
	c.mu.Unlock()
	for _, sub := range subs {
		_ = sub.Unsubscribe() // a connection that is lost has none
	}
}
