package ingest

import (
	"slices"
	"testing"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// Interlaced pictures are told of, come one by one with their own times, and not at all delayed where they are left
// as they are.
func TestDeinterlaced(t *testing.T) {
	const pictures, step = 6, 3600
	for _, tc := range []struct {
		mode   string
		frames int // by the last packet
		told   []bool
	}{
		{"", pictures - 1, []bool{true}},
		{"auto", pictures - 1, []bool{true}},
		{"on", pictures - 1, []bool{true}},
		{"off", pictures, nil},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			var told []bool
			src, err := Open(Config{
				URL: "rtsp://192.0.2.1/", Deinterlace: tc.mode, Clock: clockSender,
				Observer: Observer{Deinterlaced: func(now bool) { told = append(told, now) }},
			})
			require.NoError(t, err)
			fm := &format.H264{PacketizationMode: 1}
			enc, err := fm.CreateEncoder()
			require.NoError(t, err)
			r := newTestReceiver(t, fm)
			var numbers []int
			var last *Frame
			f, err := newFeed(src, src.newConnection(r), func(f *Frame) {
				numbers = append(numbers, number(f))
				last = f
				f.Release()
			}, func() {})
			require.NoError(t, err)
			defer f.close()
			for _, p := range packets(t, codec.EncoderConfig{Width: 128, Height: 96, Interlaced: true}, pictures) {
				pkts, err := enc.Encode(splitNALUs(p.Data))
				require.NoError(t, err)
				for _, pkt := range pkts {
					pkt.Timestamp = uint32(p.PTS) * step
					r.handle(pkt)
				}
				for len(r.units) > 0 {
					if _, err := f.take(<-r.units); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := []int{0, 1, 2, 3, 4, 5}[:tc.frames]
			if !slices.Equal(numbers, want) || last.PTS != ticksToDuration(int64(tc.frames-1)*step) {
				t.Errorf("frames %v, the last at %v; want %v", numbers, last.PTS, want)
			}
			if !slices.Equal(told, tc.told) {
				t.Errorf("told %v, want %v", told, tc.told)
			}
		})
	}
	if _, err := Open(Config{URL: "rtsp://192.0.2.1/", Deinterlace: "bob"}); err == nil {
		t.Error("an unknown way was accepted")
	}
}
