package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/coalesce"
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
	onFirst func()       // called before the first frame is handed out
	ended   <-chan error // of the connection
	recv    *receiver
	dec     *codec.Decoder
	failure error // of emit, inside the decoder

	current   unit // the access unit being decoded
	sent      map[int64]unit
	bad       coalesce.Log
	frames    int
	pace      pace
	decoding  decoding  // as it was last told
	trouble   error     // why the newest access unit gave no picture; nil if it did
	offsetAt  time.Time // when the clock offset was last reported
	networkAt time.Time // and how packets come
}

// newFeed returns a feed of what c receives. close must follow.
func newFeed(s *Source, c *connection, sink func(*Frame), onFirst func()) (*feed, error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	dec.SetDeinterlace(codec.Deinterlace(s.cfg.Deinterlace))
	f := &feed{
		src: s, sink: sink, onFirst: onFirst, ended: c.ended, recv: c.recv, dec: dec,
		sent: make(map[int64]unit),
		bad:  coalesce.Log{Write: s.log.Warn, Message: "access units gave no frame"},
	}
	f.tellDecoder()
	return f, nil
}

// decoding is what decodes what.
type decoding struct {
	id       codec.ID
	on       codec.Device
	fallback string // why not on the device that was asked for
}

// tellDecoder says what decodes, if that has changed, and counts a fallback of this
// connection once.
func (f *feed) tellDecoder() {
	now := decoding{id: f.recv.track.id, on: f.dec.Device()}
	err := f.dec.Fallback()
	if err != nil {
		now.fallback = err.Error()
	}
	if now == f.decoding {
		return
	}
	f.decoding = now
	s := f.src
	s.cfg.Observer.Decoder(now.id, now.on, err)
	if now == s.said { // with another connection
		return
	}
	s.said = now
	if err != nil {
		s.log.Warn("software decodes instead of the device that is configured", "decode", s.cfg.Decode, "error", err)
	} else {
		s.log.Info("video is decoded", "codec", now.id.String(), "on", now.on)
	}
}

func (f *feed) close() {
	f.tell(nil)
	f.networkAt = time.Time{}
	f.tellNetwork()
	f.bad.Flush()
	f.dec.Close()
}

