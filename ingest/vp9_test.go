package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// layeredPackets are the first six pictures that Chromium sends of a canvas as VP9 in mode L3T3: flexible mode, of
// 240×136, 480×270 and 960×540, the first and the third to start from. Each packet is after its length in two bytes.
func layeredPackets(t *testing.T) (pictures [][]*rtp.Packet) {
	t.Helper()
	data, err := os.ReadFile("testdata/vp9-l3t3.rtp")
	require.NoError(t, err)
	for len(data) > 0 {
		n := 2 + int(binary.BigEndian.Uint16(data))
		p := new(rtp.Packet)
		require.NoError(t, p.Unmarshal(data[2:n]))
		if k := len(pictures); k == 0 || pictures[k-1][0].Timestamp != p.Timestamp {
			pictures = append(pictures, nil)
		}
		k := len(pictures) - 1
		pictures[k] = append(pictures[k], p)
		data = data[n:]
	}
	return pictures
}

// layerOf is the spatial layer of a packet.
func layerOf(t *testing.T, p *rtp.Packet) uint8 {
	t.Helper()
	var head codecs.VP9Packet
	_, err := head.Unmarshal(p.Payload)
	require.NoError(t, err)
	return head.SID
}

// upTo returns the packets of a picture without the layers above the highest.
func upTo(t *testing.T, picture []*rtp.Packet, highest uint8) (out []*rtp.Packet) {
	t.Helper()
	for _, p := range picture {
		if layerOf(t, p) <= highest {
			q := *p
			out = append(out, &q)
		}
	}
	out[len(out)-1].Marker = true
	return out
}

// layersShown hands packets to a receiver, nil for ones that never came, and returns what is to be seen of its units.
func layersShown(t *testing.T, r *receiver, packets []*rtp.Packet) (out []string) {
	t.Helper()
	dec, err := codec.NewDecoder(codec.VP9)
	require.NoError(t, err)
	defer dec.Close()
	for _, p := range packets {
		if p == nil {
			r.gap()
			continue
		}
		r.handle(p)
		for len(r.units) > 0 {
			u := <-r.units
			err := dec.Decode(u.data, u.ticks, func(p *codec.Picture) {
				what := fmt.Sprintf("%dx%d", p.Width, p.Height)
				if u.lower {
					what += " lower"
				}
				if u.damaged || p.Damaged {
					what += " damaged"
				}
				out = append(out, what)
			})
			assert.NoError(t, err, "unit at %d", u.ticks)
		}
	}
	return out
}

// A picture with spatial layers is one, in the size of the highest, or none if a packet of it is missing.
func TestVP9Layers(t *testing.T) {
	const whole, half, quarter, damaged, lower = "960x540", "480x270", "240x136", " damaged", " lower"
	for _, tc := range []struct {
		name   string
		change func(pictures [][]*rtp.Packet)
		want   []string
		missed map[Miss]int
	}{
		{"all", func([][]*rtp.Packet) {}, slices.Repeat([]string{whole}, 6), nil},
		{"a packet of the highest layer is lost", func(p [][]*rtp.Packet) { p[1][len(p[1])-1] = nil },
			// The gap might be in the next picture too.
			append([]string{whole}, slices.Repeat([]string{whole + damaged}, 4)...), map[Miss]int{MissLost: 1}},
		{"a packet of the lowest layer is lost", func(p [][]*rtp.Packet) { p[3][0] = nil },
			[]string{whole, whole, whole, whole + damaged, whole + damaged}, map[Miss]int{MissLost: 1}},
		{"the sender leaves the highest layer out of a picture", func(p [][]*rtp.Packet) { p[1] = upTo(t, p[1], 1) },
			[]string{whole, half + lower, whole, whole, whole, whole}, nil},
		{"it leaves it out from a picture to start from on", func(p [][]*rtp.Packet) {
			for i := 2; i < len(p); i++ {
				p[i] = upTo(t, p[i], 1)
			}
		}, []string{whole, whole, half, half, half, half}, nil},
		{"the higher layers come later", func(p [][]*rtp.Packet) { p[0], p[1] = upTo(t, p[0], 0), upTo(t, p[1], 0) },
			[]string{quarter, quarter, whole, whole, whole, whole}, nil},
		{"the stream is joined in the middle of a picture", func(p [][]*rtp.Packet) { p[0] = p[0][1:] },
			slices.Repeat([]string{whole}, 4), map[Miss]int{MissNoKey: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pictures := layeredPackets(t)
			tc.change(pictures)
			r := newTestReceiver(t, &format.VP9{})
			assert.Equal(t, tc.want, layersShown(t, r, slices.Concat(pictures...)), "shown are")
			missed := map[Miss]int{}
			r.missed.tell(func(why Miss, n int) { missed[why] = n })
			if !maps.Equal(missed, tc.missed) {
				t.Errorf("missed are %v, want %v", missed, tc.missed)
			}
		})
	}
}

