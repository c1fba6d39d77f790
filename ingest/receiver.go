package ingest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"
)

// unit is an access unit on its way from the network to the decoder.
type unit struct {
	data     []byte    // as codec.Decoder wants it
	ticks    int64     // RTP time, unwrapped, 90 kHz, counted from the first unit
	sent     time.Time // camera's clock by its sender reports; zero if unknown
	received time.Time
	damaged  bool // it, or what it refers to, was not received whole
	// disposable: no other unit refers to it.
	disposable bool
	// lower: it lacks the highest spatial layer.
	lower bool
	// key: pictures are whole from it on. params are then the newest parameter sets.
	key    bool
	params [][]byte
	// fresh: it does not follow on the unit before, or there is none.
	fresh bool

	captured time.Time // when its picture was taken, by clock; set by the feed
	clock    Clock
}

// queueUnits bounds the access units waiting for the decoder: about a second of
// video, so that the burst after a pause of this machine is not lost.
const queueUnits = 32

const (
	// queueBytes bounds the same in bytes: a hostile camera's access units are of up
	// to 8 MiB, which is the depacketisers' limit.
	queueBytes = 32 << 20

	// maxPackets bounds the packets of one access unit that is not complete. The
	// depacketisers count bytes, and keep the whole buffer of a packet of which they
	// use none. 8 MiB are 6,000 packets of the usual size.
	maxPackets = 16384
)

// errEndless: maxPackets came and the access unit they are of did not end.
var errEndless = fmt.Errorf("an access unit of more than %d packets", maxPackets)

// receiver makes access units of the packets of one connection. handle and gap
// are called by the goroutine that reads the network and never block; units and
// missed are read by the source's.
type receiver struct {
	track        *track
	clock        senderClock
	units        chan unit
	began        chan struct{}         // closed when the first unit is there
	alive        chan struct{}         // has a value when the camera has said that it has no newer picture
	bytes        atomic.Int64          // of units
	missed       misses                // access units that will not come
	why          atomic.Pointer[error] // what was wrong with packets since the last good unit
	corrupt      atomic.Bool           // the decoder could not use a unit
	interarrival atomic.Int64          // jitter, nanoseconds
	// keyless counts the access units that came and could not be decoded because there was
	// none to start from before them.
	keyless atomic.Int64
	// refreshing is how many more units it takes until pictures are whole, where they are
	// renewed piece by piece; 0 if that is not going on.
	refreshing atomic.Int64
	// refused is why none of the packets will ever make a picture; at most one value.
	refused chan error
	// Packets, until they are told.
	came, late, lost atomic.Int64
	// refresh asks the sender for a key frame; nil where that cannot be done. It is
	// called with every packet until the key frame is there.
	refresh func()

	// The rest belongs to the goroutine that reads the network.
	running  bool  // a unit to start from was queued and none was thrown away since
	full     bool  // there was no room for a unit since the last one to start from
	damaged  bool  // something was lost since the last unit to start from
	from     int64 // time of the unit from which on pictures are whole
	layers   topLayer
	leading  int    // how many more units may be shown before that one, and are not
	gapped   bool   // packets before the next one never came
	faulty   bool   // the unit at faultAt was counted as lost
	faultAt  uint32 // RTP time
	packets  int    // of the access unit that is not complete
	started  bool
	lastTime uint32
	ticks    int64
	queued   bool // a unit was
	jitter   jitter
}

func newReceiver(t *track) *receiver {
	return &receiver{track: t, units: make(chan unit, queueUnits), began: make(chan struct{}), refused: make(chan error, 1), alive: make(chan struct{}, 1)}
}

// gap says that packets before the next one never came and will not come.
func (r *receiver) gap() { r.gapped = true }

// handle takes one RTP packet.
func (r *receiver) handle(p *rtp.Packet) {
	r.came.Add(1)
	r.interarrival.Store(int64(r.jitter.add(p.Timestamp, time.Now())))
	if r.gapped {
		r.gapped = false
		r.track.reset() // what it holds will never be whole
		r.packets = 0
		r.fault(p.Timestamp)
	}
	if r.corrupt.Swap(false) {
		r.damage()
	}
	r.assemble(p)
	if r.refresh != nil && (!r.running || r.damaged) {
		r.refresh()
	}
}

// damage says that pictures are not whole from now on.
func (r *receiver) damage() {
	r.damaged = true
	r.refreshing.Store(0)
}

// fault counts the access unit at RTP time t as lost, once.
func (r *receiver) fault(t uint32) {
	if !r.running || r.faulty && r.faultAt == t {
		return
	}
	r.faulty, r.faultAt = true, t
	r.damage()
	r.missed.add(MissLost)
}

