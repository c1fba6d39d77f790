package ingest

import (
	"maps"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/ntp"
	"github.com/bluenviron/gortsplib/v5/pkg/sdpunmarshaler"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
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
	count := func(want map[Miss]int) {
		t.Helper()
		got := map[Miss]int{}
		r.gone.tell(func(why Miss, n int) { got[why] = n })
		if !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
	}
	if len(r.units) != 0 {
		t.Fatalf("%d units queued before the first key frame", len(r.units))
	}
	count(map[Miss]int{MissNoKey: 1})
	send(0x65)
	for range queueUnits + 5 {
		send(0x41)
	}
	if len(r.units) != queueUnits {
		t.Fatalf("%d units queued, want %d", len(r.units), queueUnits)
	}
	count(map[Miss]int{MissOverflow: 6}) // the key frame was one of the queue
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
	count(map[Miss]int{MissOverflow: 1})
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
	f := &feed{src: &Source{}}
	for _, tc := range []struct {
		sent time.Time
		want Clock
	}{
		{time.Time{}, ClockArrival},
		{now.Add(-time.Minute), ClockSenderReport},
		{time.Unix(3600, 0), ClockArrival},
		{now.Add(48 * time.Hour), ClockArrival},
	} {
		at, clock := f.captured(unit{sent: tc.sent, received: now})
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
			f.Add(uint8(codec.H264), pkt.Payload, pkt.Payload)
		}
	}
	f.Add(uint8(codec.H264), []byte{0x18, 0, 1, 0x65, 0, 2, 0x41, 0}, []byte{0x7c, 0x85, 1, 2})
	f.Add(uint8(codec.H264), []byte{0x7c, 0x85}, []byte{0x7c, 0x45})
	f.Add(uint8(codec.H264), []byte{}, []byte{0x1c})
	f.Add(uint8(codec.H265), []byte{0x60, 1, 0, 2, 0x26, 1}, []byte{0x62, 1, 0x93, 1})
	f.Add(uint8(codec.H265), []byte{0x26}, []byte{0x26, 1, 0xaf})
	f.Add(uint8(codec.VP8), []byte{0x10, 0x10, 2, 0, 0x9d, 1, 0x2a, 0x40, 0, 0x30, 0}, []byte{0, 1})
	f.Add(uint8(codec.VP9), []byte{0x0c, 0x82, 0x49, 0x83, 0x42}, []byte{0x08, 0})
	f.Add(uint8(codec.AV1), []byte{0x18, 0x0a, 0x0b, 0, 0, 0, 4}, []byte{0xc0, 0x36, 0xff})
	f.Fuzz(func(t *testing.T, id uint8, a, b []byte) {
		fm := formatOf(codec.ID(id))
		if fm == nil {
			return
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

// Each codec from RTP to pictures. A gap costs one access unit, is counted once,
// asks for a key frame, and what follows is called damaged until there is one.
func TestGap(t *testing.T) {
	av1Parts := func(tu []byte) [][]byte {
		var b av1.Bitstream
		if err := b.Unmarshal(tu); err != nil {
			t.Fatal(err)
		}
		return b
	}
	const frames, gop, hurt = 14, 5, 7
	for _, id := range []codec.ID{codec.H264, codec.H265, codec.VP8, codec.VP9, codec.AV1} {
		t.Run(id.String(), func(t *testing.T) {
			cfg := codec.EncoderConfig{Codec: id, Width: 320, Height: 240, FPS: 25, GOP: gop, CRF: 5}
			var pack func(p codec.Packet) ([]*rtp.Packet, error)
			f := formatOf(id)
			switch f := f.(type) {
			case *format.H264:
				enc, _ := f.CreateEncoder()
				pack = func(p codec.Packet) ([]*rtp.Packet, error) { return enc.Encode(splitNALUs(p.Data)) }
			case *format.H265:
				enc, _ := f.CreateEncoder()
				pack = func(p codec.Packet) ([]*rtp.Packet, error) { return enc.Encode(splitNALUs(p.Data)) }
			case *format.VP8:
				enc, _ := f.CreateEncoder()
				pack = func(p codec.Packet) ([]*rtp.Packet, error) { return enc.Encode(p.Data) }
			case *format.VP9:
				enc, _ := f.CreateEncoder()
				pack = func(p codec.Packet) ([]*rtp.Packet, error) { return enc.Encode(p.Data) }
			case *format.AV1:
				enc, _ := f.CreateEncoder()
				pack = func(p codec.Packet) ([]*rtp.Packet, error) { return enc.Encode(av1Parts(p.Data)) }
			}
			r := newTestReceiver(t, f)
			asked := 0
			r.refresh = func() { asked++ }
			for i, p := range packets(t, cfg, frames) {
				if p.Key != (i%gop == 0) {
					t.Fatalf("packet %d: key frame %v", i, p.Key)
				}
				pkts, err := pack(p)
				if err != nil {
					t.Fatal(err)
				}
				before := asked
				for j, pkt := range pkts {
					pkt.Timestamp = uint32(i) * 3600
					if i == hurt && j == len(pkts)-1 {
						r.gap() // the last one never came
						continue
					}
					r.handle(pkt)
				}
				if damaged := i > hurt && i < 10; (asked > before) != damaged && i != hurt && i%gop != 0 {
					t.Errorf("unit %d: asked %d times for a key frame", i, asked-before)
				}
			}
			if n := r.gone[MissLost].Load(); n != 1 {
				t.Errorf("%d units lost, want 1", n)
			}
			dec, err := codec.NewDecoder(id)
			if err != nil {
				t.Fatal(err)
			}
			defer dec.Close()
			got := map[int]bool{}
			for len(r.units) > 0 {
				u := <-r.units
				i := int(u.ticks / 3600)
				if damaged := i > hurt && i < 10; u.damaged != damaged {
					t.Errorf("unit %d: damaged %v", i, u.damaged)
				}
				err := dec.Decode(u.data, u.ticks, func(p *codec.Picture) {
					f := &Frame{Width: p.Width, Height: p.Height, Pix: make([]byte, 3*p.Width*p.Height)}
					if err := p.BGR(f.Pix); err != nil {
						t.Fatal(err)
					}
					if !u.damaged && number(f) != i {
						t.Errorf("unit %d shows picture %d", i, number(f))
					}
					got[i] = true
				})
				if err != nil && !u.damaged {
					t.Errorf("unit %d: %v", i, err)
				}
			}
			for i := range frames {
				if i < hurt && !got[i] || i == hurt && got[i] || i >= 10 && !got[i] {
					t.Errorf("picture %d: %v", i, got[i])
				}
			}
		})
	}
}

// FuzzDescription reads hostile session descriptions as a camera would answer
// them: a track that can be decoded, or an error, and packets do it no harm.
func FuzzDescription(f *testing.F) {
	head := "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
	for _, media := range []string{
		"m=video 0 RTP/AVP 96\r\na=control:trackID=0\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0IAHtoCgPaAbUKBwA==,aM4yyA==\r\n",
		"m=video 0 RTP/AVP 97\r\na=rtpmap:97 H265/90000\r\na=fmtp:97 sprop-vps=QAEMAf//;sprop-sps=QgEBAWA=;sprop-pps=RAHA\r\n",
		"m=audio 0 RTP/AVP 0\r\nm=video 0 RTP/AVP 26\r\n",
		"m=video 0 RTP/AVP 98\r\na=rtpmap:98 VP9/90000\r\nm=video 0 RTP/AVP 99\r\na=rtpmap:99 AV1/90000\r\n",
	} {
		f.Add([]byte(head+media), []byte{0x65, 0x88, 0x84})
	}
	f.Fuzz(func(t *testing.T, text, payload []byte) {
		raw, err := sdpunmarshaler.Unmarshal(text)
		if err != nil {
			return
		}
		var desc description.Session
		if desc.Unmarshal2(raw) != nil {
			return
		}
		tr, err := pickTrack(&desc)
		if err != nil {
			return
		}
		tr.describe(text)
		r := newReceiver(tr)
		for i := range uint16(3) {
			r.handle(h264Packet(i, uint32(i)*3000, payload...))
		}
		dec, err := codec.NewDecoder(tr.id)
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		for len(r.units) > 0 {
			u := <-r.units
			_ = dec.Decode(u.data, u.ticks, func(*codec.Picture) {})
		}
	})
}
