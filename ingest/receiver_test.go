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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

func newTestReceiver(t testing.TB, f format.Format) *receiver {
	t.Helper()
	tr, err := newTrack(nil, f)
	require.NoError(t, err)
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
		r.missed.tell(func(why Miss, n int) { got[why] = n })
		if !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
	}
	require.Len(t, r.units, 0, "units queued before the first key frame")
	count(map[Miss]int{MissNoKey: 1})
	send(0x65)
	for range queueUnits + 5 {
		send(0x41)
	}
	require.Len(t, r.units, queueUnits, "units queued")
	count(map[Miss]int{MissOverflow: 6}) // the key frame was one of the queue
	for len(r.units) > 0 {
		<-r.units
	}
	send(0x41)
	assert.Len(t, r.units, 0, "a unit whose reference was lost was queued")
	send(0x65)
	send(0x41)
	assert.Len(t, r.units, 2, "units queued after the key frame")
	count(map[Miss]int{MissOverflow: 1})
}

// What is allocated is the access unit for the decoder, the list that it is joined of, a slice's head, and what the depacketiser makes: the
// list of its parts, and of one that comes in fragments these joined, and twice more. A fragment alone costs nothing.
func TestReceiverAllocs(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PayloadTyp: 96, PacketizationMode: 1})
	seq, ts := uint16(0), uint32(0)
	p := new(rtp.Packet)
	send := func(marker bool, payload ...byte) {
		seq++
		p.SequenceNumber, p.Timestamp, p.Marker = seq, ts, marker
		p.Payload = append(p.Payload[:0], payload...)
		r.handle(p)
	}
	send(true, 0x65, 0x88, 0x80)
	drain := func() {
		for len(r.units) > 0 {
			r.took(<-r.units)
		}
	}
	const fuA = 28 // RFC 6184, section 5.8
	if n := testing.AllocsPerRun(100, func() {
		ts += 3000
		send(true, 0x41, 0x9a, 1)
		drain()
	}); n > 5 {
		t.Errorf("%v allocations for an access unit of a packet", n)
	}
	send(false, 0x60|fuA, 0x80|1, 0x9a)
	if n := testing.AllocsPerRun(100, func() { send(false, 0x60|fuA, 1, 1, 2, 3) }); n > 0 {
		t.Errorf("%v allocations for a fragment", n)
	}
	send(true, 0x60|fuA, 0x40|1, 4)
	assert.Len(t, r.units, 1, "access units of fragments")
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
		require.Equal(t, want[i], got[i], "got %v, want %v", got, want)
	}
}