// A picture without the highest layer is decoded, for others refer to it, and makes no frame; it is counted.
func TestLowerLayer(t *testing.T) {
	pictures := layeredPackets(t)
	pictures[3] = upTo(t, pictures[3], 1)
	missed := map[Miss]int{}
	src, err := Open(Config{URL: "rtsp://192.0.2.1/", Observer: Observer{Missed: func(why Miss, n int) { missed[why] += n }}})
	require.NoError(t, err)
	r := newTestReceiver(t, &format.VP9{})
	var frames []string
	f, err := newFeed(src, src.newConnection(r), func(f *Frame) {
		frames = append(frames, fmt.Sprintf("%dx%d", f.Width, f.Height))
		f.Release()
	}, func() {})
	require.NoError(t, err)
	defer f.close()
	for _, p := range slices.Concat(pictures...) {
		r.handle(p)
		for len(r.units) > 0 {
			if _, err := f.take(<-r.units); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := slices.Repeat([]string{"960x540"}, 5); !slices.Equal(frames, want) || !maps.Equal(missed, map[Miss]int{MissUndecodable: 1}) {
		t.Errorf("frames are %v, want %v; missed are %v", frames, want, missed)
	}
}

// vp9Payload is a packet of a whole frame of a layer in non-flexible mode: RFC 9628, 4.2.
func vp9Payload(layer byte, frame []byte) []byte {
	const layers, begins, ends = 0x20, 0x08, 0x04
	return append([]byte{layers | begins | ends, layer << 1, 0}, frame...)
}

// In non-flexible mode too, layers are joined up to the marker, and what has none is refused.
func TestVP9Marker(t *testing.T) {
	var payloads [][]byte
	for i, side := range []int{64, 128, 256} { // by themselves, as in mode S3
		payloads = append(payloads, vp9Payload(byte(i), packets(t, codec.EncoderConfig{Codec: codec.VP9, Width: side, Height: side}, 1)[0].Data))
	}
	send := func(r *receiver, marked bool) (out []*rtp.Packet) {
		for i := range 6 {
			p := h264Packet(uint16(i), uint32(i/3)*3000, payloads[i%3]...)
			p.Marker = marked && i%3 == 2
			out = append(out, p)
		}
		return out
	}
	r := newTestReceiver(t, &format.VP9{})
	assert.Equal(t, []string{"256x256", "256x256"}, layersShown(t, r, send(r, true)), "shown are")
	r = newTestReceiver(t, &format.VP9{})
	if got := layersShown(t, r, send(r, false)); len(got) > 0 || !errors.Is(r.trouble(), errNoMarker) {
		t.Errorf("without markers: shown are %v, the trouble is %v", got, r.trouble())
	}
	for range 9 { // more than a superframe has room for
		r.handle(&rtp.Packet{Header: rtp.Header{Timestamp: 9000}, Payload: payloads[0]})
	}
	last := h264Packet(0, 9000, payloads[0]...)
	if got := layersShown(t, r, []*rtp.Packet{last}); len(got) > 0 || r.trouble() == nil {
		t.Errorf("of ten frames: shown are %v, the trouble is %v", got, r.trouble())
	}
}

// A layer that is missing from some pictures changes no sizes; one that stays away does, after half a second.
func TestTopLayer(t *testing.T) {
	type picture struct {
		layer int
		ticks int64
		key   bool
		want  bool
	}
	var top topLayer
	for i, p := range []picture{
		{0, 0, true, false}, {2, 3000, false, false}, {1, 6000, false, true}, {2, 9000, false, false},
		{1, 12000, false, true}, {1, 50000, false, true}, {1, 54000, false, false}, {1, 57000, false, false},
		{2, 60000, false, false}, {0, 63000, true, false}, {0, 66000, false, false},
		{1, 69000, false, false}, {0, -90000, false, false}, // the sender's time has jumped
	} {
		assert.Equal(t, p.want, top.missing(p.layer, p.ticks, p.key), "picture %d: missing", i)
	}
}

// The spatial layer is in the second byte of an OBU's header, if there is one.
func TestAV1Layer(t *testing.T) {
	const frame, extended = 6 << 3, 0x04
	for _, tc := range []struct {
		tu   [][]byte
		want int
	}{
		{[][]byte{{frame, 0xff}}, 0},
		{[][]byte{{frame | extended, 0 << 3}, {frame | extended, 2<<5 | 1<<3}}, 1},
		{[][]byte{{frame | extended}}, 0},
		{nil, 0},
	} {
		assert.Equal(t, tc.want, av1Layer(tc.tu), "%x", tc.tu)
	}
}
