package whip

import (
	"context"
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
	// errNotConnected: no connection to a viewer came about.
	errNotConnected = errors.New("the viewer did not connect")
	// ErrClosed: the server is closed.
	ErrClosed = errors.New("whip: server closed")
)

// askKeyEvery is the least time between two requests for a key frame. One takes a
// round trip and an encoder's time to be answered.
const askKeyEvery = 500 * time.Millisecond

// session is one publisher, from its offer to its end. It is an ingest.Publisher.
type session struct {
	connection
	door  *Door
	heard atomic.Int64 // when video last came, while it is read; Unix nanoseconds, 0: it is not

	// Guarded by mu.
	track    *webrtc.TrackRemote // nil before began
	receiver *webrtc.RTPReceiver
	asked    time.Time // when a key frame was last asked for
}

func newSession(d *Door, log *slog.Logger) *session {
	s := &session{connection: newConnection(log.With("camera", d.camera)), door: d}
	s.setUp = func(pc *webrtc.PeerConnection) error {
		pc.OnTrack(s.onTrack)
		return nil
	}
	s.over = func() {
		d.release(s)
		s.log.Info("publisher ended", "reason", s.why())
	}
	s.late = ErrNoVideo
	return s
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

// silentAfter is how long no video at all may come before the session is in no one's
// way any more: a publisher that lost its connection and is back already need not wait
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
