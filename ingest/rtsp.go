package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	// fallbackUDP is how long "auto" waits for the first UDP packet before it turns
	// to TCP, if the stall timeout does not make it shorter.
	fallbackUDP = 3 * time.Second

	// udpReadBuffer holds a large key frame, which arrives in one burst. The kernel
	// caps it at net.core.rmem_max.
	udpReadBuffer = 2 << 20
)

var protocols = map[string]gortsplib.Protocol{
	"tcp": gortsplib.ProtocolTCP, "udp": gortsplib.ProtocolUDP, "multicast": gortsplib.ProtocolUDPMulticast,
}

// dialRTSP connects, finds the video track and plays it, within the stall timeout for each
// transport that is tried.
func (s *Source) dialRTSP(ctx context.Context, heard *atomic.Bool) (*connection, error) {
	p, set := protocols[s.cfg.Transport]
	if !set {
		return s.dialAuto(ctx, heard)
	}
	t, err := s.talk(ctx, p, heard)
	if err != nil {
		return nil, s.dialError(ctx, err)
	}
	return t.connection(ctx), nil
}

// dialAuto dials over UDP, and over TCP if that comes to nothing before the first packet,
// whatever the reason: cameras have many ways of not having UDP. What did is dialled first
// the next time.
func (s *Source) dialAuto(ctx context.Context, heard *atomic.Bool) (*connection, error) {
	var noUDP error
	if !s.overTCP.Load() {
		t, err := s.talk(ctx, gortsplib.ProtocolUDP, heard)
		if err == nil {
			c := t.connection(ctx)
			if err = t.firstPacket(ctx, c); err == nil {
				return c, nil
			}
			c.close()
		}
		if !errors.As(err, new(*transportError)) || ctx.Err() != nil {
			return nil, s.dialError(ctx, err)
		}
		noUDP = s.cause(err)
	}
	t, err := s.talk(ctx, gortsplib.ProtocolTCP, heard)
	switch {
	case err != nil && noUDP != nil && ctx.Err() == nil:
		return nil, s.advise(fmt.Errorf("%w, and over UDP: %s", s.explain(err), noUDP.Error()), err)
	case err != nil:
		if errors.As(err, new(*transportError)) {
			s.overTCP.Store(false)
		}
		return nil, s.dialError(ctx, err)
	case noUDP != nil && !s.overTCP.Swap(true):
		s.log.Info("transport changed", "to", "tcp", "reason", noUDP)
	}
	return t.connection(ctx), nil
}

// dialError is err of a dial, in words for people, or that of ctx.
func (s *Source) dialError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.advise(s.explain(err), err)
}

// transportError is a fault that a camera may have over one transport only: one after it
// has described its stream and before the first packet.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// rtspTalk is what is said on one connection to an RTSP camera. Its functions request and
// response see all of that, and change what gortsplib would get wrong.
type rtspTalk struct {
	src    *Source
	client *gortsplib.Client
	recv   *receiver
	first  chan struct{} // closed at the first packet
	// reports go to the camera; nil: gortsplib sends them. They are ended with the client.
	reports *reports

	// again says that the newest answer asked for the same request once more.
	again atomic.Bool

	// The rest is gortsplib's goroutine's until that has ended.
	hops    redirects
	login   login
	noVideo error // the stream has none
}

// talk connects over p, finds the video track and plays it, within the stall timeout.
func (s *Source) talk(ctx context.Context, p gortsplib.Protocol, heard *atomic.Bool) (*rtspTalk, error) {
	t := &rtspTalk{src: s, client: s.rtspClient(p, heard), first: make(chan struct{}), login: login{user: s.url.Network.User}}
	t.client.OnRequest, t.client.OnResponse = t.request, t.response
	if err := t.client.Start(); err != nil {
		return nil, err
	}
	// gortsplib's calls take no context: closing the client is what ends them.
	stop := context.AfterFunc(ctx, t.client.Close)
	timer := time.AfterFunc(s.cfg.StallTimeout, t.client.Close)
	described, err := t.negotiate(p == gortsplib.ProtocolTCP)
	if !timer.Stop() {
		err = fmt.Errorf("%w: no answer within %v", ErrStalled, s.cfg.StallTimeout)
	}
	if !stop() {
		err = ctx.Err()
	}
	if err == nil {
		return t, nil
	}
	t.client.Close()
	_ = t.client.Wait() // err says more
	t.reports.Close()
	err = cmp.Or(t.hops.refused, t.noVideo, t.refusal(err), t.hops.lost(err), err)
	if described && !t.refusesUser(err) {
		err = &transportError{err}
	}
	return nil, err
}

// refusesUser tells whether err is for the user, and might be a wrong password's.
func (t *rtspTalk) refusesUser(err error) bool {
	var status liberrors.ErrClientBadStatusCode
	if t.login.accepted || errors.As(err, &status) && status.Code == base.StatusForbidden && !t.login.told {
		return false
	}
	return errors.Is(t.src.cause(err), ErrUnauthorized)
}

