package ingest

import (
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/ntp"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// senderClock ties a camera's RTP time to its wall clock by its RTCP sender
// reports. Reports and packets come from different goroutines over UDP.
//
// gortsplib's own (Client.PacketNTP) drops a report that overtakes the first
// packet of its stream, and the next one comes seconds later; this one keeps it.
type senderClock struct {
	mu     sync.Mutex
	report *rtcp.SenderReport // the newest; nil before the first
}

// handle takes an RTCP packet.
func (c *senderClock) handle(p rtcp.Packet) {
	if sr, ok := p.(*rtcp.SenderReport); ok {
		c.mu.Lock()
		c.report = sr
		c.mu.Unlock()
	}
}

// at returns the camera's wall clock of an RTP packet, if it is known.
func (c *senderClock) at(p *rtp.Packet) (time.Time, bool) {
	c.mu.Lock()
	sr := c.report
	c.mu.Unlock()
	if sr == nil || sr.SSRC != p.SSRC || sr.NTPTime == 0 {
		return time.Time{}, false
	}
	since := int64(int32(p.Timestamp - sr.RTPTime)) // RTP time wraps
	return ntp.Decode(sr.NTPTime).Add(ticksToDuration(since)), true
}
