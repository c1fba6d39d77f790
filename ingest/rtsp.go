package ingest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/bluenviron/gortsplib/v5"

	"github.com/segd/segd/ingest/codec"
)

const (
	// ticksPerSecond is the clock of RTP video.
	ticksPerSecond = 90000

	// firstFrameFactor: a connection may wait for its first picture this many stall
	// timeouts, because cameras that save bandwidth send a key frame every ten
	// seconds or less.
	firstFrameFactor = 3

	// fallbackUDP is how long "auto" waits for the first UDP packet before it turns
	// to TCP, if the stall timeout does not make it shorter.
	fallbackUDP = 3 * time.Second

	// udpReadBuffer holds a large key frame, which arrives in one burst. The kernel
	// caps it at net.core.rmem_max.
	udpReadBuffer = 2 << 20

	// maxSenderOffset: a camera's clock further off is not set at all (many count
	// from their boot), and arrival time says more.
	maxSenderOffset = 24 * time.Hour
)

// session is one connection to a camera, from dialling to its end.
type session struct {
	src     *Source
	sink    func(*Frame)
	client  *gortsplib.Client
	recv    *receiver
	dec     *codec.Decoder
	failure error // of emit, inside the decoder

	current  unit // the access unit being decoded
	sent     map[int64]unit
	frames   int
	bad      coalescer
	trouble  error     // why the newest access unit gave no picture; nil if it did
	offsetAt time.Time // when the clock offset was last reported
	onFirst  func()
}

// session connects once and delivers frames until the connection ends, the
// camera stalls or ctx ends, and returns why it ended; never nil. It calls
// onFirst before it delivers the first frame.
func (s *Source) session(ctx context.Context, sink func(*Frame), onFirst func()) error {
	ss := &session{
		src: s, sink: sink, onFirst: onFirst,
		sent: make(map[int64]unit),
		bad:  coalescer{log: s.log, msg: "access units lost or undecodable"},
	}
	defer ss.bad.flush()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	joined := make(chan struct{})
	if err := ss.start(ctx, ended, joined); err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		<-joined
		if ss.dec != nil {
			ss.dec.Close()
		}
	}()
	if err := ss.setup(ctx); err != nil {
		return err
	}
	return ss.receive(ctx, ended)
}

// start begins the client and what ends it with ctx.
func (ss *session) start(ctx context.Context, ended chan<- error, joined chan<- struct{}) error {
	s := ss.src
	ss.client = &gortsplib.Client{
		Scheme:                s.url.Scheme,
		Host:                  s.url.Host,
		Protocol:              protocol(s.cfg.Transport),
		UserAgent:             "segd",
		ReadTimeout:           max(s.cfg.StallTimeout, minReadTimeout),
		WriteTimeout:          max(s.cfg.StallTimeout, minReadTimeout),
		InitialUDPReadTimeout: min(fallbackUDP, s.cfg.StallTimeout),
		ListenPacket:          listenPacket,
		DialTLSContext:        dialTLS,
		OnTransportSwitch:     func(err error) { s.log.Info("transport changed", "reason", err) },
		// Lost packets show as access units that do not decode, which are counted.
		OnPacketsLost: func(uint64) {},
		OnDecodeError: func(error) {},
	}
	if err := ss.client.Start(); err != nil {
		return fmt.Errorf("ingest: %s: %w", s.Name(), err)
	}
	go func() {
		defer close(joined)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ended <- ss.client.Wait()
		}()
		select {
		case <-ctx.Done():
		case <-done:
		}
		ss.client.Close()
		<-done
	}()
	return nil
}

// listenPacket opens a UDP socket that holds a burst, as far as the kernel lets
// it.
func listenPacket(network, address string) (net.PacketConn, error) {
	pc, err := net.ListenPacket(network, address)
	if err != nil {
		return nil, err
	}
	if u, ok := pc.(*net.UDPConn); ok {
		_ = u.SetReadBuffer(udpReadBuffer) // a smaller one works too
	}
	return pc, nil
}

// dialTLS connects and shakes hands within ctx. Left to gortsplib the handshake
// happens in the first write, where a silent peer would hold it for ever.
func dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	return (&tls.Dialer{}).DialContext(ctx, network, addr)
}

// minReadTimeout: gortsplib keeps the time of the last packet in whole seconds
// and looks once a second, so a shorter one would cut live connections. Stalls
// are noticed by this package's own watch on pictures anyway.
const minReadTimeout = 4 * time.Second

func protocol(transport string) *gortsplib.Protocol {
	var p gortsplib.Protocol
	switch transport {
	case "tcp":
		p = gortsplib.ProtocolTCP
	case "udp":
		p = gortsplib.ProtocolUDP
	default:
		return nil // UDP, then TCP
	}
	return &p
}

