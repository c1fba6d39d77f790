package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// rankDelay is by how much later the next best box takes a camera that the best one leaves; meantDelay how long
// all others leave one to the box that it is meant for.
func (m *Member) rankDelay() time.Duration  { return m.cfg.Timing.TTL / 16 }
func (m *Member) meantDelay() time.Duration { return m.cfg.Timing.TTL / 2 }

// rateEvery is how often it is looked whether a lease tells its camera's rate.
func (m *Member) rateEvery() time.Duration { return 5 * m.cfg.Timing.TTL }

// mean is the share of all boxes' capacity that all cameras take.
func (m *Member) mean(boxes []candidate) float64 {
	load := m.freeLoad
	for _, b := range m.view.boxes {
		if !b.Over {
			load += b.load
		}
	}
	return meanUse(load, boxes)
}

// freed is a camera that may be taken.
type freed struct {
	since instant
	look  instant // this box need not look at it before
	rate  float64
}

// setFree notes whether a camera may be taken.
func (m *Member) setFree(camera string, is bool, now instant) {
	old, was := m.free[camera]
	switch {
	case is && !was:
		f := freed{since: now, rate: m.view.leases[camera].rate()}
		m.free[camera] = f
		m.freeLoad += f.rate
	case was && !is:
		delete(m.free, camera)
		if m.freeLoad -= old.rate; len(m.free) == 0 {
			m.freeLoad = 0 // without what adding up has rounded
		}
	}
}

// candidates are the boxes that may run a camera, this one's with what it is about to take.
func (m *Member) candidates(wants map[string]string, without string) []candidate {
	boxes := m.view.candidates(wants, without)
	for i := range boxes {
		if boxes[i].name == m.cfg.Box {
			for _, rate := range m.pending {
				boxes[i].load += rate
			}
			if b := m.view.boxes[m.cfg.Box]; b.Most > 0 && len(b.cameras)+len(m.pending) >= b.Most {
				boxes[i].full = true
			}
		}
	}
	return boxes
}

// claim takes the cameras that no box holds and that are this box's turn to take. Of very many it looks at some only,
// in no order, and then does other things for a while.
func (m *Member) claim(now instant) {
	m.claimPlan(now)
	if !m.known || now < m.claimAt || len(m.free) == 0 || m.ending {
		return
	}
	boxes := m.candidates(nil, "")
	self := slices.IndexFunc(boxes, func(c candidate) bool { return c.name == m.cfg.Box })
	mean, looked := m.mean(boxes), 0
	for camera, f := range m.free {
		if now < f.look {
			continue
		}
		if looked++; looked > looksAtOnce || len(m.pending)+m.unseen() >= claimsAtOnce {
			break
		}
		if _, ok := m.pending[camera]; ok || now < m.refused[camera] {
			continue
		}
		l, at := m.view.leases[camera], f.since
		if l.To != m.cfg.Box && m.view.runs(l.To) {
			at += m.meantDelay()
		}
		if l.To != m.cfg.Box {
			if now < m.settled {
				continue
			}
			wants := m.cameras[camera].Wants
			if self < 0 || boxes[self].full || !suits(boxes[self].labels, wants) {
				continue
			}
			if f.look = m.patience().turn(self, camera, f.rate, wants, mean, boxes, at, now); now < f.look {
				m.free[camera] = f
				continue
			}
		}
		m.take(camera, l, now-f.since)
		if self >= 0 {
			boxes[self].load += f.rate
			b := m.view.boxes[m.cfg.Box]
			boxes[self].full = b.Most > 0 && len(b.cameras)+len(m.pending) >= b.Most
		}
	}
	m.claimAt = now + claimPause*(m.now()-now)
}

const (
	// looksAtOnce is at how many cameras that may be taken a box looks before it does other things.
	looksAtOnce = 1000
	// claimPause is for how many times as long it does so.
	claimPause = 4
)

// unseen is how many of the leases that this box has taken it has not been told of yet. As long as many are on their
// way, to all boxes, it takes no more: heartbeats come after them.
func (m *Member) unseen() int {
	for len(m.taken) > 0 && m.taken[0] <= m.seen {
		m.taken = m.taken[1:]
	}
	return len(m.taken)
}

func (m *Member) patience() patience {
	return patience{settle: m.settleTime(), delay: m.rankDelay()}
}

// settleTime is for how long a box that has joined looks around before it takes anything: those that begin at the
// same time are known by then.
func (m *Member) settleTime() time.Duration { return m.cfg.Timing.TTL / 2 }

// take takes a camera's lease, of which l is known.
func (m *Member) take(camera string, l lease, free time.Duration) {
	r := record{Box: m.cfg.Box, Session: m.session(), From: l.From, Why: l.Why, Rate: l.Rate}
	switch b := m.view.boxes[l.Box]; {
	case l.Session != "" && b != nil && b.Session == l.Session && b.Over && b.By == "":
		r.From, r.Why = l.Box, WhyLeft
	case l.Session != "":
		r.From, r.Why = l.Box, WhyDied
	case l.From == "":
		r.Why = WhyNew
	}
	m.pending[camera] = l.rate()
	m.write(camera, r, l, func(token uint64) {
		m.taken = append(m.taken, token)
		m.cfg.Meter.Taken(r.Why, free)
		m.log.Info("this box runs a camera", "camera", camera, "token", token, "from", r.From, "why", string(r.Why))
	})
}

