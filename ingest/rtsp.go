package ingest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
)

const (
	// fallbackUDP is how long "auto" waits for the first UDP packet before it turns
	// to TCP, if the stall timeout does not make it shorter.
	fallbackUDP = 3 * time.Second

	// udpReadBuffer holds a large key frame, which arrives in one burst. The kernel
	// caps it at net.core.rmem_max.
	udpReadBuffer = 2 << 20
)

// dialRTSP connects, finds the video track and plays it, within the stall timeout.
func (s *Source) dialRTSP(ctx context.Context, heard *atomic.Bool) (*connection, error) {
	var hops redirects
	client := s.rtspClient(heard)
	client.OnResponse = func(res *base.Response) { hops.answered(s.url, res) }
	if err := client.Start(); err != nil {
		return nil, fmt.Errorf("ingest: %s: %w", s.Name(), err)
	}
	// gortsplib's calls take no context: closing the client is what ends them.
	stop := context.AfterFunc(ctx, client.Close)
	timer := time.AfterFunc(s.cfg.StallTimeout, client.Close)
	r, err := s.negotiate(client)
	if !timer.Stop() {
		err = fmt.Errorf("%w: no answer within %v", ErrStalled, s.cfg.StallTimeout)
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		client.Close()
		_ = client.Wait() // err says more
		err = cmp.Or(hops.refused, err)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.explain(err)
	}
	c := s.newConnection(r)
	c.begin(ctx, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, client.Close)()
		return client.Wait()
	})
	return c, nil
}

func (s *Source) rtspClient(heard *atomic.Bool) *gortsplib.Client {
	return &gortsplib.Client{
		Scheme:                s.url.Network.Scheme,
		Host:                  s.url.Network.Host,
		Protocol:              protocol(s.cfg.Transport),
		UserAgent:             "segd",
		ReadTimeout:           max(s.cfg.StallTimeout, minReadTimeout),
		WriteTimeout:          max(s.cfg.StallTimeout, minReadTimeout),
		InitialUDPReadTimeout: min(fallbackUDP, s.cfg.StallTimeout),
		ListenPacket:          listenPacket,
		DialContext:           heardBy(dialTCP, heard),
		DialTLSContext:        heardBy(s.dialTLS, heard),
		OnTransportSwitch:     func(err error) { s.log.Info("transport changed", "reason", err) },
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

func protocol(transport string) *gortsplib.Protocol {
	var p gortsplib.Protocol
	switch transport {
	case "tcp":
		p = gortsplib.ProtocolTCP
	case "udp":
		p = gortsplib.ProtocolUDP
	case "multicast":
		p = gortsplib.ProtocolUDPMulticast
	default:
		return nil // UDP, then TCP
	}
	return &p
}

// negotiate asks for the video track and plays it. The receiver is handed its
// packets from then on.
func (s *Source) negotiate(client *gortsplib.Client) (*receiver, error) {
	desc, answer, err := client.Describe((*base.URL)(s.url.Network))
	if err != nil {
		return nil, err
	}
	t, err := pickTrack(desc)
	if err != nil {
		return nil, err
	}
	t.describe(answer.Body)
	if _, err := client.Setup(desc.BaseURL, t.media, 0, 0); err != nil {
		return nil, err
	}
	r := newReceiver(t)
	client.OnPacketsLost = func(n uint64) { r.never.Add(int64(n)) }
	client.OnPacketRTP(t.media, t.format, r.handle)
	client.OnPacketRTCP(t.media, r.clock.handle)
	_, err = client.Play(nil)
	return r, err
}