// receive decodes what comes until it stops coming.
//
// It returns why it ended, which is ctx's error, what came on ended, or what is
// wrong with the pictures; never nil.
func (f *feed) receive(ctx context.Context) error {
	s := f.src
	s.time.restart()
	limit := firstFrameFactor * s.cfg.StallTimeout
	watch := time.NewTimer(limit)
	defer watch.Stop()
	for {
		select {
		case u := <-f.recv.units:
			pictures, err := f.take(u)
			if err != nil {
				return err
			}
			if pictures {
				limit = s.cfg.StallTimeout
				watch.Reset(limit)
			}
		case err := <-f.ended:
			return err
		case err := <-f.recv.refused:
			return err
		case <-watch.C:
			return f.stalled(limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take decodes a unit and tells whether it gave pictures. The error says that
// there is no use in going on.
func (f *feed) take(u unit) (pictures bool, err error) {
	f.recv.took(u)
	before := f.frames
	f.decode(u)
	f.tellNetwork()
	return f.frames > before, f.failure
}

// stalled says that no picture came for d, and what came instead.
func (f *feed) stalled(d time.Duration) error {
	if f.trouble != nil {
		return fmt.Errorf("%w: no picture for %v, what came was not decoded: %w", ErrStalled, d, f.trouble)
	}
	return f.recv.silence(d)
}

// maxPending bounds the access units whose picture has not come out yet: H.264
// and H.265 reorder over 16 pictures at most.
const maxPending = 16

// decode decodes one access unit and emits its pictures.
func (f *feed) decode(u unit) {
	u.captured, u.clock = f.captured(u)
	f.src.cfg.Observer.Unit(Unit{
		Codec: f.recv.track.id, Data: u.data, Key: u.key, Params: u.params, Fresh: u.fresh, Ticks: u.ticks, Captured: u.captured,
	})
	if u.disposable && f.behind() {
		f.recv.missed.add(MissDisposable)
		f.tell(nil)
		return
	}
	if len(f.sent) > maxPending {
		clear(f.sent) // their pictures never came
	}
	f.sent[u.ticks] = u
	f.current = u
	began := time.Now()
	err := f.dec.Decode(u.data, u.ticks, f.emit)
	f.pace.add(began, time.Since(began))
	if err == nil {
		f.src.tellDeinterlaced(f.dec.Deinterlacing())
	}
	if on := f.decoding.on; on != f.dec.Device() {
		f.tellDecoder()
		f.recv.corrupt.Store(true) // software has not seen what this unit refers to
	}
	f.trouble = err
	switch {
	case err != nil:
		f.recv.missed.add(MissUndecodable)
		f.recv.corrupt.Store(true)
	case u.lower:
		f.recv.missed.add(MissUndecodable)
		err = errLower
	}
	f.tell(err)
}

// queueBehind is how many waiting units mean that decoding is behind: a third of a
// second of video.
const queueBehind = queueUnits / 4

// behind tells whether a unit to which no other refers had better be left out:
// because others wait for the decoder, or because frames that are there already
// wait for the sink and decoding costs enough to be worth that.
func (f *feed) behind() bool {
	return len(f.recv.units) >= queueBehind || f.pace.costly() && f.src.cfg.Observer.Behind()
}

// tell passes on how many units gave no frame; err is the newest of their errors,
// if it is known.
func (f *feed) tell(err error) {
	f.recv.missed.tell(func(why Miss, n int) {
		f.src.cfg.Observer.Missed(why, n)
		switch why {
		case MissLost:
			f.bad.Add(n, errLost)
		case MissUndecodable:
			f.bad.Add(n, err)
		case MissOverflow:
			f.bad.Add(n, errOverflow)
		case MissDisposable, MissNoKey: // nothing is wrong
		}
	})
}

// tellNetwork tells about once a second how packets came.
func (f *feed) tellNetwork() {
	if time.Since(f.networkAt) < time.Second {
		return
	}
	f.networkAt = time.Now()
	r := f.recv
	if came := int(r.came.Swap(0)); came > 0 {
		f.src.cfg.Observer.Packets(came, int(r.late.Swap(0)), int(r.lost.Swap(0)), time.Duration(r.interarrival.Load()))
	}
}

var (
	errLost     = errors.New("packets were lost")
	errLower    = errors.New("the highest spatial layer of the pictures is missing")
	errOverflow = errors.New("decoding fell behind")
)

// pace is how much of the time decoding takes. Its zero value is ready.
type pace struct {
	last       time.Time
	spent, all float64 // seconds, fading
}

// add takes a decoding that began at now and took d.
func (p *pace) add(now time.Time, d time.Duration) {
	const fades = 0.9
	if !p.last.IsZero() {
		p.spent = fades*p.spent + d.Seconds()
		p.all = fades*p.all + now.Sub(p.last).Seconds()
	}
	p.last = now
}

// costly: decoding takes more than a tenth of a core. 480p at 25 frames a second
// takes three hundredths; leaving out any of that would only make frames older.
func (p *pace) costly() bool { return 10*p.spent > p.all }

// emit turns a picture into a frame and hands it out.
func (f *feed) emit(pic *codec.Picture) {
	s := f.src
	u, ok := f.sent[pic.PTS]
	if !ok {
		u = f.current
	}
	delete(f.sent, pic.PTS)
	if u.lower {
		return
	}
	frame, err := s.decodedFrame(pic)
	if err != nil {
		f.failure = err
		return
	}
	frame.Damaged = frame.Damaged || u.damaged
	frame.Received = u.received
	// The unit that made the decoder give this picture has come in order, which one that
	// is shown before others that were sent first has not.
	frame.PTS = s.time.next(ticksToDuration(u.ticks), f.current.received)
	f.tellClocks()
	frame.Captured, frame.Clock = u.captured, u.clock
	if f.frames == 0 {
		f.onFirst()
	}
	f.frames++
	s.emit(frame, f.sink)
}

// clocks is what was logged of a camera's clocks.
type clocks struct{ byArrival, doubted bool }

// tellClocks says that a clock of the camera's is not believed, and that it is again.
func (f *feed) tellClocks() {
	s := f.src
	if now := s.time.byArrival; now != s.clocks.byArrival && s.cfg.Clock != clockArrival {
		s.clocks.byArrival = now
		if now {
			s.log.Warn("the camera's RTP time does not run as time passes: frames are timed by their arrival; clock: sender would follow it",
				"speed", math.Round(1000*s.time.speed)/1000)
		} else {
			s.log.Info("the camera's RTP time runs as time passes: it is followed again")
		}
	}
	if !s.clocks.doubted && f.recv.clock.doubted.Load() {
		s.clocks.doubted = true
		s.log.Warn("the camera's RTCP sender reports contradict each other: capture times are those of arrival while they do")
	}
}

// captured returns when a unit's picture was taken, and by whose clock.
func (f *feed) captured(u unit) (time.Time, Clock) {
	if u.sent.IsZero() || f.src.time.byArrival {
		return u.received, ClockArrival
	}
	offset := u.sent.Sub(u.received)
	if offset.Abs() > maxSenderOffset {
		return u.received, ClockArrival
	}
	if time.Since(f.offsetAt) >= time.Second {
		f.offsetAt = time.Now()
		f.src.cfg.Observer.ClockOffset(offset)
	}
	return u.sent, ClockSenderReport
}

// ticksToDuration splits seconds off so that years of ticks do not overflow.
func ticksToDuration(ticks int64) time.Duration {
	return time.Duration(ticks/ticksPerSecond)*time.Second +
		time.Duration(ticks%ticksPerSecond)*time.Second/ticksPerSecond
}