// write has r be a camera's record in place of l, and then calls done, with the revision that this makes. The camera is
// one of m.pending until then.
func (m *Member) write(camera string, r record, l lease, done func(revision uint64)) {
	m.do(func(ctx context.Context) {
		next, err := m.store.set(ctx, cameraKey+camera, encode(r), l.revision)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.pending, camera)
		if err != nil {
			m.refresh(cameraKey + camera) // another box was first, or it is done and was not confirmed
			return
		}
		done(next)
		m.learn(change{cameraKey + camera, encode(r), next}, m.now())
	})
}

// release gives up the cameras that are leaving and run here no more, and has those leave that this box should
// not run.
func (m *Member) release() {
	mine := m.mine()
	if m.misfits && m.known {
		m.misfits = false
		for camera := range mine {
			if _, ok := m.cameras[camera]; !ok {
				m.leaving[camera] = leaving{why: WhyMisfit}
			}
		}
	}
	for camera, to := range m.leaving {
		if !mine[camera] {
			delete(m.leaving, camera)
			continue
		}
		if _, ok := m.running[camera]; ok && !m.away(camera) && !to.asked {
			m.prepare(camera, to)
			continue
		}
		if _, ok := m.running[camera]; ok {
			poke(m.driving)
			continue
		}
		if _, ok := m.pending[camera]; ok {
			continue
		}
		l := m.view.leases[camera]
		r := record{To: to.to, From: m.cfg.Box, Why: to.why, Rate: l.Rate}
		m.pending[camera] = 0
		m.write(camera, r, l, func(uint64) {
			delete(m.leaving, camera)
			m.cfg.Meter.Given(to.why)
			m.log.Info("this box gives a camera up", "camera", camera, "to", to.to, "why", string(to.why))
		})
	}
}

// handOver has a camera leave this box for another.
func (m *Member) handOver(camera, to string, why Why) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.mine()[camera] {
		return fmt.Errorf("fleet: box %s does not run camera %q", m.cfg.Box, camera)
	}
	if err := m.fits(camera, to); err != nil {
		return err
	}
	if to == m.cfg.Box {
		return nil
	}
	m.leaving[camera] = leaving{to: to, why: why}
	poke(m.kick)
	return nil
}

// fits tells why a box cannot be given a camera.
func (m *Member) fits(camera, to string) error {
	b := m.view.boxes[to]
	wants := m.cameras[camera].Wants
	switch {
	case !m.view.runs(to):
		return unknownBox(to, m.view.running())
	case !suits(b.Labels, wants):
		return fmt.Errorf("fleet: camera %s requires a box with the labels %s; box %s has %s", camera, labelText(wants), to, labelText(b.Labels))
	case b.Leaving:
		return fmt.Errorf("fleet: box %s is about to end", to)
	case m.view.orders[to] != (order{}):
		return fmt.Errorf("fleet: box %s is cordoned or drained", to)
	case to != m.cfg.Box && b.Most > 0 && len(b.cameras) >= b.Most:
		return fmt.Errorf("fleet: box %s has %d cameras, and takes no more", to, len(b.cameras))
	}
	return nil
}

// moveRequest asks a box to give a camera to another.
type moveRequest struct {
	Camera string `json:"camera"`
	To     string `json:"to"`
	Why    Why    `json:"why"`
}

func (m *Member) requestSubject(box string) string {
	return Subject(m.cfg.Site, "move", box)
}

