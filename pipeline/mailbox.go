package pipeline

import (
	"sync"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
)

// item is a frame on its way through the stages. Whoever holds it owns one
// reference to the frame, and the scene.
type item struct {
	frame *ingest.Frame
	seq   uint64        // frame.Seq, going on where the stages before a restart ended
	pts   time.Duration // likewise
	note  *request      // annotation of exactly this frame, or nil
	scene *features.Scene
	masks *segdv1.MaskFrame
	core  bool // whether it has one, which goes on with it

	began, ended [Stages]time.Time // its time in each stage
}

// mailbox stands in front of a stage. It holds one unread item, and more only
// when they are pinned; those are bounded by the annotations that may be pending.
type mailbox struct {
	// drop is called, outside the lock, with each item that nobody will read.
	drop func(*item)

	mu      sync.Mutex
	changed sync.Cond
	items   []*item   // oldest first; all but the last are pinned
	filled  time.Time // since when there are any
	idle    bool      // whether somebody waits for one
	closed  bool
}

func newMailbox(drop func(*item)) *mailbox {
	m := &mailbox{drop: drop}
	m.changed.L = &m.mu
	return m
}

// put hands over it, and drops what it replaces: an unread item that is not
// pinned, or it itself when all that is unread is pinned or the box is closed.
func (m *mailbox) put(it *item) {
	if dropped := m.swap(it); dropped != nil {
		m.drop(dropped)
	}
}

func (m *mailbox) swap(it *item) (dropped *item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return it
	}
	if last := len(m.items) - 1; last >= 0 {
		switch {
		case m.items[last].note == nil:
			dropped = m.items[last]
			m.items[last] = it
			return dropped
		case it.note == nil:
			return it
		}
	}
	if len(m.items) == 0 {
		m.filled = time.Now()
	}
	m.items = append(m.items, it)
	m.changed.Broadcast()
	return nil
}

// wait waits for an item, and tells since when there are any and whether the first has a core; ok
// is false once the box is closed and empty.
func (m *mailbox) wait() (since time.Time, core, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = true
	for len(m.items) == 0 && !m.closed {
		m.changed.Wait()
	}
	m.idle = false
	ok = len(m.items) > 0
	return m.filled, ok && m.items[0].core, ok
}

// awaited tells whether an item that is put would be taken at once.
func (m *mailbox) awaited() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.idle && len(m.items) == 0
}

// drain waits until the box is empty or closed.
func (m *mailbox) drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.items) > 0 && !m.closed {
		m.changed.Wait()
	}
}

// take returns the oldest item; ok is false if there is none.
func (m *mailbox) take() (it *item, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.items) == 0 {
		return nil, false
	}
	it = m.items[0]
	m.items[0] = nil
	m.items = m.items[1:]
	m.filled = time.Now() // as far as anybody was kept waiting
	m.changed.Broadcast()
	return it, true
}

// waiting tells whether there is an unread item.
func (m *mailbox) waiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items) > 0
}

// close says that nothing more comes; what is unread may still be taken.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.changed.Broadcast()
}

// abort closes and drops what is unread.
func (m *mailbox) abort() {
	m.mu.Lock()
	unread := m.items
	m.items, m.closed = nil, true
	m.changed.Broadcast()
	m.mu.Unlock()
	for _, it := range unread {
		m.drop(it)
	}
}
