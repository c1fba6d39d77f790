package natsconn

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// link is how a connection's messages go out. Only the connection's goroutine calls it, as
// it may block while the network hangs.
type link interface {
	publish(message []byte) error
	leave() // no more messages are wanted
}

// conn is one end of a connection.
type conn struct {
	local, remote Addr
	cfg           Config
	link          link
	lost          <-chan nats.Status // says that the NATS connection is broken
	maxData       int                // bytes of data in a message
	released      func()             // called at the end, if not nil

	wake    chan struct{} // capacity 1: there may be something to send
	closing chan struct{} // closed by the first Close
	done    chan struct{} // closed when run has ended
	writing sync.Mutex    // held during a Write, which is one piece

	mu                 sync.Mutex
	readable, writable sync.Cond // somebody in Read, in Write, should look again
	reading, sending   deadline

	in       buffer    // what has come and was not read
	room     int       // what the peer may still send
	owed     int       // what was read and has not been granted again
	received uint64    // messages
	heard    time.Time // when the last came
	silence  *time.Timer

	out    []byte // of the Write there is, what was not taken yet
	credit int    // what we may send
	window int    // the peer's, the most that credit can be
	sent   uint64 // messages

	fault      error  // why the connection is reset
	tell       string // what the peer is to be told of it, if anything
	peerClosed bool   // and all it sent has come
	closed     bool
}

// newConn returns a connection that takes messages by receive and sends none before start.
func newConn(local, remote Addr, cfg Config) *conn {
	c := &conn{
		local: local, remote: remote, cfg: cfg,
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
		in: buffer{limit: cfg.Window}, room: cfg.Window,
	}
	c.readable.L, c.writable.L = &c.mu, &c.mu
	return c
}

// start begins to send, over link; window is the peer's.
func (c *conn) start(l link, lost <-chan nats.Status, maxData, window int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link, c.lost, c.maxData = l, lost, min(maxData, MaxData)
	c.window, c.credit = window, window
	c.heard = time.Now()
	c.silence = time.AfterFunc(c.cfg.KeepAlive, c.listen)
	go c.run() // joined by Close
}

// listen resets the connection when its peer is silent.
func (c *conn) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return
	}
	patience := c.cfg.Silence
	if c.received == 0 {
		patience = c.cfg.KeepAlive // it does not know that it was answered
	}
	if left := patience - time.Since(c.heard); left > 0 {
		c.silence.Reset(left)
		return
	}
	c.failf("nothing came for %v", patience)
}

// over tells whether there is nothing more to receive. It needs mu, as all that follow do
// up to run.
func (c *conn) over() bool { return c.fault != nil || c.peerClosed || c.closed }

// fail resets the connection, and tells the peer, unless tell is empty.
func (c *conn) fail(err error, tell string) {
	if c.over() {
		return
	}
	c.fault, c.tell = err, tell
	c.ended()
}

// failf resets the connection for what the peer has done, or the network, and tells it.
func (c *conn) failf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.fail(fmt.Errorf("natsconn: %s: %w", text, syscall.ECONNRESET), text)
}

// ended has everybody see that the connection is over.
func (c *conn) ended() {
	if c.silence != nil {
		c.silence.Stop()
	}
	c.readable.Broadcast()
	c.writable.Broadcast()
	c.signal()
}

// signal has run look whether there is something to send.
func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// receive takes a message from the inbox. It never waits for the network.
func (c *conn) receive(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return
	}
	if len(data) < headerSize {
		c.failf("a message of %d bytes; want %d or more", len(data), headerSize)
		return
	}
	kind, number, body := data[0], binary.BigEndian.Uint64(data[1:headerSize]), data[headerSize:]
	if kind == kindReset {
		c.fail(fmt.Errorf("natsconn: the peer says: %s: %w", reason(string(body)), syscall.ECONNRESET), "")
		return
	}
	if number != c.received {
		c.failf("message %d came; want number %d: some were lost", number, c.received)
		return
	}
	c.received++
	c.heard = time.Now()
	switch {
	case kind == kindData && len(body) > 0:
		cost := len(body) + messageCost
		if cost > c.room {
			c.failf("%d bytes of data came; want at most %d", len(body), c.room-messageCost)
			return
		}
		c.room -= cost
		c.owed += messageCost
		c.in.write(body)
		c.readable.Broadcast()
		c.signalGrant()
	case kind == kindGrant && len(body) == 4:
		n := int64(binary.BigEndian.Uint32(body))
		if n > int64(c.window-c.credit) {
			c.failf("a grant of %d came; want at most %d", n, c.window-c.credit)
			return
		}
		c.credit += int(n)
		if len(c.out) > 0 {
			c.signal()
		}
	case kind == kindPing && len(body) == 0:
	case kind == kindClose && len(body) == 0:
		c.peerClosed = true
		c.ended()
	default:
		c.failf("a message %q of %d bytes came", kind, len(data))
	}
}

func (c *conn) grantDue() bool { return c.owed >= c.cfg.Window/4 }