func (r *receiver) assemble(p *rtp.Packet) {
	au, err := r.track.depacketise(p)
	r.packets++
	if errors.Is(err, errIncomplete) {
		if r.packets < maxPackets {
			return
		}
		r.track.reset()
		err = errEndless
	}
	r.packets = 0
	if err != nil {
		why := err // on the heap, which err is not
		r.why.Store(&why)
		if errors.Is(err, ErrCodec) && !r.queued {
			r.refuse(err)
		}
		r.fault(p.Timestamp)
		return
	}
	e := r.track.entry(au)
	if !r.running && !e.ok { // what it refers to never came
		r.why.Store(nil)
		r.keyless.Add(1)
		if r.full {
			r.missed.add(MissOverflow)
		} else {
			r.missed.add(MissNoKey)
		}
		return
	}
	u := unit{ticks: r.unwrap(p.Timestamp), received: time.Now(), disposable: !e.ok && r.track.disposable(au, p), fresh: !r.running}
	if e.ok && e.refresh == 0 {
		u.key, u.params = true, slices.Clone(r.track.params)
	}
	var first [][]byte
	if !r.running {
		first = r.track.params
	}
	if e.unmarked && (r.damaged || !r.running) {
		first = append(slices.Clone(first), markEntry)
	}
	u.data = r.track.join(first, au)
	r.mend(e, u, p.Timestamp)
	u.lower = r.track.layer != nil && r.layers.missing(r.track.layer(au), u.ticks, e.ok)
	u.damaged = r.damaged || r.leading > 0 && u.ticks < r.from
	r.leading = max(r.leading-1, 0)
	if t, ok := r.clock.at(p, u.received); ok {
		u.sent = t
	}
	if !r.queue(u) {
		// The decoder does not keep up. What follows refers to what is lost here, so
		// go on at the next key frame.
		r.running, r.full = false, true
		return
	}
	r.running, r.full = true, false
	r.why.Store(nil)
}

// refuse says why there is no use in waiting for a picture.
func (r *receiver) refuse(err error) {
	select {
	case r.refused <- err:
	default: // it was said
	}
}

// mend notes what the unit u at RTP time t, where decoding may start, makes whole again.
func (r *receiver) mend(e entry, u unit, t uint32) {
	starts := e.ok && (!r.faulty || r.faultAt != t)
	left := r.refreshing.Load()
	if starts && !r.running {
		left = 0 // what went on was thrown away
	}
	switch {
	case starts && e.refresh == untilNext && left > maxRefresh:
		r.damaged, left = false, 0
	case starts && e.refresh == 0:
		if r.damaged || !r.running {
			r.from, r.leading = u.ticks, maxPending
		}
		r.damaged, left = false, 0
	case starts && left == 0 && (r.damaged || !r.running):
		r.damaged, left = true, int64(e.refresh)
	case left > 0 && !u.disposable:
		left--
		r.damaged = left > 0
	}
	r.refreshing.Store(left)
	// That unit is over; the next one may be of the same time, as some cameras have it.
	r.faulty = r.faulty && r.faultAt != t
}

// queue hands u to the decoder unless too much is waiting, which is counted.
func (r *receiver) queue(u unit) bool {
	n := int64(len(u.data))
	if r.bytes.Add(n) <= queueBytes {
		select {
		case r.units <- u:
			if !r.queued {
				r.queued = true
				close(r.began)
			}
			return true
		default:
		}
	}
	r.bytes.Add(-n)
	r.missed.add(MissOverflow)
	return false
}

// sayAlive says that there is no newer picture, and nothing wrong.
func (r *receiver) sayAlive() {
	select {
	case r.alive <- struct{}{}:
	default:
	}
}

// took says that u has left the queue.
func (r *receiver) took(u unit) { r.bytes.Add(-int64(len(u.data))) }

// trouble is what was wrong with the newest packets; nil if nothing was.
func (r *receiver) trouble() error {
	if err := r.why.Load(); err != nil {
		return *err
	}
	return nil
}

// unwrap turns RTP's 32-bit time into one that does not wrap.
func (r *receiver) unwrap(t uint32) int64 {
	if r.started {
		r.ticks += int64(int32(t - r.lastTime))
	}
	r.started = true
	r.lastTime = t
	return r.ticks
}

// jitter is how unevenly packets come, by RFC 3550, section 6.4.1. Its zero value
// is ready.
type jitter struct {
	at    time.Time // of the last packet
	stamp uint32    // its RTP time
	mean  float64   // nanoseconds
}

// add takes a packet of the RTP time stamp that came at now, and returns the
// jitter.
func (j *jitter) add(stamp uint32, now time.Time) time.Duration {
	if !j.at.IsZero() {
		sent := ticksToDuration(int64(int32(stamp - j.stamp)))
		j.mean += (float64((now.Sub(j.at) - sent).Abs()) - j.mean) / 16
	}
	j.at, j.stamp = now, stamp
	return time.Duration(j.mean)
}
