package ingest

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/rtpreceiver"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// reportEvery is how often a camera is told what came, by RFC 3550, section 6.2.
const reportEvery = 5 * time.Second

// reports tells a camera what came, where gortsplib does not: over TCP. Some cameras stop when they hear nothing.
type reports struct {
	format   format.Format
	receiver rtpreceiver.Receiver
}

// newReports begins to write reports about a stream. Close must follow.
func newReports(f format.Format, write func(rtcp.Packet) error) (*reports, error) {
	var ssrc [4]byte
	_, _ = rand.Read(ssrc[:]) // never fails
	r := &reports{format: f, receiver: rtpreceiver.Receiver{ClockRate: f.ClockRate(), LocalSSRC: binary.BigEndian.Uint32(ssrc[:]), Period: reportEvery}}
	name := rtcp.NewCNAMESourceDescription(r.receiver.LocalSSRC, rand.Text()) // section 6.1 wants one; RFC 7022: a short-term one
	r.receiver.WritePacketRTCP = func(p rtcp.Packet) {
		_ = write(&rtcp.CompoundPacket{p, name}) // an error is the connection's, which ends by it
	}
	return r, r.receiver.Initialize()
}

// came counts a packet.
func (r *reports) came(p *rtp.Packet) {
	r.receiver.ProcessPacket2(p, time.Now(), r.format.PTSEqualsDTS(p))
}

// heard takes what the camera reports, which is told back.
func (r *reports) heard(p rtcp.Packet) {
	if sr, is := p.(*rtcp.SenderReport); is {
		r.receiver.ProcessSenderReport(sr, time.Now())
	}
}

// Close ends the reports. It may be called on nil.
func (r *reports) Close() {
	if r != nil {
		r.receiver.Close()
	}
}
