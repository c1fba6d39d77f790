package ingest

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	// reportEvery is how often a camera is told what came, by RFC 3550, section 6.2.
	reportEvery = 5 * time.Second
	// maxMisorder is by how many packets one may be late; a number further back begins another count (appendix A.1).
	maxMisorder = 100
	// mostLost is what 24 bits hold.
	mostLost = 1<<24 - 1
)

// reports tells a camera what came, where gortsplib does not: over TCP. Some cameras stop when they hear nothing.
// gortsplib's rtpreceiver makes the same reports, and a list for each packet.
type reports struct {
	format format.Format
	own    uint32 // SSRC
	name   *rtcp.SourceDescription
	write  func(rtcp.Packet) error

	stop   chan struct{}
	joined sync.WaitGroup

	mu       sync.Mutex // guards what follows
	of       uint32     // SSRC of what comes
	began    bool
	first    int64 // sequence number, and that of the newest, which does not wrap
	last     int64
	received int64
	// told are the packets that there should have been until the last report, and toldReceived those that there were.
	told, toldReceived int64
	jitter             jitter
	interarrival       time.Duration // jitter (section 6.4.1)
	sent               uint32        // middle of the NTP time of the camera's newest report
	heardAt            time.Time     // when that came; zero: none did
}

// newReports begins to write reports about a stream. Close must follow.
func newReports(f format.Format, write func(rtcp.Packet) error) *reports {
	var ssrc [4]byte
	_, _ = rand.Read(ssrc[:]) // never fails
	r := &reports{format: f, own: binary.BigEndian.Uint32(ssrc[:]), write: write, stop: make(chan struct{})}
	r.name = rtcp.NewCNAMESourceDescription(r.own, rand.Text()) // section 6.1 wants one; RFC 7022: a short-term one
	r.joined.Go(r.run)
	return r
}

func (r *reports) run() {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		if report := r.report(time.Now()); report != nil {
			_ = r.write(&rtcp.CompoundPacket{report, r.name}) // an error is the connection's, which ends by it
		}
	}
}

// came counts a packet.
func (r *reports) came(p *rtp.Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ahead := p.SequenceNumber - uint16(r.last); {
	case !r.began || r.of != p.SSRC || ahead >= 1<<15 && -ahead > maxMisorder:
		r.began, r.of = true, p.SSRC
		r.first, r.last = int64(p.SequenceNumber), int64(p.SequenceNumber)
		r.received, r.told, r.toldReceived, r.jitter, r.interarrival = 0, 0, 0, jitter{}, 0
	case ahead < 1<<15:
		r.last += int64(ahead)
	}
	r.received++
	if r.format.PTSEqualsDTS(p) {
		r.interarrival = r.jitter.add(p.Timestamp, time.Now())
	}
}

// heard takes what the camera reports, which is told back.
func (r *reports) heard(p rtcp.Packet) {
	if sr, is := p.(*rtcp.SenderReport); is {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent, r.heardAt = uint32(sr.NTPTime>>16), time.Now()
	}
}

// report is what came until now (section 6.4.2, appendix A.3); nil before the first packet.
func (r *reports) report(now time.Time) *rtcp.ReceiverReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began {
		return nil
	}
	expected := r.last - r.first + 1
	about := rtcp.ReceptionReport{
		SSRC:               r.of,
		LastSequenceNumber: uint32(r.last),
		TotalLost:          uint32(min(max(0, expected-r.received), mostLost)),
		Jitter:             uint32(r.interarrival.Seconds() * ticksPerSecond),
	}
	if since := expected - r.told; since > 0 {
		about.FractionLost = uint8(min(max(0, since-(r.received-r.toldReceived))*256/since, 255))
	}
	r.told, r.toldReceived = expected, r.received
	if !r.heardAt.IsZero() {
		about.LastSenderReport, about.Delay = r.sent, uint32(now.Sub(r.heardAt).Seconds()*(1<<16))
	}
	return &rtcp.ReceiverReport{SSRC: r.own, Reports: []rtcp.ReceptionReport{about}}
}

// Close ends the reports. It may be called on nil.
func (r *reports) Close() {
	if r != nil {
		close(r.stop)
		r.joined.Wait()
	}
}
