package ingest

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every five seconds the camera is told what came, in a compound packet with a name, as RFC 3550 wants it.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan []byte, 10)
		r := newReports(h264Media().Formats[0], func(p rtcp.Packet) error {
			data, err := p.Marshal()
			assert.NoError(t, err)
			written <- data
			return err
		})
		defer r.Close()
		time.Sleep(2*reportEvery + time.Second) // nothing came, nothing is told
		r.heard(&rtcp.SenderReport{SSRC: 7, NTPTime: 0x1234_5678_9abc_def0, RTPTime: 1})
		for i := range 11 {
			if i != 5 {
				r.came(&rtp.Packet{Header: rtp.Header{Version: 2, SSRC: 7, SequenceNumber: uint16(math.MaxUint16 - 5 + i), Timestamp: uint32(9000 * i)}})
			}
		}
		for n := range 2 {
			time.Sleep(reportEvery)
			synctest.Wait()
			require.Len(t, written, 1, "reports in %v", reportEvery)
			packets, err := rtcp.Unmarshal(<-written)
			require.NoError(t, err)
			assert.NoError(t, rtcp.CompoundPacket(packets).Validate())
			rr := packets[0].(*rtcp.ReceiverReport)
			if len(rr.Reports) != 1 || rr.SSRC == 7 {
				t.Fatalf("%+v", rr)
			}
			got := rr.Reports[0]
			if got.SSRC != 7 || got.TotalLost != 1 || got.LastSequenceNumber != 1<<16|4 || got.LastSenderReport != 0x5678_9abc || got.Delay == 0 {
				t.Errorf("%+v", got)
			}
			assert.Equal(t, []uint8{256 / 11, 0}[n], got.FractionLost, "fraction lost")
		}
	})
}

// What is counted is right after packets that come late, twice, or from a camera that counts anew, and nothing is
// allocated for it.
func TestReportsCount(t *testing.T) {
	type counted struct {
		ssrc, last, lost uint32
		jitter           bool
	}
	for name, tt := range map[string]struct {
		sent []rtp.Header
		want counted
	}{
		"in order": {[]rtp.Header{{SequenceNumber: 7}, {SequenceNumber: 8}}, counted{last: 8}},
		"one lost": {[]rtp.Header{{SequenceNumber: 7}, {SequenceNumber: 9}}, counted{last: 9, lost: 1}},
		"one late": {[]rtp.Header{{SequenceNumber: 7}, {SequenceNumber: 9}, {SequenceNumber: 8}}, counted{last: 9}},
		"one late, round the end": {[]rtp.Header{{SequenceNumber: math.MaxUint16}, {SequenceNumber: 1}, {SequenceNumber: 0}},
			counted{last: 1<<16 | 1}},
		"one twice":        {[]rtp.Header{{SequenceNumber: 7}, {SequenceNumber: 8}, {SequenceNumber: 8}}, counted{last: 8}},
		"counted anew":     {[]rtp.Header{{SequenceNumber: 7000}, {SequenceNumber: 7009}, {SequenceNumber: 3}}, counted{last: 3}},
		"another stream":   {[]rtp.Header{{SSRC: 1, SequenceNumber: 7}, {SSRC: 2, SequenceNumber: 900}}, counted{ssrc: 2, last: 900}},
		"unevenly by 0.1s": {[]rtp.Header{{SequenceNumber: 7}, {SequenceNumber: 8, Timestamp: 9000}}, counted{last: 8, jitter: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReports(h264Media().Formats[0], func(rtcp.Packet) error { return nil })
				defer r.Close()
				for _, h := range tt.sent {
					r.came(&rtp.Packet{Header: h, Payload: []byte{0x65, 0x88}}) // an IDR picture
				}
				got := r.report(time.Now()).Reports[0]
				if (counted{got.SSRC, got.LastSequenceNumber, got.TotalLost, got.Jitter > 0}) != tt.want {
					t.Errorf("%+v, want %+v", got, tt.want)
				}
			})
		})
	}
	r := newReports(h264Media().Formats[0], func(rtcp.Packet) error { return nil })
	defer r.Close()
	p := &rtp.Packet{Payload: []byte{0x41, 0x9a}}
	if n := testing.AllocsPerRun(100, func() {
		p.SequenceNumber++
		r.came(p)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// Over TCP a camera gets them, too.
func TestReportsOverTCP(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: until the first report")
	}
	t.Parallel()
	cam := serveRaw(t, h264Media())
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = patience // there are few pictures
	w := start(t, cfg)
	cam.player()
	for _, p := range packets(t, clipConfig, 3) {
		cam.send(p.Data)
	}
	w.take(3)
	select {
	case p := <-cam.heard:
		if rr, is := p.(*rtcp.ReceiverReport); !is || len(rr.Reports) != 1 {
			t.Errorf("%T %+v", p, p)
		}
	case <-time.After(patience):
		t.Error("no report")
	}
}
