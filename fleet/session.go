package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// renewPause is between one try to renew and the next.
func (m *Member) renewPause() time.Duration { return m.cfg.Timing.Beat }

// Subject is where the boxes of a site tell one another what is of that kind, for or of one box. It is none of what
// segd publishes.
func Subject(site, kind, box string) string { return "segd.fleet.v1." + site + "." + kind + "." + box }

// beatSubject is where a box's heartbeats go.
func (m *Member) beatSubject(box string) string {
	return Subject(m.cfg.Site, "heartbeat", box)
}

// beat sends a heartbeat when one is due. That of a box which hears none of its own any more is for itself alone:
// nothing that others might do would reach it, and they are to take what it has, whether it reaches them or not.
func (m *Member) beat(now instant) {
	if now < m.beatAt {
		return
	}
	m.beatAt = now + m.cfg.Timing.Beat
	m.listen(m.cfg.Box)
	subject, deaf := m.beatSubject(m.cfg.Box), m.deaf(now)
	if deaf {
		subject = Subject(m.cfg.Site, "echo", m.cfg.Box)
	}
	connection, connected := m.cfg.Conn.Stats().Reconnects, m.cfg.Conn.IsConnected()
	m.right.Lock()
	n, session, revision := m.self.next, m.self.session, m.self.tenure.revision
	m.self.beats[n%uint64(len(m.self.beats))] = beat{now, connection, deaf}
	m.self.next++
	defer m.right.Unlock()
	if connected { // else it would wait, and be as old as that when it arrives
		_ = m.cfg.Conn.Publish(subject, heartbeat{session, n, revision}.text())
	}
	if m.cfg.Conn.Stats().Reconnects != connection { // it is not known by which it goes
		m.self.beats[n%uint64(len(m.self.beats))].connection = math.MaxUint64
	}
}

// heartbeat is what a box says several times a second.
type heartbeat struct {
	session  string
	number   uint64
	revision uint64 // of its life's key, as it was confirmed
}

func (h heartbeat) text() []byte {
	return fmt.Appendf(nil, "%s %d %d", h.session, h.number, h.revision)
}

func parseHeartbeat(text []byte) (h heartbeat, ok bool) {
	fields := strings.Fields(string(text))
	if len(fields) != 3 {
		return h, false
	}
	number, err1 := strconv.ParseUint(fields[1], 10, 64)
	revision, err2 := strconv.ParseUint(fields[2], 10, 64)
	return heartbeat{fields[0], number, revision}, err1 == nil && err2 == nil
}

// deaf tells whether no heartbeat of this box has come back for so long that there must be a reason.
func (m *Member) deaf(now instant) bool {
	m.right.Lock()
	defer m.right.Unlock()
	return now >= m.self.hearing.at+m.cfg.Timing.deaf()
}

// listen subscribes to a box's heartbeats, and to those of this one that are for itself.
func (m *Member) listen(box string) {
	if m.subs[box] != nil {
		return
	}
	if box == m.cfg.Box && m.echoes == nil {
		sub, err := m.cfg.Conn.Subscribe(Subject(m.cfg.Site, "echo", box), func(msg *nats.Msg) { m.hear(box, msg.Data) })
		if err != nil {
			m.log.Warn("heartbeats are not heard", "box", box, "error", err)
			return
		}
		m.echoes = sub
	}
	sub, err := m.cfg.Conn.Subscribe(m.beatSubject(box), func(msg *nats.Msg) { m.hear(box, msg.Data) })
	if err != nil {
		m.log.Warn("heartbeats are not heard", "box", box, "error", err)
		return
	}
	m.subs[box] = sub
}

func (m *Member) unsubscribe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for box, sub := range m.subs {
		_ = sub.Unsubscribe() // a connection that is lost has none
		delete(m.subs, box)
	}
	if m.echoes != nil {
		_ = m.echoes.Unsubscribe() // likewise
		m.echoes = nil
	}
}

// hear takes in a heartbeat.
func (m *Member) hear(box string, text []byte) {
	h, ok := parseHeartbeat(text)
	if !ok {
		return // of no box that is known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if box == m.cfg.Box && m.echo(h.session, h.number, now) {
		return
	}
	if s := m.signs[box]; s != nil && s.session == h.session {
		s.sign(now)
		s.revision = max(s.revision, h.revision)
		s.beats++
	}
}

