package ingest

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/bluenviron/gortsplib/v5"
)

const (
	// fallbackUDP is how long "auto" waits for the first UDP packet before it turns
	// to TCP, if the stall timeout does not make it shorter.
	fallbackUDP = 3 * time.Second

	// udpReadBuffer holds a large key frame, which arrives in one burst. The kernel
	// caps it at net.core.rmem_max.
	udpReadBuffer = 2 << 20
)

// session is one connection to a camera, from dialling to its end.
type session struct {
	src    *Source
	client *gortsplib.Client
	feed   *feed // once the camera has said what it sends
}

// session connects once and delivers frames until the connection ends, the
// camera stalls or ctx ends, and returns why it ended; never nil. It calls
// onFirst before it delivers the first frame.
func (s *Source) session(ctx context.Context, sink func(*Frame), onFirst func()) error {
	ss := &session{src: s}
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
		if ss.feed != nil {
			ss.feed.close()
		}
	}()
	if err := ss.setup(ctx, sink, onFirst); err != nil {
		return err
	}
	err := ss.feed.receive(ctx, ended)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(err)
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
		DialContext:           dialTCP,
		DialTLSContext:        s.dialTLS,
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
func (ss *session) setup(ctx context.Context, sink func(*Frame), onFirst func()) error {
	s := ss.src
	// gortsplib's calls take no context: closing the client is what ends them.
	timer := time.AfterFunc(s.cfg.StallTimeout, ss.client.Close)
	err := ss.negotiate(sink, onFirst)
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

func (ss *session) negotiate(sink func(*Frame), onFirst func()) error {
	desc, _, err := ss.client.Describe(ss.src.url)
	if err != nil {
		return err
	}
	t, err := pickTrack(desc)
	if err != nil {
		return err
	}
	if ss.feed, err = newFeed(ss.src, t, sink, onFirst); err != nil {
		return err
	}
	if _, err := ss.client.Setup(desc.BaseURL, t.media, 0, 0); err != nil {
		return err
	}
	ss.client.OnPacketRTP(t.media, t.format, ss.feed.recv.handle)
	ss.client.OnPacketRTCP(t.media, ss.feed.recv.clock.handle)
	_, err = ss.client.Play(nil)
	return err
}
