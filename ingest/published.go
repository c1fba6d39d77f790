package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

// Door is where the publishers of one whip: camera come in; *whip.Door is one.
type Door interface {
	// Next waits for a publisher whose video has begun. Its only error is ctx's.
	Next(ctx context.Context) (Publisher, error)
}

// Publisher is one connection whose other end sends video of its own accord.
type Publisher interface {
	// Codec is what the video is in.
	Codec() codec.ID
	// Run hands over the video's packets, in order and each once, and its RTCP
	// packets, until the connection or ctx ends, and returns why it ended. The two
	// functions may be called from two goroutines, none of which is left when Run
	// returns.
	Run(ctx context.Context, video func(Packet), control func(rtcp.Packet)) error
	// RequestKeyFrame asks for a key frame. It may be called as often as one is
	// wanted, and does not block.
	RequestKeyFrame()
	// Close ends the connection, if it has not ended, and waits for that. reason is
	// for the log.
	Close(reason error)
}

// Packet is an RTP packet of a publisher and how it came.
type Packet struct {
	*rtp.Packet
	// Lost counts the packets before it that never came.
	Lost int
	// Late: it came after ones behind it.
	Late bool
	// Held is how long it waited for ones before it.
	Held time.Duration
}

// ErrNoPublisher is why a whip: camera is down before its first publisher.
var ErrNoPublisher = errors.New("nobody publishes yet")

// runPublished follows one publisher after another until ctx ends.
func (s *Source) runPublished(ctx context.Context, sink func(*Frame)) error {
	link := link{src: s}
	link.down(fmt.Errorf("ingest: whip: %w: open /publish/%s in a browser, or send WHIP to /whip/%s",
		ErrNoPublisher, s.cfg.Camera, s.cfg.Camera))
	for {
		p, err := s.cfg.Door.Next(ctx)
		if err != nil {
			return err
		}
		err = s.follow(ctx, p, sink, link.up)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		link.down(err)
		s.log.Warn("camera is down", "error", err)
	}
}

// follow delivers the frames of one publisher until it ends, stalls or ctx ends,
// and returns why; never nil. It calls onFirst before it delivers the first frame.
func (s *Source) follow(ctx context.Context, p Publisher, sink func(*Frame), onFirst func()) (err error) {
	defer func() {
		err = fmt.Errorf("ingest: whip: %w", err)
		p.Close(err)
	}()
	t, err := newTrack(nil, formatOf(p.Codec()))
	if err != nil {
		return err
	}
	if t == nil {
		return fmt.Errorf("%w: %v; %s are accepted", ErrCodec, p.Codec(), acceptedCodecs)
	}
	r := newReceiver(t)
	r.refresh = p.RequestKeyFrame
	c := s.newConnection(r)
	c.begin(ctx, func(ctx context.Context) error {
		return p.Run(ctx, func(p Packet) {
			if p.Lost > 0 {
				r.lost.Add(int64(p.Lost))
				r.gap()
			}
			if p.Late {
				r.late.Add(1)
			}
			s.cfg.Observer.Held(p.Held)
			r.handle(p.Packet)
		}, r.clock.handle)
	})
	return s.deliver(ctx, c, sink, onFirst)
}

// formatOf is a codec as gortsplib's depacketisers want it named.
func formatOf(id codec.ID) format.Format {
	switch id {
	case codec.H264:
		return &format.H264{PacketizationMode: 1}
	case codec.H265:
		return &format.H265{}
	case codec.VP8:
		return &format.VP8{}
	case codec.VP9:
		return &format.VP9{}
	case codec.AV1:
		return &format.AV1{}
	}
	return nil
}
