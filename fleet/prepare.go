package fleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// prepareTime bounds how long a box waits until another one is ready for a camera.
	prepareTime = 6 * time.Second
	// leavingTime bounds how long a box that ends waits for the others to be.
	leavingTime = 8 * time.Second
)

// servePrepare answers boxes that ask whether this one is ready for a camera.
func (m *Member) servePrepare() (*nats.Subscription, error) {
	return m.cfg.Conn.Subscribe(Subject(m.cfg.Site, "prepare", m.cfg.Box), func(msg *nats.Msg) {
		camera := string(msg.Data)
		m.do(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, prepareTime)
			defer cancel()
			text := ""
			if err := m.cfg.Runner.Prepare(ctx, camera); err != nil {
				text = short(err.Error())
			}
			if msg.Reply != "" {
				_ = msg.Respond([]byte(text)) // the box that asked goes on without it
			}
		})
	})
}

// prepare has the box that a camera is to leave for make ready; the camera goes on here meanwhile, and leaves whatever
// becomes of that. It needs mu.
func (m *Member) prepare(camera string, l leaving) {
	l.asked = true
	m.leaving[camera] = l
	m.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, prepareTime)
		defer cancel()
		reply, err := m.cfg.Conn.RequestWithContext(ctx, Subject(m.cfg.Site, "prepare", l.to), []byte(camera))
		switch {
		case err != nil:
			m.log.Debug("a box does not make ready for a camera", "camera", camera, "box", l.to, "error", err)
		case len(reply.Data) > 0:
			m.log.Warn("a box is not ready for a camera that it is given", "camera", camera, "box", l.to, "error", short(string(reply.Data)))
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if now, ok := m.leaving[camera]; ok && now.to == l.to {
			now.ready = true
			m.leaving[camera] = now
			poke(m.driving)
		}
	})
}

// away tells whether a camera is to run here no more.
func (m *Member) away(camera string) bool {
	l, ok := m.leaving[camera]
	return ok && (l.to == "" || l.ready)
}

// giveAway gives the cameras to others before this box ends, as far as others may run them.
func (m *Member) giveAway() {
	m.mu.Lock()
	m.ending = true
	if m.mayAct(m.now()) {
		m.tell() // so that this box is given none
	}
	m.mu.Unlock()
	end := time.After(leavingTime)
	tick := time.NewTicker(m.cfg.Timing.Beat / 4)
	defer tick.Stop()
	for {
		m.mu.Lock()
		now := m.now()
		m.step(now)
		left := len(m.leaving)
		for camera := range m.mine() {
			if len(m.candidates(m.cameras[camera].Wants, m.cfg.Box)) > 0 {
				left++
			}
		}
		if !m.mayAct(now) {
			left = 0
		}
		m.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-end:
			return
		case <-tick.C:
		case <-m.kick:
		}
	}
}