// refusal is what a camera means that answers with err; nil: what it says.
func (t *rtspTalk) refusal(err error) error {
	var status liberrors.ErrClientBadStatusCode
	if !errors.As(err, &status) {
		return nil
	}
	return t.login.refusal(int(status.Code))
}

// negotiate asks for the video track and plays it. The receiver is handed its
// packets from then on, and over TCP the camera reports about them. described tells whether the camera said what it
// streams.
func (t *rtspTalk) negotiate(overTCP bool) (described bool, err error) {
	var answer *base.Response
	desc, err := insist(t, func() (desc *description.Session, err error) {
		desc, answer, err = t.client.Describe((*base.URL)(t.src.url.Network))
		return desc, err
	})
	if err != nil {
		return false, err
	}
	track, err := pickTrack(desc)
	if err != nil {
		return false, err
	}
	track.describe(answer.Body)
	if _, err := insist(t, func() (*base.Response, error) { return t.client.Setup(desc.BaseURL, track.media, 0, 0) }); err != nil {
		return true, err
	}
	t.recv = newReceiver(track)
	came := sync.OnceFunc(func() { close(t.first) })
	handle, hear := t.recv.handle, t.recv.clock.handle
	if overTCP {
		t.reports = newReports(track.format, func(p rtcp.Packet) error { return t.client.WritePacketRTCP(track.media, p) })
		handle = func(p *rtp.Packet) { t.reports.came(p); t.recv.handle(p) }
		hear = func(p rtcp.Packet) { t.reports.heard(p); t.recv.clock.handle(p) }
	}
	t.client.OnPacketsLost = func(n uint64) { t.recv.lost.Add(int64(n)) }
	t.client.OnPacketRTP(track.media, track.format, func(p *rtp.Packet) { came(); handle(p) })
	t.client.OnPacketRTCP(track.media, func(p rtcp.Packet) { came(); hear(p) })
	_, err = insist(t, func() (*base.Response, error) { return t.client.Play(nil) })
	return true, err
}

// insist does what asks the camera for something, and again for as long as the camera wants
// to be asked with a newer nonce, which login bounds.
func insist[T any](t *rtspTalk, ask func() (T, error)) (T, error) {
	for {
		answer, err := ask()
		if err == nil || !t.again.Swap(false) {
			return answer, err
		}
	}
}

// request completes a request that gortsplib is about to send. gortsplib tells the user once
// it has been asked, for this connection, and knows the simplest ways to do so.
func (t *rtspTalk) request(req *base.Request) {
	t.again.Store(false)
	t.login.told = false
	if _, told := req.Header["Authorization"]; told {
		req.Header["Authorization"] = base.HeaderValue{t.login.authorization(string(req.Method), req.URL.CloneWithoutCredentials().String())}
	}
}

// response looks at an answer before gortsplib does.
func (t *rtspTalk) response(res *base.Response) {
	t.hops.answered(t.src.url, res)
	again := t.login.again(int(res.StatusCode), res.Header["WWW-Authenticate"])
	t.again.Store(again)
	switch {
	case again: // in a way that gortsplib knows; request does it in the right one
		res.Header["WWW-Authenticate"] = base.HeaderValue{`Basic realm=""`}
	case res.StatusCode == http.StatusUnauthorized:
		delete(res.Header, "WWW-Authenticate")
	case res.StatusCode == http.StatusOK && strings.HasPrefix(strings.Join(res.Header["Content-Type"], ""), "application/sdp"):
		res.Body, t.noVideo = onlyVideo(res.Body)
	}
}

// connection begins to receive what the camera plays.
func (t *rtspTalk) connection(ctx context.Context) *connection {
	c := t.src.newConnection(t.recv)
	c.begin(ctx, func(ctx context.Context) error {
		defer t.reports.Close()
		defer context.AfterFunc(ctx, t.client.Close)()
		return t.client.Wait()
	})
	return c
}

// firstPacket waits for the first packet of c, or how it ended without one.
func (t *rtspTalk) firstPacket(ctx context.Context, c *connection) error {
	select {
	case <-t.first:
		return nil
	case err := <-c.ended:
		if errors.As(err, new(liberrors.ErrClientUDPTimeout)) {
			err = fmt.Errorf("%w: no packet within %v", ErrStalled, t.client.InitialUDPReadTimeout)
		}
		return &transportError{err}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Source) rtspClient(p gortsplib.Protocol, heard *atomic.Bool) *gortsplib.Client {
	return &gortsplib.Client{
		Scheme:                s.url.Network.Scheme,
		Host:                  s.url.Network.Host,
		Protocol:              &p,
		UserAgent:             "segd",
		ReadTimeout:           max(s.cfg.StallTimeout, minReadTimeout),
		WriteTimeout:          max(s.cfg.StallTimeout, minReadTimeout),
		InitialUDPReadTimeout: min(fallbackUDP, s.cfg.StallTimeout),
		ListenPacket:          listenPacket,
		DialContext:           notHTTP(heardBy(dialTCP, heard)),
		DialTLSContext:        notHTTP(heardBy(s.dialTLS, heard)),
		OnDecodeError:         func(error) {}, // shows as access units that are lost
	}
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