// setup connects, finds the video track and plays it, within the stall timeout.
func (ss *session) setup(ctx context.Context) error {
	s := ss.src
	// gortsplib's calls take no context: closing the client is what ends them.
	timer := time.AfterFunc(s.cfg.StallTimeout, ss.client.Close)
	err := ss.negotiate()
	if !timer.Stop() {
		err = fmt.Errorf("%w: no answer within %v", ErrStalled, s.cfg.StallTimeout)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return s.explain(err)
	}
	return nil
}

func (ss *session) negotiate() error {
	desc, _, err := ss.client.Describe(ss.src.url)
	if err != nil {
		return err
	}
	t, err := pickTrack(desc)
	if err != nil {
		return err
	}
	if ss.dec, err = codec.NewDecoder(t.id); err != nil {
		return err
	}
	if _, err := ss.client.Setup(desc.BaseURL, t.media, 0, 0); err != nil {
		return err
	}
	ss.recv = newReceiver(t)
	ss.client.OnPacketRTP(t.media, t.format, ss.recv.handle)
	ss.client.OnPacketRTCP(t.media, ss.recv.clock.handle)
	_, err = ss.client.Play(nil)
	return err
}

// receive decodes what comes until it stops coming.
func (ss *session) receive(ctx context.Context, ended <-chan error) error {
	s := ss.src
	s.time.restart()
	limit := firstFrameFactor * s.cfg.StallTimeout
	watch := time.NewTimer(limit)
	defer watch.Stop()
	for {
		select {
		case u := <-ss.recv.units:
			before := ss.frames
			ss.decode(u)
			if ss.failure != nil {
				return ss.failure
			}
			if ss.frames > before {
				limit = s.cfg.StallTimeout
				watch.Reset(limit)
			}
		case err := <-ended:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.explain(err)
		case <-watch.C:
			return s.explain(ss.stalled(limit))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stalled says that no picture came for d, and what came instead.
func (ss *session) stalled(d time.Duration) error {
	if ss.trouble != nil {
		return fmt.Errorf("%w: no picture for %v, what came was not decoded: %w", ErrStalled, d, ss.trouble)
	}
	return fmt.Errorf("%w: no picture for %v", ErrStalled, d)
}

// maxPending bounds the access units whose picture has not come out yet: H.264
// and H.265 reorder over 16 pictures at most.
const maxPending = 16

// decode decodes one access unit and emits its pictures.
func (ss *session) decode(u unit) {
	s := ss.src
	if len(ss.sent) > maxPending {
		clear(ss.sent) // their pictures never came
	}
	ss.sent[u.ticks] = u
	ss.current = u
	err := ss.dec.Decode(u.data, u.ticks, ss.emit)
	ss.trouble = err
	n := int(ss.recv.lost.Swap(0))
	if err != nil {
		n++
	} else {
		err = errLost
	}
	if n > 0 {
		s.cfg.Observer.undecodable(n)
		ss.bad.add(n, err)
	}
}

var errLost = errors.New("packets were lost, or decoding fell behind")

// emit turns a picture into a frame and hands it out.
func (ss *session) emit(pic *codec.Picture) {
	s := ss.src
	u, ok := ss.sent[pic.PTS]
	if !ok {
		u = ss.current
	}
	delete(ss.sent, pic.PTS)
	f := s.pool.frame(pic.Width, pic.Height)
	if err := pic.BGR(f.Pix); err != nil {
		f.Release()
		ss.failure = fmt.Errorf("ingest: %s: %w", s.Name(), err)
		return
	}
	f.Damaged = pic.Damaged
	f.Received = u.received
	f.PTS = s.time.next(ticksToDuration(u.ticks), u.received)
	f.Captured, f.Clock = ss.captured(u)
	if ss.frames == 0 {
		ss.onFirst()
	}
	ss.frames++
	s.emit(f, ss.sink)
}

// captured returns when a unit's picture was taken, and by whose clock.
func (ss *session) captured(u unit) (time.Time, Clock) {
	if u.sent.IsZero() {
		return u.received, ClockArrival
	}
	offset := u.sent.Sub(u.received)
	if offset.Abs() > maxSenderOffset {
		return u.received, ClockArrival
	}
	if time.Since(ss.offsetAt) >= time.Second {
		ss.offsetAt = time.Now()
		ss.src.cfg.Observer.clockOffset(offset)
	}
	return u.sent, ClockSenderReport
}

// ticksToDuration splits seconds off so that years of ticks do not overflow.
func ticksToDuration(ticks int64) time.Duration {
	return time.Duration(ticks/ticksPerSecond)*time.Second +
		time.Duration(ticks%ticksPerSecond)*time.Second/ticksPerSecond
}
