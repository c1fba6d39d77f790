package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/ingest/codec"
)

const (
	// ticksPerSecond is the clock of RTP video.
	ticksPerSecond = 90000

	// firstFrameFactor: a connection may wait for its first picture this many stall
	// timeouts, because cameras that save bandwidth send a key frame every ten
	// seconds or less.
	firstFrameFactor = 3

	// maxSenderOffset: a camera's clock further off is not set at all (many count
	// from their boot), and arrival time says more.
	maxSenderOffset = 24 * time.Hour
)

// feed is the video of one connection, from its packets to its frames.
type feed struct {
	src     *Source
	sink    func(*Frame)
	onFirst func() // called before the first frame is handed out
	recv    *receiver
	dec     *codec.Decoder
	failure error // of emit, inside the decoder

	current  unit // the access unit being decoded
	sent     map[int64]unit
	frames   int
	bad      coalescer
	trouble  error     // why the newest access unit gave no picture; nil if it did
	offsetAt time.Time // when the clock offset was last reported
}

// newFeed returns a feed of the track t. close must follow.
func newFeed(s *Source, t *track, sink func(*Frame), onFirst func()) (*feed, error) {
	dec, err := codec.NewDecoder(t.id)
	if err != nil {
		return nil, err
	}
	return &feed{
		src: s, sink: sink, onFirst: onFirst, recv: newReceiver(t), dec: dec,
		sent: make(map[int64]unit),
		bad:  coalescer{log: s.log, msg: "access units lost or undecodable"},
	}, nil
}

func (f *feed) close() {
	f.bad.flush()
	f.dec.Close()
}

// receive decodes what comes until it stops coming.
//
// It returns why it ended, which is ctx's error, what came on ended, or what is
// wrong with the pictures; never nil.
func (f *feed) receive(ctx context.Context, ended <-chan error) error {
	s := f.src
	s.time.restart()
	limit := firstFrameFactor * s.cfg.StallTimeout
	watch := time.NewTimer(limit)
	defer watch.Stop()
	for {
		select {
		case u := <-f.recv.units:
			f.recv.took(u)
			before := f.frames
			f.decode(u)
			if f.failure != nil {
				return f.failure
			}
			if f.frames > before {
				limit = s.cfg.StallTimeout
				watch.Reset(limit)
			}
		case err := <-ended:
			return err
		case <-watch.C:
			return f.stalled(limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stalled says that no picture came for d, and what came instead.
func (f *feed) stalled(d time.Duration) error {
	if f.trouble != nil {
		return fmt.Errorf("%w: no picture for %v, what came was not decoded: %w", ErrStalled, d, f.trouble)
	}
	if err := f.recv.trouble(); err != nil {
		return fmt.Errorf("%w: no picture for %v, the packets that came make none: %w", ErrStalled, d, err)
	}
	return fmt.Errorf("%w: no picture for %v", ErrStalled, d)
}

// maxPending bounds the access units whose picture has not come out yet: H.264
// and H.265 reorder over 16 pictures at most.
const maxPending = 16

// decode decodes one access unit and emits its pictures.
func (f *feed) decode(u unit) {
	s := f.src
	if len(f.sent) > maxPending {
		clear(f.sent) // their pictures never came
	}
	f.sent[u.ticks] = u
	f.current = u
	err := f.dec.Decode(u.data, u.ticks, f.emit)
	f.trouble = err
	n := int(f.recv.lost.Swap(0))
	if err != nil {
		n++
		f.recv.hurt.Store(true)
	} else {
		err = errLost
	}
	if n > 0 {
		s.cfg.Observer.undecodable(n)
		f.bad.add(n, err)
	}
}

var errLost = errors.New("packets were lost, or decoding fell behind")

// emit turns a picture into a frame and hands it out.
func (f *feed) emit(pic *codec.Picture) {
	s := f.src
	u, ok := f.sent[pic.PTS]
	if !ok {
		u = f.current
	}
	delete(f.sent, pic.PTS)
	frame := s.pool.frame(pic.Width, pic.Height)
	if err := pic.BGR(frame.Pix); err != nil {
		frame.Release()
		f.failure = err
		return
	}
	frame.Damaged = pic.Damaged || u.damaged
	frame.Received = u.received
	frame.PTS = s.time.next(ticksToDuration(u.ticks), u.received)
	frame.Captured, frame.Clock = f.captured(u)
	if f.frames == 0 {
		f.onFirst()
	}
	f.frames++
	s.emit(frame, f.sink)
}

// captured returns when a unit's picture was taken, and by whose clock.
func (f *feed) captured(u unit) (time.Time, Clock) {
	if u.sent.IsZero() {
		return u.received, ClockArrival
	}
	offset := u.sent.Sub(u.received)
	if offset.Abs() > maxSenderOffset {
		return u.received, ClockArrival
	}
	if time.Since(f.offsetAt) >= time.Second {
		f.offsetAt = time.Now()
		f.src.cfg.Observer.clockOffset(offset)
	}
	return u.sent, ClockSenderReport
}

// ticksToDuration splits seconds off so that years of ticks do not overflow.
func ticksToDuration(ticks int64) time.Duration {
	return time.Duration(ticks/ticksPerSecond)*time.Second +
		time.Duration(ticks%ticksPerSecond)*time.Second/ticksPerSecond
}
