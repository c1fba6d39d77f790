package whip

import (
	"time"

	"github.com/pion/rtp"

	"github.com/segd/segd/ingest"
)

const (
	// holdPackets bounds the packets that wait for one before them: with 1,200 bytes
	// each, half a second of 20 Mbit/s.
	holdPackets = 1024
	// holdTime is how long they wait: ten rounds of asking again.
	holdTime = 10 * askEvery
)

// reorder puts the packets of one stream in order. A packet that is missing is
// waited for until one behind it has waited for holdTime, or is holdPackets away.
// The zero value is ready. It is used by one goroutine.
type reorder struct {
	started bool
	next    uint16 // sequence number of the packet to hand out next
	out     uint16 // its sequence number as handed out
	lost    int    // packets before it that were given up
	newest  uint16 // highest sequence number of this run of numbers
	stray   uint16 // what follows a number that is not of this run
	strayed bool
	waiting int // how many are held
	held    [holdPackets]heldPacket

	stats reorderStats
}

type heldPacket struct {
	packet *rtp.Packet
	at     time.Time
	late   bool // others behind it came first
}

// reorderStats says how a stream fared.
type reorderStats struct {
	Packets   int           // handed out
	Late      int           // came after ones behind them, in time
	Lost      int           // never came, or too late
	Repeated  int           // came twice, or too late
	LongestAt time.Duration // the longest any packet was held
}

// push takes a packet that came at now, and calls emit for each packet that is
// next in order. What it hands out is numbered anew, so that packets without payload, which senders use to probe the
// way, leave no hole.
func (r *reorder) push(p *rtp.Packet, now time.Time, emit func(ingest.Packet)) {
	if !r.started {
		r.started = true
		r.next, r.out, r.newest = p.SequenceNumber, p.SequenceNumber, p.SequenceNumber
	}
	ahead := int(int16(p.SequenceNumber - r.next))
	if ahead >= holdPackets || ahead < -holdPackets {
		// One that is far off may be very late; two in a row are a new run of numbers
		// (RFC 3550, appendix A.1).
		if !r.strayed || p.SequenceNumber != r.stray {
			r.strayed, r.stray = true, p.SequenceNumber+1
			r.stats.Repeated++
			return
		}
		r.skip(holdPackets, now, emit)
		r.give(1)
		r.next, r.newest, ahead = p.SequenceNumber, p.SequenceNumber, 0
	}
	r.strayed = false
	if ahead < 0 {
		r.stats.Repeated++
		return
	}
	slot := &r.held[p.SequenceNumber%holdPackets]
	if slot.packet != nil {
		r.stats.Repeated++
		return
	}
	late := int16(p.SequenceNumber-r.newest) < 0
	if late {
		r.stats.Late++
	} else {
		r.newest = p.SequenceNumber
	}
	*slot = heldPacket{p, now, late}
	r.waiting++
	r.drain(now, emit)
	for r.waiting > 0 && now.Sub(r.oldest()) >= holdTime {
		r.skip(1, now, emit)
	}
}

// oldest is when the packet that has waited longest came. There is one.
func (r *reorder) oldest() time.Time {
	var oldest time.Time
	for i, left := r.next, r.waiting; left > 0; i++ {
		if h := &r.held[i%holdPackets]; h.packet != nil {
			left--
			if oldest.IsZero() || h.at.Before(oldest) {
				oldest = h.at
			}
		}
	}
	return oldest
}

// skip gives up the hole before the first packet that waits and hands out what
// follows, for up to n holes.
func (r *reorder) skip(n int, now time.Time, emit func(ingest.Packet)) {
	for ; n > 0 && r.waiting > 0; n-- {
		for r.held[r.next%holdPackets].packet == nil {
			r.next++
			r.give(1)
		}
		r.drain(now, emit)
	}
}

// give counts n packets as lost.
func (r *reorder) give(n int) {
	r.lost += n
	r.out += uint16(n)
	r.stats.Lost += n
}

// drain hands out packets up to the next hole.
func (r *reorder) drain(now time.Time, emit func(ingest.Packet)) {
	for {
		h := &r.held[r.next%holdPackets]
		p := h.packet
		if p == nil {
			return
		}
		out := ingest.Packet{Packet: p, Late: h.late, Held: now.Sub(h.at)}
		r.stats.LongestAt = max(r.stats.LongestAt, out.Held)
		*h = heldPacket{}
		r.waiting--
		r.next++
		if len(p.Payload) == 0 {
			continue
		}
		p.SequenceNumber = r.out
		r.out++
		r.stats.Packets++
		out.Lost, r.lost = r.lost, 0
		emit(out)
	}
}
