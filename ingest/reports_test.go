package ingest

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// Every five seconds the camera is told what came, in a compound packet with a name, as RFC 3550 wants it.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan []byte, 10)
		r, err := newReports(h264Media().Formats[0], func(p rtcp.Packet) error {
			data, err := p.Marshal()
			if err != nil {
				t.Error(err)
			}
			written <- data
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(2*reportEvery + time.Second) // nothing came, nothing is told
		r.heard(&rtcp.SenderReport{SSRC: 7, NTPTime: 0x1234_5678_9abc_def0, RTPTime: 1})
		for i := range 11 {
			if i != 5 {
				r.came(&rtp.Packet{Header: rtp.Header{Version: 2, SSRC: 7, SequenceNumber: uint16(math.MaxUint16 - 5 + i), Timestamp: uint32(9000 * i)}})
			}
		}
		for range 2 {
			time.Sleep(reportEvery)
			synctest.Wait()
			if len(written) != 1 {
				t.Fatalf("%d reports in %v", len(written), reportEvery)
			}
			packets, err := rtcp.Unmarshal(<-written)
			if err != nil {
				t.Fatal(err)
			}
			if err := rtcp.CompoundPacket(packets).Validate(); err != nil {
				t.Error(err)
			}
			rr := packets[0].(*rtcp.ReceiverReport)
			if len(rr.Reports) != 1 || rr.SSRC == 7 {
				t.Fatalf("%+v", rr)
			}
			got := rr.Reports[0]
			if got.SSRC != 7 || got.TotalLost != 1 || got.LastSequenceNumber != 1<<16|4 || got.LastSenderReport != 0x5678_9abc || got.Delay == 0 {
				t.Errorf("%+v", got)
			}
		}
	})
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
