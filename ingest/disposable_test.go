package ingest

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// pictures decodes units and returns the pixels by media time.
func pictures(t *testing.T, id codec.ID, units []unit) map[int64][]byte {
	t.Helper()
	dec, err := codec.NewDecoder(id)
	require.NoError(t, err)
	defer dec.Close()
	out := map[int64][]byte{}
	emit := func(p *codec.Picture) {
		pix := make([]byte, 3*p.Width*p.Height)
		require.NoError(t, p.BGR(pix))
		if p.Damaged {
			t.Errorf("the picture at %d is damaged", p.PTS)
		}
		out[p.PTS] = pix
	}
	for _, u := range units {
		assert.NoError(t, dec.Decode(u.data, u.ticks, emit), "unit at %d", u.ticks)
	}
	assert.NoError(t, dec.Flush(emit))
	return out
}

// Without the units that are called disposable all others decode to the very same
// pictures.
func TestDisposable(t *testing.T) {
	type encoder interface {
		Encode([][]byte) ([]*rtp.Packet, error)
	}
	for _, id := range []codec.ID{codec.H264, codec.H265} {
		t.Run(id.String(), func(t *testing.T) {
			var enc encoder
			f := formatOf(id)
			switch f := f.(type) {
			case *format.H264:
				enc, _ = f.CreateEncoder()
			case *format.H265:
				enc, _ = f.CreateEncoder()
			}
			r := newTestReceiver(t, f)
			const frames = 24
			for _, p := range packets(t, codec.EncoderConfig{Codec: id, Width: 128, Height: 96, FPS: 25, GOP: 12, BFrames: 3}, frames) {
				pkts, err := enc.Encode(splitNALUs(p.Data))
				require.NoError(t, err)
				for _, pkt := range pkts {
					pkt.Timestamp = uint32(p.PTS) * 3600
					r.handle(pkt)
				}
			}
			var all, needed []unit
			for len(r.units) > 0 {
				u := <-r.units
				all = append(all, u)
				if !u.disposable {
					needed = append(needed, u)
				}
			}
			if len(all) != frames || len(needed) > frames*3/4 || len(needed) < 2 {
				t.Fatalf("%d units, of which %d are needed", len(all), len(needed))
			}
			want := pictures(t, id, all)
			got := pictures(t, id, needed)
			if len(got) != len(needed) {
				t.Errorf("%d pictures of %d units", len(got), len(needed))
			}
			for at, pix := range got {
				if !bytes.Equal(pix, want[at]) {
					t.Errorf("the picture at %d is another one", at)
				}
			}
		})
	}
}

// Headers by hand: those of VP8's payload (RFC 7741) and VP9's frames, and H.265's
// sub-layers, of which the uppermost alone can be left out.
func TestDisposableHeaders(t *testing.T) {
	for _, tc := range []struct {
		name   string
		format format.Format
		au     []byte // a part of it, or all
		packet byte   // first of the payload
		want   bool
	}{
		{"VP8, needed", &format.VP8{}, []byte{1}, 0x10, false},
		{"VP8, not needed", &format.VP8{}, []byte{1}, 0x30, true},
		// marker 10, profile 00, existing 0, inter 1, shown 1, resilient 0 | reset 00, flags
		{"VP9, kept in the first slot", &format.VP9{}, []byte{0x86, 0b00000000, 0b01000000}, 0, false},
		{"VP9, kept in no slot", &format.VP9{}, []byte{0x86, 0, 0}, 0, true},
		{"VP9, kept in the last slot", &format.VP9{}, []byte{0x86, 0b00100000, 0}, 0, false},
		{"VP9, a key frame", &format.VP9{}, []byte{0x82, 0, 0}, 0, false},
		{"VP9, shown again", &format.VP9{}, []byte{0x88, 0, 0}, 0, false},
		{"VP9, resilient, kept in no slot", &format.VP9{}, []byte{0x87, 0}, 0, true},
		{"VP9, resilient, kept in a slot", &format.VP9{}, []byte{0x87, 0x01}, 0, false},
		{"VP9, hidden and intra only", &format.VP9{}, []byte{0x84, 0b10000000, 0, 0}, 0, false},
		{"VP9, cut short", &format.VP9{}, []byte{0x86}, 0, false},
		{"AV1", &format.AV1{}, []byte{0x30, 0, 0}, 0, false},
		{"MJPEG", &format.MJPEG{}, []byte{0xff, 0xd8}, 0, true},
		{"H.264, nal_ref_idc 0", &format.H264{}, []byte{0x01, 1}, 0, true},
		{"H.264, nal_ref_idc 1", &format.H264{}, []byte{0x21, 1}, 0, false},
		{"H.264, no slice", &format.H264{}, []byte{0x06, 1}, 0, false},
		{"H.265, TRAIL_N", &format.H265{}, []byte{0x00, 1, 0}, 0, true},
		{"H.265, TRAIL_R", &format.H265{}, []byte{0x02, 1, 0}, 0, false},
		{"H.265, no slice", &format.H265{}, []byte{0x4e, 1, 0}, 0, false},
	} {
		tr, err := newTrack(nil, tc.format)
		require.NoError(t, err)
		assert.Equal(t, tc.want, tr.disposable([][]byte{tc.au}, &rtp.Packet{Payload: []byte{tc.packet}}), "%s", tc.name)
	}
	tr, err := newTrack(nil, &format.H265{})
	require.NoError(t, err)
	upper, lower := [][]byte{{0x00, 2, 0}}, [][]byte{{0x00, 1, 0}} // TSA_N and TRAIL_N of sub-layers 1 and 0
	if !tr.disposable(upper, nil) || tr.disposable(lower, nil) {
		t.Error("H.265: the upper sub-layer's pictures refer to those of the lower")
	}
}

