package whip

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v3"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

// Why a publisher ended.
var (
	// ErrEnded: it said so.
	ErrEnded = errors.New("the publisher has ended")
	// ErrGone: nothing came from it any more.
	ErrGone = errors.New("the publisher went away without a word")
	// ErrNoVideo: it never sent a picture.
	ErrNoVideo = errors.New("the publisher sent no video")
	// ErrReplaced: another took its place.
	ErrReplaced = errors.New("another publisher took over")
	// ErrBusy: the camera has a publisher, and the next one is refused.
	ErrBusy = errors.New("the camera has a publisher already")
	// ErrClosed: the server is closed.
	ErrClosed = errors.New("whip: server closed")
)

// askKeyEvery is the least time between two requests for a key frame. One takes a
// round trip and an encoder's time to be answered.
const askKeyEvery = 500 * time.Millisecond

// session is one publisher, from its offer to its end. It is an ingest.Publisher.
type session struct {
	id, etag string
	ufrag    string // of the offer
	door     *Door
	log      *slog.Logger
	pc       *webrtc.PeerConnection

	heard atomic.Int64 // when video last came, while it is read; Unix nanoseconds, 0: it is not

	end   chan struct{} // closed when it is to end
	gone  chan struct{} // closed when it has ended and nothing is left of it
	began chan struct{} // closed when video comes

	mu       sync.Mutex // guards what follows
	reason   error      // why it ended; nil before
	joined   sync.WaitGroup
	track    *webrtc.TrackRemote // nil before began
	receiver *webrtc.RTPReceiver
	asked    time.Time // when a key frame was last asked for
}

func newSession(d *Door, log *slog.Logger) *session {
	return &session{
		id: rand.Text(), etag: `"` + rand.Text() + `"`, door: d, log: log.With("camera", d.camera),
		end: make(chan struct{}), gone: make(chan struct{}), began: make(chan struct{}),
	}
}

// answer begins the connection for an offer and returns the answer. The error wraps
// errUnfit where the offer is at fault. keep must follow in either case.
func (s *session) answer(ctx context.Context, api *webrtc.API, o *offer) (_ string, err error) {
	defer func() {
		// The session holds its camera: it must end in good order even then.
		if p := recover(); p != nil {
			err = unfit("the WebRTC library failed at it: %v", p)
		}
	}()
	s.ufrag = o.ufrag
	pc, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return "", fmt.Errorf("whip: %w", err)
	}
	s.pc = pc
	pc.OnTrack(s.onTrack)
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		s.log.Debug("connection", "state", state.String())
		switch state {
		case webrtc.PeerConnectionStateFailed:
			s.fail(ErrGone)
		case webrtc.PeerConnectionStateClosed:
			s.fail(ErrEnded)
		}
	})
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: o.text}); err != nil {
		return "", unfit("%w", err)
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return "", unfit("%w", err)
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(answer); err != nil {
		return "", unfit("%w", err)
	}
	select {
	case <-gathered:
		return pc.LocalDescription().SDP, nil
	case <-s.end:
		return "", s.why()
	case <-ctx.Done():
		return "", fmt.Errorf("whip: %w", ctx.Err())
	}
}

// keep waits for the end and cleans up after it. It ends the session itself when
// no video comes within the limit.
func (s *session) keep(limit time.Duration) {
	defer close(s.gone)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.began:
	case <-s.end:
	case <-timer.C:
		s.fail(fmt.Errorf("%w within %v of its offer; can it reach whip.addr, over UDP or TCP?", ErrNoVideo, limit))
	}
	<-s.end
	if s.pc != nil {
		if err := s.pc.GracefulClose(); err != nil {
			s.log.Debug("closing the connection", "error", err)
		}
	}
	s.joined.Wait()
	s.door.release(s)
	s.log.Info("publisher ended", "reason", s.why())
}

// fail says that the session is to end, and why; the first reason counts.
func (s *session) fail(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == nil {
		s.reason = reason
		close(s.end)
	}
}

func (s *session) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Close ends the session, if it has not ended, and waits until nothing is left of
// it.
func (s *session) Close(reason error) {
	s.fail(reason)
	<-s.gone
}

