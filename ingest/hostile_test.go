package ingest

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// heapMB is the live heap in MiB.
func heapMB() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// Access units that never end, in fragments that hold a byte or nothing, each in
// a packet buffer of the usual size: memory is bounded, the reason is told, and the
// next picture is whole.
func TestEndlessAccessUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: packets without end")
	}
	h264Start, h265Start := []byte{0x7c, 0x85}, []byte{0x62, 1, 0x93}
	for _, tc := range []struct {
		name        string
		format      format.Format
		first, next []byte
	}{
		{"H.264, nothing", &format.H264{PacketizationMode: 1}, h264Start, []byte{0x7c, 0x05}},
		{"H.264, a byte", &format.H264{PacketizationMode: 1}, h264Start, []byte{0x7c, 0x05, 1}},
		{"H.265, a byte", &format.H265{}, h265Start, []byte{0x62, 1, 0x13, 1}},
		{"VP8, a byte", &format.VP8{}, []byte{0x10, 0x10}, []byte{0x00, 1}},
		{"VP9, a byte", &format.VP9{}, []byte{0x08, 0x82}, []byte{0x00, 1}},
		{"AV1, a byte", &format.AV1{}, []byte{0x50, 0x32}, []byte{0xd0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestReceiver(t, tc.format)
			before := heapMB()
			most := 0
			const n = 100_000
			for i := range n {
				payload := tc.next
				if i%maxPackets == 0 {
					payload = tc.first
				}
				p := h264Packet(uint16(i), 3000, append(make([]byte, 0, 1460), payload...)...)
				p.Marker = false
				r.handle(p)
				if i%(n/10) == 0 {
					most = max(most, heapMB()-before)
				}
			}
			if most > 40 { // unbounded it would be 140
				t.Errorf("%d packets took %d MiB", n, most)
			}
			assert.Error(t, r.trouble(), "nobody is told why no picture comes")
			if len(r.units) > 0 {
				t.Errorf("%d units came of it", len(r.units))
			}
		})
	}
}

// What waits for the decoder is bounded in bytes too, and what is let go makes
// room again.
func TestQueueBytes(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	big := unit{data: make([]byte, 6<<20)}
	for i := range 2 * queueUnits {
		require.Equal(t, (i < queueBytes/(6<<20)), r.queue(big), "unit %d: queued", i)
	}
	for len(r.units) > 0 {
		r.took(<-r.units)
	}
	for i := range 2 * queueUnits {
		require.Equal(t, i < queueUnits, r.queue(unit{data: make([]byte, 10)}), "small unit %d: queued", i)
	}
	if n := r.bytes.Load(); n != 10*queueUnits {
		t.Errorf("%d bytes are said to wait, %d do", n, 10*queueUnits)
	}
}

// A camera that sends as many frames as go through the wire, at times that make no
// sense: it stays up, stream time rises, and frames come afterwards.
func TestAbsurdFrameRate(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	ps := packets(t, codec.EncoderConfig{Width: 64, Height: 48, FPS: 50, GOP: 5}, 10)
	for i := range 600 { // watch holds 1000
		cam.ticks += uint32(i * i * 7919) // forth and back over all of RTP time
		cam.send(ps[i%len(ps)].Data)
	}
	for n := -1; n != len(w.frames); time.Sleep(50 * time.Millisecond) {
		n = len(w.frames)
	}
	flood := len(w.frames)
	eventually(t, "frames after the flood", func() bool {
		for i := range 5 {
			cam.send(ps[i].Data)
		}
		time.Sleep(20 * time.Millisecond)
		return len(w.frames) > flood
	})
	var last seen
	for i := 0; len(w.frames) > 0; i++ {
		f := w.next()
		if i > 0 && f.PTS <= last.PTS {
			t.Fatalf("frame %d at %v follows %v", f.Seq, f.PTS, last.PTS)
		}
		last = f
	}
	_ = w.stop()
	if w.events.downs != 0 {
		t.Errorf("events: %+v", &w.events)
	}
}

// What is wrong with packets that make no picture is told with the stall.
func TestStallNamesBadPackets(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = time.Second
	done := make(chan error, 1)
	go func() { done <- probe(context.Background(), cfg) }()
	cam.player()
	for seq := range uint16(3) {
		if err := cam.stream.WritePacketRTP(cam.media, h264Packet(seq, 3000, 0x78)); err != nil { // an empty STAP-A
			t.Fatal(err)
		}
	}
	err := <-done
	mustWrap(t, err, ErrStalled)
	if !strings.Contains(err.Error(), "the packets that came make none") || !strings.Contains(err.Error(), "STAP-A") {
		t.Errorf("error %q does not say what is wrong with the packets", err)
	}
}

// A camera none of whose pictures can be begun from: the stall says what is waited for.
func TestStallWaitsForKeyFrame(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = time.Second
	done := make(chan error, 1)
	go func() { done <- probe(t.Context(), cfg) }()
	cam.player()
	for n := range uint32(5) {
		cam.sendNALUs([][]byte{pcmSlice(typeP, n, 0, 0, 0)})
	}
	err := <-done
	mustWrap(t, err, ErrStalled)
	assert.Contains(t, err.Error(), "waits for a key frame: 5 access units came", "error %q does not say what is waited for", err)
}