// serve answers requests to move cameras.
func (m *Member) serve() ([]*nats.Subscription, error) {
	sub, err := m.cfg.Conn.Subscribe(m.requestSubject(m.cfg.Box), func(msg *nats.Msg) {
		var r moveRequest
		err := json.Unmarshal(msg.Data, &r)
		if err == nil {
			err = m.handOver(r.Camera, r.To, r.Why)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if msg.Reply != "" {
			_ = msg.Respond([]byte(text)) // the box that asked asks again
		}
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	prepares, err := m.servePrepare()
	if err != nil {
		_ = sub.Unsubscribe()
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return []*nats.Subscription{sub, prepares}, nil
}

// ask asks a box to give a camera to another.
func (m *Member) ask(ctx context.Context, box string, r moveRequest) error {
	if box == m.cfg.Box {
		return m.handOver(r.Camera, r.To, r.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	reply, err := m.cfg.Conn.RequestWithContext(ctx, m.requestSubject(box), encode(r))
	if err != nil {
		return fmt.Errorf("fleet: box %s: %w", box, err)
	}
	if len(reply.Data) > 0 {
		return errors.New(short(string(reply.Data)))
	}
	return nil
}

// drain gives away what this box has while it is drained.
func (m *Member) drain() {
	if !(m.view.orders[m.cfg.Box].Drained || m.ending) || m.closing {
		return
	}
	why := WhyDrain
	if m.ending {
		why = WhyLeft
	}
	for _, camera := range slices.Sorted(maps.Keys(m.mine())) {
		if len(m.leaving) >= leavingAtOnce {
			return
		}
		if _, ok := m.leaving[camera]; ok {
			continue
		}
		boxes := m.candidates(m.cameras[camera].Wants, m.cfg.Box)
		if best := ranked(camera, m.view.leases[camera].rate(), m.mean(boxes), boxes); len(best) > 0 {
			m.leaving[camera] = leaving{to: best[0].name, why: why}
			poke(m.kick)
		}
	}
}

// claimPlan takes the lease of the plan if no box has it and this box is the first of those that may.
func (m *Member) claimPlan(now instant) {
	if m.planning || m.view.holder(m.view.plan) != nil || now < m.settled || m.ending {
		return
	}
	var boxes []candidate
	for _, name := range m.view.running() {
		boxes = append(boxes, candidate{name: name, capacity: 1})
	}
	best := ranked(planKey, 0, 1, boxes)
	if len(best) == 0 || best[0].name != m.cfg.Box {
		return
	}
	m.planning = true
	r, revision := record{Box: m.cfg.Box, Session: m.session()}, m.view.plan.revision
	m.do(func(ctx context.Context) {
		next, err := m.store.set(ctx, planKey, encode(r), revision)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.planning = false
		if err != nil {
			m.refresh(planKey)
			return
		}
		m.learn(change{planKey, encode(r), next}, m.now())
	})
}

// evenOut has some cameras moved, once a second, by the box that holds the plan, while no camera is without a box.
func (m *Member) evenOut(now instant) {
	if now < m.planAt || m.view.plan.Session != m.session() || m.ending {
		return
	}
	m.planAt = now + time.Second
	m.cleanUp(now)
	for camera, g := range m.moving {
		if now >= g.until {
			delete(m.moving, camera)
		}
	}
	if len(m.pending) > 0 {
		return
	}
	boxes := m.view.candidates(nil, "")
	at := map[string]*candidate{}
	for i := range boxes {
		at[boxes[i].name] = &boxes[i]
	}
	for camera, f := range m.free {
		switch to := at[m.view.leases[camera].To]; {
		case to != nil: // as if it had it already
			to.load += f.rate
		case now-f.since < 3*m.cfg.Timing.TTL: // later no box can take it
			return
		}
	}
	cameras := make([]placed, 0, len(m.view.leases))
	for camera, l := range m.view.leases {
		b := m.view.holder(l)
		if b == nil || m.view.orders[l.Box] != (order{}) || l.Why == WhyMove { // where an operator wants it
			continue
		}
		if g, ok := m.moving[camera]; ok { // as if it had been moved already
			if from := at[l.Box]; from != nil {
				from.load -= l.rate()
			}
			if to := at[g.to]; to != nil {
				to.load += l.rate()
			}
			continue
		}
		cameras = append(cameras, placed{camera, l.Box, l.rate(), m.cameras[camera].Wants})
	}
	slices.SortFunc(cameras, func(a, b placed) int { return cmp.Compare(a.camera, b.camera) })
	for _, g := range plan(boxes, cameras, movesASecond(boxes)) {
		m.moving[g.camera] = moving{g.to, now + moveTime}
		m.do(func(ctx context.Context) {
			if err := m.ask(ctx, g.from, moveRequest{g.camera, g.to, g.why}); err != nil {
				m.log.Debug("a camera is not moved", "camera", g.camera, "from", g.from, "to", g.to, "error", err)
			}
		})
	}
}

// cleanUp removes the keys of boxes that have been over for long. What they renewed stays: it is small, and a box that
// comes again goes on from its revision.
func (m *Member) cleanUp(now instant) {
	for name, b := range m.view.boxes {
		if b.Over && b.Session != "" && now-b.since >= forgetAfter {
			m.do(func(ctx context.Context) { _ = m.store.purge(ctx, boxKey+name, b.revision) }) // it is tried again
		}
	}
}

// tellRates notes the cameras' rates in their leases, for those who take them later.
func (m *Member) tellRates(now instant) {
	if now < m.rateAt || m.closing {
		return
	}
	m.rateAt = now + m.rateEvery()
	for camera := range m.mine() {
		l := m.view.leases[camera]
		rate := m.cfg.Rate(camera)
		if rate <= 0 || (l.Rate > 0 && rate < l.Rate*rateChange && l.Rate < rate*rateChange) {
			continue
		}
		if len(m.pending) >= claimsAtOnce {
			m.rateAt = now + m.cfg.Timing.Beat // the others
			return
		}
		if _, ok := m.pending[camera]; ok {
			continue
		}
		r := l.record
		r.Token, r.Rate = l.token(), rate
		m.pending[camera] = 0
		m.write(camera, r, l, func(uint64) {})
	}
}