// echo takes in a heartbeat of this box's name, and tells whether it is its own. It needs mu, since no one may look
// at what others were heard to say until it is known whether that was all.
func (m *Member) echo(session string, n uint64, now instant) bool {
	m.right.Lock()
	defer m.right.Unlock()
	if session != m.self.session {
		return false
	}
	if n >= m.self.next || m.self.next-n > uint64(len(m.self.beats)) {
		return true // as old as that says nothing
	}
	b := m.self.beats[n%uint64(len(m.self.beats))]
	if m.self.hearing.echoed(b.sent, b.connection, now) {
		for _, s := range m.signs {
			s.sign(b.sent)
		}
	}
	if m.self.open && !b.deaf {
		m.self.tenure.echoed(b.sent, now)
	}
	return true
}

// attend opens this box's session, renews it, and begins another when it was ended.
func (m *Member) attend(now instant) {
	m.right.Lock()
	ended := m.self.open && m.self.tenure.ended
	if ended {
		m.self.open, m.self.session = false, nuid.Next()
	}
	open, due, valid, revision := m.self.open, m.self.tenure.due(now), m.self.tenure.valid(now), m.self.tenure.revision
	m.right.Unlock()
	if ended {
		m.log.Warn("this box was silent for too long, and others take its cameras")
		m.lapse = false
		clear(m.leaving)
		poke(m.driving)
	}
	if !open {
		m.open(now)
		return
	}
	if due && !m.renewing && now >= m.renewAt && !m.deaf(now) { // else it would be a sign of life
		m.renew(now, revision)
	}
	if lapse := !valid; lapse != m.lapse {
		if m.lapse = lapse; lapse {
			m.cfg.Meter.Lapsed()
			m.log.Warn("nothing is published: this box does not hear itself by NATS, or cannot renew its key")
		} else {
			m.log.Info("masks are published again")
		}
	}
}

// open makes this box's key, after it has made sure that an earlier session of its name is over.
func (m *Member) open(now instant) {
	if m.opening || now < m.renewAt || m.deaf(now) {
		return
	}
	m.renewAt = now + m.renewPause()
	var revision uint64
	if b := m.view.boxes[m.cfg.Box]; b != nil {
		if !b.Over {
			m.watchBox(m.cfg.Box, now)
			if !m.duplicate && m.signs[m.cfg.Box].beats >= duplicateBeats {
				m.duplicate = true
				m.log.Error("there is another box of this name, which runs; want another fleet.box", "box", m.cfg.Box, "host", b.Host)
			}
			m.fence(m.cfg.Box)
			return
		}
		revision = b.revision
	}
	delete(m.signs, m.cfg.Box)
	m.opening = true
	box := m.describe()
	m.do(func(ctx context.Context) {
		sent := m.now()
		next, err := m.begin(ctx, &box, revision)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.opening = false
		if err != nil {
			m.refresh(boxKey + m.cfg.Box)
			return
		}
		m.right.Lock()
		m.self.tenure, m.self.open = begin(m.cfg.Timing, box.Life, sent), true
		m.right.Unlock()
		m.duplicate = false
		m.settled = m.now() + m.settleTime()
		m.learn(change{boxKey + m.cfg.Box, encode(box), next}, m.now())
		m.log.Info("this box has joined the fleet", "box", m.cfg.Box, "boxes", len(m.view.running()))
	})
}

// begin writes a session's keys and returns the revision of the box's. Another box of the same name that begins at the
// same time has one of the two fail, and begins anew.
func (m *Member) begin(ctx context.Context, box *Box, revision uint64) (next uint64, err error) {
	_, old, err := m.store.life(ctx, m.cfg.Box)
	if err != nil {
		return 0, err
	}
	if box.Life, err = m.store.set(ctx, lifeKey+m.cfg.Box, encode(life{Session: box.Session}), old); err != nil {
		return 0, err
	}
	return m.store.set(ctx, boxKey+m.cfg.Box, encode(box), revision)
}