// onTrack takes the first video track, and reads whatever else comes to nowhere.
// pion calls it in a goroutine of its own.
func (s *session) onTrack(t *webrtc.TrackRemote, r *webrtc.RTPReceiver) {
	s.mu.Lock()
	if s.reason != nil {
		s.mu.Unlock()
		return
	}
	wanted := t.Kind() == webrtc.RTPCodecTypeVideo && s.track == nil
	if wanted {
		s.track, s.receiver = t, r
		s.mu.Unlock()
		s.log.Info("publisher's video begins", "codec", codecOf(t.Codec().MimeType).String())
		close(s.began)
		s.door.began(s)
		return
	}
	s.joined.Add(1)
	s.mu.Unlock()
	defer s.joined.Done()
	b := make([]byte, 1500)
	for {
		if _, _, err := t.Read(b); err != nil {
			return
		}
	}
}

// Codec returns what the video is in.
func (s *session) Codec() codec.ID { return codecOf(s.track.Codec().MimeType) }

// silentAfter is how long no video at all may come before the session is in nobody's
// way any more: whoever lost its connection and is back already need not wait
// until that is certain.
const silentAfter = 2 * time.Second

// silent tells whether no video has come for so long.
func (s *session) silent() bool {
	at := s.heard.Load()
	return at != 0 && time.Since(time.Unix(0, at)) > silentAfter
}

// maxBad bounds the packets in a row that are not RTP.
const maxBad = 100

// Run hands over the video's packets, in order, and its RTCP packets, as
// ingest.Publisher says.
func (s *session) Run(ctx context.Context, video func(ingest.Packet), control func(rtcp.Packet)) error {
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() {
		_ = s.track.SetReadDeadline(past) // fails only when it ends anyway
		_ = s.receiver.SetReadDeadline(past)
	})
	defer stop()
	var reports sync.WaitGroup
	reports.Go(func() { s.readReports(control) })

	var order reorder
	err := s.readVideo(&order, video)
	if ctx.Err() == nil {
		if err == nil {
			err = ErrEnded
		}
		s.fail(err)
		<-s.gone // its cleaning up ends the reading of reports
		err = s.why()
	} else {
		err = ctx.Err()
	}
	reports.Wait()
	s.log.Info("publisher's video ends", "packets", order.stats.Packets, "late", order.stats.Late,
		"lost", order.stats.Lost, "repeated", order.stats.Repeated, "longest_wait", order.stats.LongestAt.Round(time.Millisecond))
	return err
}

// readVideo returns nil when the track has ended.
func (s *session) readVideo(order *reorder, video func(ingest.Packet)) error {
	bad := 0
	s.heard.Store(time.Now().UnixNano())
	defer s.heard.Store(0)
	for {
		p, _, err := s.track.ReadRTP()
		switch {
		case err == nil:
			bad = 0
			s.heard.Store(time.Now().UnixNano())
			order.push(p, time.Now(), video)
			continue
		case over(err):
			return nil
		}
		if bad++; bad == maxBad {
			return fmt.Errorf("whip: %d packets in a row could not be read: %w", bad, err)
		}
	}
}

// over tells whether err of a read says that there is no more, or that Run's
// context has ended.
func over(err error) bool {
	var timeout net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.As(err, &timeout) && timeout.Timeout()
}

func (s *session) readReports(control func(rtcp.Packet)) {
	bad := 0
	for bad < maxBad {
		packets, _, err := s.receiver.ReadRTCP()
		switch {
		case err == nil:
			bad = 0
			for _, p := range packets {
				control(p)
			}
		case over(err):
			return
		default:
			bad++
		}
	}
}

// RequestKeyFrame sends a picture loss indication, if the last one is not too
// recent.
func (s *session) RequestKeyFrame() {
	s.mu.Lock()
	now := time.Now()
	due := now.Sub(s.asked) >= askKeyEvery
	if due {
		s.asked = now
	}
	s.mu.Unlock()
	if due {
		// If it is lost, the next packet asks again.
		_ = s.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(s.track.SSRC())}})
	}
}
