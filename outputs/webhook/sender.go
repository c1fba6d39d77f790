package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/outbox"
	"github.com/segd/segd/internal/pause"
)

const (
	// maxEvents and maxBytes bound what waits for one server.
	maxEvents = 1000
	maxBytes  = 4 << 20
)

// times are those that tests shorten.
type times struct {
	answer             time.Duration // for how long a server may not answer
	minRetry, maxRetry time.Duration // bound the pause before an event is posted again; it doubles from the one to the other
	old                time.Duration // from when on an event is not posted again
	last               time.Duration // for what waits at the end
}

var defaults = times{answer: 10 * time.Second, minRetry: time.Second, maxRetry: 5 * time.Minute, old: time.Hour, last: 3 * time.Second}

// Stats is how a hook does. The counts are since it was set.
type Stats struct {
	Name      string
	Waiting   int
	Delivered uint64
	Failed    uint64 // posts that were not taken, of which most are made again
	// Events that were given up: the oldest, beyond the bound; older than an hour; refused by the server.
	Overflowed, Expired, Refused uint64
}

// message is an event to be posted.
type message struct {
	id    string
	body  []byte
	since time.Time
}

// Sender posts to hooks. Make it with New.
type Sender struct {
	log   *slog.Logger
	agent string
	run   string // in the ids of this Sender's events, and of no other's
	times times

	mu      sync.Mutex // guards what follows
	hooks   []*hook
	count   uint64
	running context.Context // nil: before Run, and after its end
	joined  sync.WaitGroup
}

// hook is one that is set. Sender.mu guards its fields but for those of its goroutine.
type hook struct {
	s       *Sender
	target  *target
	log     *slog.Logger
	wake    chan struct{} // holds one: look again
	changed chan struct{} // closed to end a pause, and replaced
	end     context.CancelFunc
	ended   bool

	queue outbox.Queue[*message]
	stats Stats
}

// New returns a Sender for Run, without hooks. version is segd's.
func New(version string, log *slog.Logger) *Sender {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Sender{log: log, agent: "segd/" + version, run: rand.Text()[:12], times: defaults}
}

// Set puts hooks in place of those there are, or changes nothing if any is at fault. What waits for one that has the same name waits
// for the new one.
func (s *Sender) Set(hooks []Hook) error {
	var faults []error
	targets := make([]*target, len(hooks))
	for i, h := range hooks {
		var err error
		targets[i], err = h.ready()
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.hooks
	s.hooks = nil
	for _, t := range targets {
		i := slices.IndexFunc(before, func(h *hook) bool { return h.target.Name == t.Name })
		if i < 0 {
			h := &hook{
				s: s, target: t, log: s.log.With("webhook", t.Name), wake: make(chan struct{}, 1), changed: make(chan struct{}),
				queue: outbox.New(maxEvents, maxBytes, func(m *message) int { return len(m.body) }), stats: Stats{Name: t.Name},
			}
			s.hooks = append(s.hooks, h)
			s.start(h)
			continue
		}
		h := before[i]
		before = slices.Delete(slices.Clone(before), i, i+1)
		s.hooks = append(s.hooks, h)
		if !h.target.same(t) {
			h.target = t
			h.again()
		}
	}
	for _, h := range before {
		h.ended = true
		if h.end != nil {
			h.end()
		}
		if n := h.queue.Len(); n > 0 {
			h.log.Warn("a webhook is removed before its server has taken all events", "events", n)
		}
	}
	return nil
}

// start begins h's goroutine, if s runs. It needs mu.
func (s *Sender) start(h *hook) {
	if s.running == nil {
		return
	}
	ctx, end := context.WithCancel(s.running)
	h.end = end
	s.joined.Go(func() { h.work(ctx) })
}

// Run posts until ctx ends, and then what waits, as far as that is quick. It may be called once.
func (s *Sender) Run(ctx context.Context) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.mu.Lock()
	s.running = running
	for _, h := range s.hooks {
		s.start(h)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.running = nil
	for _, h := range s.hooks {
		h.ended = true
		h.again() // who waits to post again tries once more
		h.look()
	}
	s.mu.Unlock()
	late := time.AfterFunc(s.times.last, stop)
	defer late.Stop()
	s.joined.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hooks {
		if n := h.queue.Len(); n > 0 {
			h.log.Warn("segd ends before a webhook's server has taken all events", "events", n)
		}
	}
	return nil
}

// Event has ev posted to those who ask for it. It keeps nothing of ev.
func (s *Sender) Event(ev *segdv1.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m *message
	for _, h := range s.hooks {
		if h.ended || !h.target.wants(ev) {
			continue
		}
		if m == nil {
			s.count++
			m = &message{id: "evt_" + s.run + strconv.FormatUint(s.count, 10), since: time.Now()}
			var err error
			if m.body, err = encode(m.id, ev); err != nil {
				s.log.Warn("an event is not posted", "error", err)
				return
			}
		}
		h.stats.Overflowed += uint64(h.queue.Put(m))
		h.look()
	}
}

// Stats are those of all hooks.
func (s *Sender) Stats() (all []Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hooks {
		st := h.stats
		st.Waiting = h.queue.Len()
		all = append(all, st)
	}
	return all
}

// again ends the pause before something is posted again. It needs mu.
func (h *hook) again() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// look has h's goroutine look at the queue.
func (h *hook) look() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next is the oldest message, nil if there is none, and whom it is for; over says that none will come.
func (h *hook) next() (m *message, at uint64, t *target, changed <-chan struct{}, over bool) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	m, at, _ = h.queue.Oldest()
	return m, at, h.target, h.changed, h.ended
}

// done takes the message at that place off the queue, unless it has left that, and counts what became of it.
func (h *hook) done(at uint64, count func(*Stats)) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.queue.Done(at) {
		count(&h.stats)
	}
}

// work posts one event after the other until ctx ends, or h has ended and nothing waits.
func (h *hook) work(ctx context.Context) {
	var client *http.Client
	var of *target
	drop := func() {
		if client != nil {
			client.CloseIdleConnections()
		}
	}
	defer drop()
	retry := pause.Growing(h.s.times.minRetry, h.s.times.maxRetry)
	var failing *target // to say it once of each
	for {
		m, at, t, changed, over := h.next()
		if m == nil {
			if over {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-h.wake:
			}
			continue
		}
		if t != of {
			drop()
			client, of = t.client(h.s.times.answer), t
			retry.Reset()
		}
		if time.Since(m.since) >= h.s.times.old {
			h.done(at, func(st *Stats) { st.Expired++ })
			continue
		}
		a := t.post(ctx, client, h.s.agent, m)
		if ctx.Err() != nil && a.err != nil {
			return
		}
		if a.err == nil {
			h.done(at, func(st *Stats) { st.Delivered++ })
			retry.Reset()
			if failing != nil {
				h.log.Info("the webhook's server takes events again")
				failing = nil
			}
			continue
		}
		h.s.mu.Lock()
		h.stats.Failed++
		h.s.mu.Unlock()
		if failing != t {
			failing = t
			h.log.Warn("an event is not taken by the webhook's server", "error", fmt.Errorf("webhook: %w", a.err), "again", !a.forGood)
		}
		if a.forGood {
			h.done(at, func(st *Stats) { st.Refused++ })
			continue
		}
		if over {
			return
		}
		wait := time.NewTimer(max(retry.NextBackOff(), a.after))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