// describe is what this box says of itself.
func (m *Member) describe() Box {
	b := Box{
		Session: m.session(), Page: m.cfg.Page, Address: m.cfg.Address(), Host: m.cfg.Host, Version: m.cfg.Version, Labels: m.cfg.Labels,
		Leaving: m.ending, Most: m.cfg.Most, Capacity: finite(m.cfg.Capacity(), noCapacity),
	}
	old := m.view.boxes[m.cfg.Box]
	if old != nil && !old.Over && b.Capacity < old.Capacity*capacityChange && old.Capacity < b.Capacity*capacityChange {
		b.Capacity = old.Capacity // it is measured, and never twice the same
	}
	if old != nil && old.Session == b.Session {
		b.Life = old.Life
	}
	return b.tidy()
}

// duplicateBeats are so many that they were not all on their way when the box ended that sent them.
const duplicateBeats = 4

// capacityChange is what counts as another capacity.
const capacityChange = 1.15

func (m *Member) renew(now instant, revision uint64) {
	m.renewing, m.renewAt = true, now+m.renewPause()
	session := m.session()
	m.do(func(ctx context.Context) {
		sent := m.now()
		next, err := m.store.set(ctx, lifeKey+m.cfg.Box, encode(life{Session: session}), revision)
		if errors.Is(err, errConflict) {
			m.disputed(ctx, session)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.renewing = false
		if err != nil {
			return
		}
		m.right.Lock()
		if m.self.session == session {
			m.self.tenure.confirmed(sent, next, m.now())
		}
		m.right.Unlock()
		m.beatAt = 0 // those who watch need the new revision to end the session
		m.tell()
	})
}

// tell says what this box says of itself if that has changed. It needs mu.
func (m *Member) tell() {
	old, box := m.view.boxes[m.cfg.Box], m.describe()
	if old == nil || old.Session != box.Session || old.Over || bytes.Equal(encode(old.Box), encode(box)) {
		return
	}
	m.do(func(ctx context.Context) {
		next, err := m.store.set(ctx, boxKey+m.cfg.Box, encode(box), old.revision)
		if err != nil {
			m.refresh(boxKey + m.cfg.Box)
			return
		}
		m.changed(change{boxKey + m.cfg.Box, encode(box), next})
	})
}

// disputed finds out why the key that this box renews is another than was thought: a renewal that was not confirmed
// has come through after all, or another box has ended the session.
func (m *Member) disputed(ctx context.Context, session string) {
	l, revision, err := m.store.life(ctx, m.cfg.Box)
	if err != nil {
		return // it is tried again
	}
	m.right.Lock()
	defer m.right.Unlock()
	switch {
	case m.self.session != session, revision < m.self.tenure.revision: // what a server says that lags behind
	case l.Session == session && !l.Over:
		m.self.tenure.revision = revision
	default:
		m.self.tenure.ended = true
	}
}

// refresh looks at a key again.
func (m *Member) refresh(key string) {
	m.do(func(ctx context.Context) {
		if c, err := m.store.get(ctx, key); err == nil {
			m.changed(c)
		}
	})
}

// watchBox notes the signs of a box's life from now on.
func (m *Member) watchBox(box string, now instant) {
	m.listen(box)
	b := m.view.boxes[box]
	if s := m.signs[box]; s == nil || s.session != b.Session {
		s := &silence{session: b.Session, revision: b.Life, since: now}
		m.signs[box] = s
		m.askLife(box, s, now) // it may be silent already
	}
}

// askLife finds out whether a session has been renewed of late.
func (m *Member) askLife(box string, s *silence, now instant) {
	s.asked = now
	m.do(func(ctx context.Context) {
		if l, revision, err := m.store.life(ctx, box); err == nil && l.Session == s.session {
			m.newRevision(s, revision)
		}
	})
}

// newRevision takes in the revision of the key that a session renews, which is a sign of life by then.
func (m *Member) newRevision(s *silence, revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision > s.revision {
		s.revision = revision
		s.sign(m.now())
	}
}

// watchOthers watches the boxes that are this one's to watch, and ends the sessions of those that are silent.
func (m *Member) watchOthers(now instant) {
	if b := m.view.boxes[m.cfg.Box]; b == nil || b.Over {
		return // it has not joined yet
	}
	if m.ringOf != m.view.joins {
		m.ring, m.ringOf = ring(m.cfg.Box, m.view.running(), watchers), m.view.joins
	}
	for _, box := range m.ring {
		m.watchBox(box, now)
		m.fence(box)
	}
	for box, sub := range m.subs {
		if box != m.cfg.Box && !slices.Contains(m.ring, box) {
			_ = sub.Unsubscribe() // a connection that is lost has none
			delete(m.subs, box)
			delete(m.signs, box)
		}
	}
}

// fence ends a box's session if that has been silent for long enough.
func (m *Member) fence(box string) {
	s, now := m.signs[box], m.now()
	// A renewal of which no heartbeat has told would only be found when the session cannot be ended, and be a sign of
	// life then.
	if beat := m.cfg.Timing.Beat; now-s.since >= 2*beat && now-s.asked >= beat {
		m.askLife(box, s, now)
	}
	m.right.Lock()
	over := s.over(m.self.hearing.echo, m.cfg.Timing.TTL)
	m.right.Unlock()
	if !over || m.fencing[box] {
		return
	}
	m.fencing[box] = true
	b := m.view.boxes[box]
	last, cameras, revision, told := b.Box, len(b.cameras), s.revision, b.revision
	last.Over, last.By = true, m.cfg.Box
	m.do(func(ctx context.Context) {
		next, err := uint64(0), m.end(ctx, box, s, revision)
		if err == nil {
			next, err = m.store.set(ctx, boxKey+box, encode(last), told)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.fencing, box)
		if err != nil {
			m.refresh(boxKey + box)
			return
		}
		if box != m.cfg.Box {
			m.cfg.Meter.Fenced()
			m.log.Warn("a box is silent, and what it ran is taken over", "box", box, "cameras", cameras)
		}
		m.learn(change{boxKey + box, encode(last), next}, m.now())
	})
}

// end ends the session that s is of, if the key that it renews has that revision. There is no error either if it has
// ended already: who ended it may have died before all were told.
func (m *Member) end(ctx context.Context, box string, s *silence, revision uint64) error {
	_, err := m.store.set(ctx, lifeKey+box, encode(life{Session: s.session, Over: true}), revision)
	if !errors.Is(err, errConflict) {
		return err
	}
	l, newer, err := m.store.life(ctx, box)
	switch {
	case err != nil:
		return err
	case newer <= revision:
		return errConflict // what a server says that lags behind
	case l.Session == s.session && !l.Over:
		m.newRevision(s, newer)
		return errConflict
	}
	return nil
}

// leave has all cameras end, gives them to others, and ends the session.
func (m *Member) leave() {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	poke(m.driving)
	ctx, cancel := context.WithTimeout(m.ctx, leaveTimeout)
	defer cancel()
	tick := time.NewTicker(m.cfg.Timing.Beat / 4)
	defer tick.Stop()
	for {
		m.mu.Lock()
		now := m.now()
		m.beat(now) // so that no box takes what still runs
		left := len(m.running) + len(m.pending)
		if left == 0 {
			for camera := range m.mine() {
				if _, ok := m.leaving[camera]; !ok {
					m.leaving[camera] = leaving{why: WhyLeft}
				}
			}
			if m.mayAct(now) {
				m.attend(now)
				m.release()
				left = len(m.mine())
			}
		}
		m.mu.Unlock()
		if left == 0 {
			break
		}
		select {
		case <-ctx.Done():
			m.log.Warn("some cameras are not given up in time; others take them when this box is silent", "cameras", left)
			return
		case <-tick.C:
		case <-m.kick:
		}
	}
	m.right.Lock()
	open := m.self.open && !m.self.tenure.ended
	m.self.open = false
	m.right.Unlock()
	err := errConflict
	for tries := 0; open && tries < 3 && errors.Is(err, errConflict); tries++ { // something else may be being told
		m.mu.Lock()
		last, revision := m.describe(), m.view.boxes[m.cfg.Box].revision
		m.mu.Unlock()
		last.Over = true
		if _, err = m.store.set(ctx, boxKey+m.cfg.Box, encode(last), revision); errors.Is(err, errConflict) {
			if c, err := m.store.get(ctx, boxKey+m.cfg.Box); err == nil {
				m.changed(c)
			}
		}
	}
	if open && err != nil {
		m.log.Debug("the end of this box's session is not told", "error", err)
	}
}

// leaveTimeout bounds how long it takes to leave.
const leaveTimeout = 10 * time.Second

// ErrUnknown is wrapped when a box or camera is named that is not there.
var ErrUnknown = errors.New("fleet: unknown")

func unknownBox(box string, names []string) error {
	return fmt.Errorf("%w box %q; there is %q", ErrUnknown, box, names)
}
