package ingest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"
)

// unit is an access unit on its way from the network to the decoder.
type unit struct {
	data     []byte    // Annex-B
	ticks    int64     // RTP time, unwrapped, 90 kHz, counted from the first unit
	sent     time.Time // camera's clock by its sender reports; zero if unknown
	received time.Time
}

// queueUnits bounds the access units waiting for the decoder: about a second of
// video, so that the burst after a pause of this machine is not lost.
const queueUnits = 32

// receiver makes access units of the packets of one connection. handle is
// called by gortsplib's goroutine and never blocks; units and lost are read by
// the source's.
type receiver struct {
	track *track
	clock senderClock
	units chan unit
	lost  atomic.Int64 // access units thrown away since it was last read

	// The rest belongs to gortsplib's goroutine.
	running  bool // a unit to start from was queued and nothing was lost since
	started  bool
	lastTime uint32
	ticks    int64
}

func newReceiver(t *track) *receiver {
	return &receiver{track: t, units: make(chan unit, queueUnits)}
}

// handle takes one RTP packet.
func (r *receiver) handle(p *rtp.Packet) {
	au, err := r.track.depacketise(p)
	if err != nil {
		if !errors.Is(err, errIncomplete) && r.running {
			r.lost.Add(1)
		}
		return
	}
	start, params := r.track.randomAccess(au)
	if !r.running && !start {
		return // cannot be decoded: what it refers to never came
	}
	var first [][]byte
	if !r.running && !params {
		first = r.track.params
	}
	u := unit{data: annexB(first, au), ticks: r.unwrap(p.Timestamp), received: time.Now()}
	if t, ok := r.clock.at(p); ok {
		u.sent = t
	}
	select {
	case r.units <- u:
		r.running = true
	default:
		// The decoder does not keep up. What follows refers to what is lost here, so
		// go on at the next key frame.
		r.running = false
		r.lost.Add(1)
	}
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