func (c *conn) signalGrant() {
	if c.grantDue() {
		c.signal()
	}
}

// next writes to b what is to be sent next; nothing if there is nothing. With last it is
// the last message.
func (c *conn) next(b []byte, ping bool) (message []byte, last bool) {
	switch {
	case c.fault != nil:
		if c.tell == "" {
			return nil, true
		}
		b = append(header(b, kindReset, c.sent), reason(c.tell)...)
		last = true
	case c.peerClosed:
		return nil, true
	case c.closed:
		b = header(b, kindClose, c.sent)
		last = true
	case ping:
		b = header(b, kindPing, c.sent)
	case c.grantDue():
		b = binary.BigEndian.AppendUint32(header(b, kindGrant, c.sent), uint32(c.owed))
		c.room += c.owed
		c.owed = 0
	case len(c.out) > 0 && c.credit > messageCost:
		n := min(len(c.out), c.maxData, c.credit-messageCost)
		b = append(header(b, kindData, c.sent), c.out[:n]...)
		c.credit -= n + messageCost
		c.out = c.out[n:]
		if len(c.out) == 0 {
			c.writable.Broadcast()
		}
	default:
		return nil, false
	}
	c.sent++
	return b, last
}

// run sends, until the connection is over and Close was called.
func (c *conn) run() {
	defer close(c.done)
	ticker := time.NewTicker(c.cfg.KeepAlive)
	defer ticker.Stop()
	buf := make([]byte, 0, headerSize+max(maxReason, c.maxData))
	ping, lost := true, c.lost
	for {
		c.mu.Lock()
		message, last := c.next(buf, ping)
		c.mu.Unlock()
		if message != nil {
			if message[0] == kindPing {
				ping = false
			}
			if err := c.link.publish(message); err != nil {
				c.mu.Lock()
				c.fail(fmt.Errorf("natsconn: %w: %w", err, syscall.ECONNRESET), "")
				c.mu.Unlock()
			}
		}
		if last {
			break
		}
		if message != nil {
			continue
		}
		select {
		case <-c.wake:
		case <-ticker.C:
			ping = true
		case status := <-lost:
			c.mu.Lock()
			c.failf("the connection to NATS was lost (%v)", status)
			c.mu.Unlock()
			lost = nil
		}
	}
	c.link.leave()
	<-c.closing
	if c.released != nil {
		c.released()
	}
}

// Read reads what has come. After the other has closed, and all it sent was read, it
// returns io.EOF.
func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.opError("read", net.ErrClosed)
		case c.reading.expired:
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case c.in.len() > 0:
			n := c.in.read(b)
			c.owed += n
			c.signalGrant()
			return n, nil
		case c.fault != nil:
			return 0, c.opError("read", c.fault)
		case c.peerClosed:
			return 0, io.EOF
		}
		c.readable.Wait()
	}
}

// Write returns when all of b has been sent, for which the other has to read; what the
// error leaves out was not sent. That it has arrived nobody says.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writeFault(); err != nil {
		return 0, c.opError("write", err)
	}
	c.out = b
	for len(c.out) > 0 {
		if err := c.writeFault(); err != nil {
			n := len(b) - len(c.out)
			c.out = nil
			return n, c.opError("write", err)
		}
		c.signal()
		c.writable.Wait()
	}
	c.out = nil
	return len(b), nil
}

func (c *conn) writeFault() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.sending.expired:
		return os.ErrDeadlineExceeded
	case c.fault != nil:
		return c.fault
	case c.peerClosed:
		return fmt.Errorf("natsconn: the peer has closed: %w", syscall.EPIPE)
	}
	return nil
}

func (c *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// Close tells the other side, and ends what waits in Read and Write. What was written
// before goes out. It waits for the connection's goroutine, but no longer than closeWait:
// if the network hangs that one ends when the NATS client gives up.
func (c *conn) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.reading.set(&c.mu, &c.readable, time.Time{})
		c.sending.set(&c.mu, &c.writable, time.Time{})
		c.in = buffer{}
		c.ended()
		close(c.closing)
	}
	c.mu.Unlock()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr { return c.local }

func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, true, true) }

func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, true, false) }

func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, false, true) }

func (c *conn) setDeadlines(t time.Time, read, write bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	if read {
		c.reading.set(&c.mu, &c.readable, t)
	}
	if write {
		c.sending.set(&c.mu, &c.writable, t)
	}
	return nil
}

// deadline is one of a connection.
type deadline struct {
	expired bool
	timer   *time.Timer // nil: none is to come
}

// set makes the deadline t, none if t is zero. It needs mu; who waits for changed sees it
// when it is over.
func (d *deadline) set(mu *sync.Mutex, changed *sync.Cond, t time.Time) {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.expired = nil, false
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.expired = true
		changed.Broadcast()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		mu.Lock()
		defer mu.Unlock()
		if d.timer == timer { // not one that came too late to be stopped
			d.timer, d.expired = nil, true
			changed.Broadcast()
		}
	})
	d.timer = timer
}
