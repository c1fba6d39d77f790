package ingest

import (
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/ntp"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

func newTestReceiver(t testing.TB, f format.Format) *receiver {
	t.Helper()
	tr, err := newTrack(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return newReceiver(tr)
}

func h264Packet(seq uint16, ts uint32, nalu ...byte) *rtp.Packet {
	return &rtp.Packet{Header: rtp.Header{Version: 2, Marker: true, PayloadType: 96, SequenceNumber: seq, Timestamp: ts, SSRC: 7}, Payload: nalu}
}

// When the decoder does not keep up, what is lost is counted and reception goes
// on with a key frame.
func TestOverflow(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PayloadTyp: 96, PacketizationMode: 1})
	seq := uint16(0)
	send := func(first byte) {
		seq++
		r.handle(h264Packet(seq, uint32(seq)*3000, first, 1, 2))
	}
	send(0x41) // before any key frame
	if len(r.units) != 0 || r.lost.Load() != 0 {
		t.Fatalf("%d units queued, %d lost before the first key frame", len(r.units), r.lost.Load())
	}
	send(0x65)
	for range queueUnits + 5 {
		send(0x41)
	}
	if len(r.units) != queueUnits || r.lost.Load() != 1 {
		t.Fatalf("%d units queued, %d lost; want %d and 1", len(r.units), r.lost.Load(), queueUnits)
	}
	for len(r.units) > 0 {
		<-r.units
	}
	send(0x41)
	if len(r.units) != 0 {
		t.Error("a unit whose reference was lost was queued")
	}
	send(0x65)
	send(0x41)
	if len(r.units) != 2 {
		t.Errorf("%d units queued after the key frame, want 2", len(r.units))
	}
}

// RTP time wraps after 13 hours.
func TestUnwrap(t *testing.T) {
	r := &receiver{}
	var got []int64
	for _, ts := range []uint32{1<<32 - 6000, 1<<32 - 3000, 0, 3000, 1 << 31, 0xfffffff0, 5} {
		got = append(got, r.unwrap(ts))
	}
	want := []int64{0, 3000, 6000, 9000, 6000 + 1<<31, 6000 + 1<<32 - 16, 6000 + 1<<32 + 5}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestSenderClock(t *testing.T) {
	var c senderClock
	p := h264Packet(1, 90000, 0x65)
	if _, ok := c.at(p); ok {
		t.Error("a time without a report")
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.handle(&rtcp.ReceiverReport{})
	c.handle(&rtcp.SenderReport{SSRC: 7, NTPTime: ntp.Encode(now), RTPTime: 45000})
	if got, ok := c.at(p); !ok || got.Sub(now.Add(500*time.Millisecond)).Abs() > time.Microsecond {
		t.Errorf("got %v %v, want half a second after %v", got, ok, now)
	}
	p.Timestamp = 0 // before the report
	if got, ok := c.at(p); !ok || got.Sub(now.Add(-500*time.Millisecond)).Abs() > time.Microsecond {
		t.Errorf("got %v %v, want half a second before %v", got, ok, now)
	}
	p.SSRC = 8
	if _, ok := c.at(p); ok {
		t.Error("a time by another stream's report")
	}
}

// A camera whose clock was never set does not name the capture time.
func TestAbsurdSenderClock(t *testing.T) {
	now := time.Now()
	ss := &session{src: &Source{}}
	for _, tc := range []struct {
		sent time.Time
		want Clock
	}{
		{time.Time{}, ClockArrival},
		{now.Add(-time.Minute), ClockSenderReport},
		{time.Unix(3600, 0), ClockArrival},
		{now.Add(48 * time.Hour), ClockArrival},
	} {
		at, clock := ss.captured(unit{sent: tc.sent, received: now})
		if clock != tc.want || clock == ClockArrival && at != now {
			t.Errorf("sent %v: captured %v by %v, want by %v", tc.sent, at, clock, tc.want)
		}
	}
}

// FuzzReceive feeds hostile RTP payloads, as they come off the network, through
// depacketising and decoding.
func FuzzReceive(f *testing.F) {
	for _, p := range packets(f, codec.EncoderConfig{Width: 64, Height: 48, FPS: 5}, 2) {
		var fm format.H264
		fm.PacketizationMode = 1
		enc, err := fm.CreateEncoder()
		if err != nil {
			f.Fatal(err)
		}
		pkts, err := enc.Encode(splitNALUs(p.Data))
		if err != nil {
			f.Fatal(err)
		}
		for _, pkt := range pkts {
			f.Add(false, pkt.Payload, pkt.Payload)
		}
	}
	f.Add(false, []byte{0x18, 0, 1, 0x65, 0, 2, 0x41, 0}, []byte{0x7c, 0x85, 1, 2})
	f.Add(false, []byte{0x7c, 0x85}, []byte{0x7c, 0x45})
	f.Add(false, []byte{}, []byte{0x1c})
	f.Add(true, []byte{0x60, 1, 0, 2, 0x26, 1}, []byte{0x62, 1, 0x93, 1})
	f.Add(true, []byte{0x26}, []byte{0x26, 1, 0xaf})
	f.Fuzz(func(t *testing.T, h265 bool, a, b []byte) {
		var fm format.Format = &format.H264{PayloadTyp: 96, PacketizationMode: 1}
		if h265 {
			fm = &format.H265{PayloadTyp: 96}
		}
		r := newTestReceiver(t, fm)
		dec, err := codec.NewDecoder(r.track.id)
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		for i, payload := range [][]byte{a, b, a} {
			r.handle(h264Packet(uint16(i), uint32(i)*3000, payload...))
		}
		for len(r.units) > 0 {
			u := <-r.units
			_ = dec.Decode(u.data, u.ticks, func(p *codec.Picture) {
				if p.Width > codec.MaxSide || p.Height > codec.MaxSide {
					t.Fatalf("picture of %dx%d", p.Width, p.Height)
				}
			})
		}
	})
}
