package natsconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// natsLink is the link of a connection over NATS.
type natsLink struct {
	nc   *nats.Conn
	sub  *nats.Subscription // of our inbox
	lost chan nats.Status
	peer string // its inbox
}

func (l *natsLink) publish(message []byte) error { return l.nc.Publish(l.peer, message) }

func (l *natsLink) leave() {
	_ = l.sub.Unsubscribe() // a connection that is closed has none
	l.nc.RemoveStatusListener(l.lost)
}

// receiveAt has c take the messages to an inbox. What waits in the NATS client is bounded by
// what the peer may send: no more data messages than the window pays for, and some besides.
func receiveAt(nc *nats.Conn, inbox string, c *conn) (*natsLink, error) {
	const others = 16
	l := &natsLink{nc: nc, lost: nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)}
	var err error
	l.sub, err = nc.Subscribe(inbox, func(m *nats.Msg) { c.receive(m.Data) })
	if err == nil {
		err = l.sub.SetPendingLimits(c.cfg.Window/messageCost+others, c.cfg.Window+others*(headerSize+maxReason))
	}
	if err != nil {
		l.leave()
		return nil, err
	}
	return l, nil
}

// maxData returns how many bytes of data the server takes in a message.
func maxData(nc *nats.Conn) (int, error) {
	const least = 1 << 10
	n := nc.MaxPayload()
	if n < least {
		return 0, fmt.Errorf("the NATS server takes payloads of %d bytes; want %d or more", n, least)
	}
	return int(min(n-headerSize, MaxData)), nil
}

// Dial opens a connection to whoever listens at subject. When ctx ends it gives up; the
// connection it returns does not depend on ctx.
func Dial(ctx context.Context, nc *nats.Conn, subject string, cfg Config) (net.Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, nc, subject, cfg)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("natsconn: nobody listens at %s: %w", subject, err)
	}
	if err != nil {
		return nil, fmt.Errorf("natsconn: dial %s: %w", subject, err)
	}
	return c, nil
}

func dial(ctx context.Context, nc *nats.Conn, subject string, cfg Config) (*conn, error) {
	size, err := maxData(nc)
	if err != nil {
		return nil, err
	}
	inbox := newInbox(nc)
	c := newConn(inboxAddr(inbox), Addr(subject), cfg)
	l, err := receiveAt(nc, inbox, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Silence)
	defer cancel()
	answer, err := nc.RequestWithContext(ctx, subject, hello{Window: cfg.Window, Inbox: inbox}.marshal())
	if err != nil {
		l.leave()
		return nil, err
	}
	peer, err := parseHello(answer.Data)
	if err != nil {
		l.leave()
		return nil, fmt.Errorf("the answer: %w", err)
	}
	l.peer = peer.Inbox
	c.start(l, l.lost, size, peer.Window)
	return c, nil
}

// listener is what Listen returns.
type listener struct {
	nc      *nats.Conn
	subject string
	cfg     Config
	sub     *nats.Subscription

	queue chan *conn    // those not accepted; holds all that there may be
	ended chan struct{} // closed when no more can come

	mu     sync.Mutex
	open   int // connections that were not released
	closed bool
	err    error // what Accept returns after the end
}

// Listen takes connections to subject. The limit of them, and a queue of those that nobody
// has accepted yet, is Config.Connections. Accept fails when the NATS connection is closed
// for good; while it is only broken the listener waits for its return.
func Listen(nc *nats.Conn, subject string, cfg Config) (net.Listener, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	// Requests wait in the NATS client only while it hangs itself.
	const waiting = 256
	l := &listener{nc: nc, subject: subject, cfg: cfg, queue: make(chan *conn, cfg.Connections), ended: make(chan struct{})}
	l.sub, err = nc.Subscribe(subject, l.request)
	if err != nil {
		return nil, fmt.Errorf("natsconn: listen at %s: %w", subject, err)
	}
	l.sub.SetClosedHandler(func(string) { l.end(nats.ErrConnectionClosed) })
	if err := l.sub.SetPendingLimits(waiting, waiting*maxHello); err != nil {
		l.Close()
		return nil, fmt.Errorf("natsconn: listen at %s: %w", subject, err)
	}
	return l, nil
}

// request answers a request to open a connection.
func (l *listener) request(m *nats.Msg) {
	if m.Reply == "" {
		return // nobody waits for an answer
	}
	answer, c, err := l.accept(m.Data)
	if err != nil {
		answer = hello{Refused: reason(err.Error()), Full: errors.Is(err, ErrFull)}
	}
	err = m.Respond(answer.marshal())
	if c != nil && (err != nil || !l.enqueue(c)) {
		c.Close()
	}
}

// accept makes a connection, if it may.
func (l *listener) accept(request []byte) (answer hello, c *conn, err error) {
	peer, err := parseHello(request)
	if err != nil {
		return hello{}, nil, err
	}
	size, err := maxData(l.nc)
	if err != nil {
		return hello{}, nil, err
	}
	if err := l.reserve(); err != nil {
		return hello{}, nil, err
	}
	inbox := newInbox(l.nc)
	c = newConn(Addr(l.subject), inboxAddr(peer.Inbox), l.cfg)
	c.released = l.release
	link, err := receiveAt(l.nc, inbox, c)
	if err != nil {
		l.release()
		return hello{}, nil, err
	}
	link.peer = peer.Inbox
	c.start(link, link.lost, size, peer.Window)
	return hello{Window: l.cfg.Window, Inbox: inbox}, c, nil
}

func (l *listener) reserve() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.cfg.Connections {
		return fmt.Errorf("%w: %d", ErrFull, l.open)
	}
	l.open++
	return nil
}

func (l *listener) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

// enqueue offers a connection to Accept.
func (l *listener) enqueue(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue <- c // which has room for all that were reserved
	return true
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.ended:
	default:
		select {
		case c := <-l.queue:
			return c, nil
		case <-l.ended:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: l.Addr().Network(), Addr: l.Addr(), Err: l.err}
}

// Close ends Accept and closes connections that were not accepted. Accepted ones go on.
func (l *listener) Close() error {
	l.end(net.ErrClosed)
	_ = l.sub.Unsubscribe() // a connection that is closed has none
	return nil
}

// end has Accept return err, and closes what it has not returned.
func (l *listener) end(err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed, l.err = true, err
	close(l.ended)
	l.mu.Unlock()
	var closing sync.WaitGroup
	defer closing.Wait()
	for {
		select {
		case c := <-l.queue:
			closing.Go(func() { c.Close() })
		default:
			return
		}
	}
}

func (l *listener) Addr() net.Addr { return Addr(l.subject) }