// What is left out, and when: units that no other needs, once others wait for the
// decoder, or once frames wait and decoding is costly.
func TestLeavingOut(t *testing.T) {
	for _, tc := range []struct {
		name                              string
		waiting                           int
		behind, costly, disposable, fewer bool
	}{
		{"all is well", 0, false, true, true, false},
		{"frames wait, decoding is cheap", 0, true, false, true, false},
		{"frames wait, decoding is costly", 0, true, true, true, true},
		{"frames wait, the unit is needed", 0, true, true, false, false},
		{"units wait", queueBehind, false, false, true, true},
		{"units wait, the unit is needed", queueBehind, true, true, false, false},
		{"a few units wait", queueBehind - 1, false, true, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newReceiver(&track{id: codec.MJPEG})
			left, told := 0, 0
			s := &Source{log: slog.New(slog.DiscardHandler), cfg: Config{Observer: Observer{
				Decoder: func(codec.ID, codec.Device, error) {},
				Unit:    func(Unit) { told++ },
				Behind:  func() bool { return tc.behind },
				Missed: func(why Miss, n int) {
					assert.Equal(t, MissDisposable, why, "%d units", n)
					left += n
				},
			}}}
			got := 0
			f, err := newFeed(s, s.newConnection(r), func(f *Frame) { got++; f.Release() }, func() {})
			require.NoError(t, err)
			defer f.close()
			f.pace = pace{spent: 0.05, all: 1}
			if tc.costly {
				f.pace.spent = 0.2
			}
			for range tc.waiting {
				r.queue(unit{data: []byte{1}})
			}
			_, err = f.take(unit{data: numberedJPEG(t, 64, 48, 1), disposable: tc.disposable})
			require.NoError(t, err)
			assert.Equal(t, 1, told, "units were told of, decoded or not")
			want := 0
			if tc.fewer {
				want = 1
			}
			if left != want || got != 1-want {
				t.Errorf("%d left out, %d frames", left, got)
			}
		})
	}
}

func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1e9, 0)
	for _, tc := range []struct {
		spent time.Duration
		want  bool
	}{{time.Millisecond, false}, {12 * time.Millisecond, true}, {2 * time.Millisecond, false}} {
		for range 50 {
			now = now.Add(40 * time.Millisecond)
			p.add(now, tc.spent)
		}
		assert.Equal(t, tc.want, p.costly(), "%v of 40 ms", tc.spent)
	}
}

func TestMissString(t *testing.T) {
	for m := range Miss(Misses) {
		if m.String() == "" || m.String() == Miss(Misses).String() {
			t.Errorf("miss %d is called %q", m, m)
		}
	}
}

// The jitter of RFC 3550: 0 of packets that come as they were sent, and that of
// uneven ones by the formula, also where RTP time wraps.
func TestJitter(t *testing.T) {
	var even, uneven jitter
	now := time.Unix(1e9, 0)
	var got, want float64
	for i := range uint32(100) {
		stamp := (i - 50) * 3600
		at := now.Add(time.Duration(i) * 40 * time.Millisecond)
		if d := even.add(stamp, at); d != 0 {
			t.Fatalf("packet %d: jitter %v of none", i, d)
		}
		got = uneven.add(stamp, at.Add(time.Duration(i%2)*5*time.Millisecond)).Seconds()
		if i > 0 {
			want += (0.005 - want) / 16
		}
	}
	if d := got - want; d > 1e-6 || d < -1e-6 {
		t.Errorf("jitter %v, want %v", got, want)
	}
}