// Sender reports are used while they agree with this machine's clock, or with each other,
// and with the packets; a packet whose RTP time is not its neighbours' does not name its time.
func TestSenderClock(t *testing.T) {
	const s = time.Second
	// A report with the camera's clock, the RTP time and the time of arrival, each since the
	// camera was switched on.
	type sent struct{ ntp, rtp, at time.Duration }
	every := func(d time.Duration, n int, one func(at time.Duration) sent) (out []sent) {
		for i := range n {
			out = append(out, one(time.Duration(i)*d))
		}
		return out
	}
	off := func(clock time.Duration) func(time.Duration) sent {
		return func(at time.Duration) sent { return sent{at + clock, at, at} }
	}
	for _, tc := range []struct {
		name    string
		reports []sent
		rtp, at time.Duration // of the packet
		want    time.Duration // its time less that of its arrival
		ok      bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"one", []sent{{0, 0, 0}}, s / 2, s / 2, 0, true},
		{"one, and a packet of before it", []sent{{0, 0, 0}}, -s / 2, 0, -s / 2, true},
		{"one, of a clock a second ahead", []sent{{s, 0, 0}}, s / 2, s / 2, s, true},
		{"one, of a clock hours off", []sent{{7 * time.Hour, 0, 0}}, s / 2, s / 2, 0, false},
		{"two, of a clock hours off", every(5*s, 2, off(-7*time.Hour)), 6 * s, 6 * s, -7 * time.Hour, true},
		{"two, at once", every(s/10, 2, off(-7*time.Hour)), s, s, 0, false},
		{"many", every(2*s, 1000, off(time.Hour)), 2000 * s, 2000 * s, time.Hour, true},
		{"a packet that is late", every(5*s, 2, off(0)), 6 * s, 9 * s, -3 * s, true},
		{"an encoder that looks ahead", every(5*s, 20, off(0)), 79 * s, 99 * s, -20 * s, true},
		{"a packet that is early", every(5*s, 20, off(0)), 109 * s, 99 * s, 0, false},
		{"RTP time is 0", every(2*s, 2, func(at time.Duration) sent { return sent{at, 0, at} }), 2 * s, 2 * s, 0, false},
		{"RTP time is 0, each second", every(s, 10, func(at time.Duration) sent { return sent{at, 0, at} }), 9 * s, 9 * s, 0, false},
		{"RTP time is 0, and packets count from elsewhere", []sent{{0, 0, 0}}, 5 * time.Hour, 0, 0, false},
		{"RTP time is that of the clock", every(5*s, 3, func(at time.Duration) sent { return sent{at, 3*time.Hour + at, at} }), 10 * s, 10 * s, 0, false},
		{"RTP time runs double", every(5*s, 20, func(at time.Duration) sent { return sent{at, 2 * at, at} }), 190 * s, 95 * s, 0, false},
		{"RTP time runs half", every(2*s, 20, func(at time.Duration) sent { return sent{at, at / 2, at} }), 19 * s, 38 * s, 0, false},
		{"the clock stands still", every(5*s, 20, func(at time.Duration) sent { return sent{0, at, at} }), 95 * s, 95 * s, 0, false},
		{"the clock was set", append(every(5*s, 2, off(-7*time.Hour)), sent{10 * s, 10 * s, 10 * s}), 11 * s, 11 * s, 0, false},
		{"the clock was set a while ago", append(every(5*s, 2, off(-7*time.Hour)), sent{10 * s, 10 * s, 10 * s}, sent{15 * s, 15 * s, 15 * s}, sent{20 * s, 20 * s, 20 * s}),
			21 * s, 21 * s, 0, true},
		{"RTP time of the newest frame, two a second", every(5*s, 20, func(at time.Duration) sent { return sent{at, at - at/5%(s/2), at} }), 99 * s, 99 * s, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begin := time.Now()
			ticks := func(d time.Duration) uint32 { return uint32(int64(d/time.Millisecond) * ticksPerSecond / 1000) }
			var c senderClock
			for _, r := range tc.reports {
				c.take(report{ssrc: 7, rtp: ticks(r.rtp), ntp: begin.Add(r.ntp), at: begin.Add(r.at)})
			}
			p := h264Packet(1, ticks(tc.rtp), 0x65)
			now := begin.Add(tc.at)
			got, ok := c.at(p, now)
			if ok != tc.ok || ok && (got.Sub(now)-tc.want).Abs() > time.Second {
				t.Errorf("%v after it came, %v; want %v, %v", got.Sub(now), ok, tc.want, tc.ok)
			}
			if ok { // some of its neighbours are off, and then it goes on
				for _, d := range []time.Duration{9800 * s, -9800 * s, 40 * s, 3 * s, -3 * s} {
					p.Timestamp = ticks(tc.rtp + d)
					if stray, ok := c.at(p, now); !ok || stray.Sub(got).Abs() > time.Millisecond {
						t.Errorf("a packet %v off is %v after the one before, %v", d, stray.Sub(got), ok)
					}
					p.Timestamp = ticks(tc.rtp)
					_, _ = c.at(p, now)
				}
				if next, ok := c.at(p, now); !ok || !next.Equal(got) {
					t.Errorf("the packet after is %v after the one before, %v", next.Sub(got), ok)
				}
			}
			p.SSRC = 8
			if _, ok := c.at(p, now); ok {
				t.Error("a time by another stream's report")
			}
		})
	}
}

// Of packets every second of which has the RTP time of the first, those of the others name
// the time.
func TestSenderClockHalfStill(t *testing.T) {
	begin := time.Now()
	var c senderClock
	c.take(report{ssrc: 7, ntp: begin, at: begin})
	for i := range 300 {
		came := time.Duration(i) * 100 * time.Millisecond
		p := h264Packet(uint16(i), uint32(i%2*i)*ticksPerSecond/10, 0x65)
		now := begin.Add(came)
		if got, ok := c.at(p, now); !ok || got.Sub(now).Abs() > time.Second+200*time.Millisecond {
			t.Fatalf("packet %d: %v after it came, %v", i, got.Sub(now), ok)
		}
	}
}

// Where packets were lost after the network had stood still, one is far ahead of the one
// before it, and those after it show that it is right.
func TestSenderClockAfterLoss(t *testing.T) {
	begin := time.Now()
	var c senderClock
	c.take(report{ssrc: 7, ntp: begin, at: begin})
	const ms = time.Millisecond
	for i, tc := range []struct{ sent, came, want time.Duration }{
		{0, 0, 0}, {40 * ms, 4000 * ms, 40 * ms}, {2900 * ms, 4001 * ms, 41 * ms}, {2940 * ms, 4002 * ms, 2940 * ms}, {2980 * ms, 4003 * ms, 2980 * ms},
	} {
		p := h264Packet(uint16(i), uint32(tc.sent/ms*ticksPerSecond/1000), 0x65)
		got, ok := c.at(p, begin.Add(tc.came))
		if want := begin.Add(tc.want); !ok || got.Sub(want).Abs() > time.Millisecond {
			t.Errorf("packet %d: %v, %v; want %v", i, got.Sub(begin), ok, want.Sub(begin))
		}
	}
}

// Reports are read as they come, and one without a clock ends what those before it said.
func TestSenderReport(t *testing.T) {
	var c senderClock
	p, now := h264Packet(1, 90000, 0x65), time.Now()
	c.handle(&rtcp.ReceiverReport{})
	c.handle(&rtcp.SenderReport{SSRC: 7, NTPTime: ntp.Encode(now), RTPTime: 45000})
	if got, ok := c.at(p, now); !ok || got.Sub(now.Add(500*time.Millisecond)).Abs() > time.Microsecond {
		t.Errorf("got %v %v, want half a second after %v", got, ok, now)
	}
	c.handle(&rtcp.SenderReport{SSRC: 7, RTPTime: 90000})
	if _, ok := c.at(p, now); ok {
		t.Error("a time of a camera without a clock")
	}
}

// A camera whose clock was never set does not name the capture time.
func TestAbsurdSenderClock(t *testing.T) {
	now := time.Now()
	f := &feed{src: &Source{cfg: Config{Observer: Observer{}.complete()}}}
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
		require.NoError(f, err)
		pkts, err := enc.Encode(splitNALUs(p.Data))
		require.NoError(f, err)
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
		require.NoError(t, err)
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
		require.NoError(t, b.Unmarshal(tu))
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
				require.Equal(t, i%gop == 0, p.Key, "packet %d: key frame", i)
				pkts, err := pack(p)
				require.NoError(t, err)
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
			assert.EqualValues(t, 1, r.missed[MissLost].Load(), "units lost")
			dec, err := codec.NewDecoder(id)
			require.NoError(t, err)
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
					require.NoError(t, p.BGR(f.Pix))
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
		require.NoError(t, err)
		defer dec.Close()
		for len(r.units) > 0 {
			u := <-r.units
			_ = dec.Decode(u.data, u.ticks, func(*codec.Picture) {})
		}
	})
}
