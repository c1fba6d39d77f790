package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image/jpeg"
	"slices"
	"strings"
	"testing"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// put writes a symbol of a Huffman table.
func (w *bitWriter) put(t huffmanTable, symbol int) {
	code, k := uint32(0), 0
	for length, count := range t.counts {
		for range count {
			if int(t.symbols[k]) == symbol {
				w.u(length+1, code)
				return
			}
			code++
			k++
		}
		code <<= 1
	}
	panic("no such symbol")
}

// dc writes a block that is a difference of brightness from the one before and nothing else.
func (w *bitWriter) dc(dc, ac huffmanTable, diff int) {
	n, bits := 0, diff
	for v := max(diff, -diff); v > 0; v >>= 1 {
		n++
	}
	if diff < 0 {
		bits += 1<<n - 1
	}
	w.put(dc, n)
	w.u(n, uint32(bits))
	w.put(ac, 0)
}

// The tables that image/jpeg writes are RFC 2435's, by the sums of those in its appendices.
func TestStandardTables(t *testing.T) {
	assert.EqualValues(t, 0x5e977ccd, crc32.ChecksumIEEE(huffmanSegment), "other Huffman tables: their sum is")
	for q, want := range map[byte]uint32{1: 0x652d544c, 10: 0x5ef9f4eb, 49: 0x3f9071ef, 50: 0x3e38599e, 75: 0x08bff2f1, 99: 0x4b85d0fe} {
		assert.Equal(t, want, crc32.ChecksumIEEE(scaledTables(q)), "Q %d: other quantization tables: their sum is", q)
	}
}

// rtpPicture is a JPEG of the picture of a number, as RFC 2435 takes it apart.
type rtpPicture struct {
	size     size
	typ      byte // 0 or 1
	interval int  // units from one restart to the next; 0: there are none
	number   int
}

// scan is the entropy-coded data: each block has one brightness, with quantizers of 8.
func (p rtpPicture) scan() (out []byte) {
	bytesOf := func(w *bitWriter) []byte {
		for w.bits%8 != 0 {
			w.u(1, 1)
		}
		return bytes.ReplaceAll(w.out, []byte{0xff}, []byte{0xff, 0})
	}
	high := 8 << p.typ
	w, last, n := new(bitWriter), 0, 0
	for y := 0; y < p.size.height; y += high {
		for x := 0; x < p.size.width; x += 16 {
			if p.interval > 0 && n > 0 && n%p.interval == 0 {
				out = append(append(out, bytesOf(w)...), 0xff, markerRST0+byte(n/p.interval-1)%8)
				w, last = new(bitWriter), 0
			}
			n++
			for by := y; by < y+high; by += 8 {
				for bx := x; bx < x+16; bx += 8 {
					v := -100
					if by < p.size.height/2 && p.number>>(min(bx, p.size.width-1)*numberBits/p.size.width)&1 == 1 {
						v = 100
					}
					w.dc(lumaDC, lumaAC, v-last)
					last = v
				}
			}
			w.dc(chromaDC, chromaAC, 0)
			w.dc(chromaDC, chromaAC, 0)
		}
	}
	return append(out, bytesOf(w)...)
}

// packets cuts the picture into packets of RTP time t with Q q. edit may change them.
func (p rtpPicture) packets(t uint32, q byte, most int, edit func(i int, p *rtp.Packet)) (out []*rtp.Packet) {
	scan := p.scan()
	for at := 0; at < len(scan) || at == 0; at += most {
		payload := binary.BigEndian.AppendUint32(nil, uint32(at))
		typ := p.typ
		if p.interval > 0 {
			typ += 64
		}
		payload = append(payload, typ, q, byte((p.size.width+7)/8), byte((p.size.height+7)/8))
		if p.interval > 0 {
			payload = binary.BigEndian.AppendUint16(payload, uint16(p.interval))
			payload = append(payload, 0xff, 0xff)
		}
		if at == 0 && q >= 128 {
			payload = append(append(payload, 0, 0, 0, 128), bytes.Repeat([]byte{8}, 128)...)
		}
		end := min(at+most, len(scan))
		pkt := h264Packet(uint16(len(out)), t, append(payload, scan[at:end]...)...)
		pkt.Marker = end == len(scan)
		if edit != nil {
			edit(len(out), pkt)
		}
		out = append(out, pkt)
	}
	return out
}

// onvif gives packet i an extension of ONVIF's of segments.
func onvif(t testing.TB, p *rtp.Packet, profile uint16, segments ...[]byte) {
	t.Helper()
	body := slices.Concat(segments...)
	for len(body)%4 != 0 {
		body = append([]byte{0xff}, body...)
	}
	p.Extension, p.ExtensionProfile = true, profile
	require.NoError(t, p.SetExtension(0, body))
	b, err := p.Marshal() // as the network has it
	require.NoError(t, err)
	*p = rtp.Packet{}
	require.NoError(t, p.Unmarshal(b))
}

// frameOf is a frame header of a size.
func frameOf(s size, components ...byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{8}, uint16(s.height))
	b = binary.BigEndian.AppendUint16(b, uint16(s.width))
	return segment(markerSOF0, b, []byte{byte(len(components) / 3)}, components)
}

// checkJPEG decodes what came of RTP by FFmpeg and by Go.
func checkJPEG(t *testing.T, data []byte, want size, n int) {
	t.Helper()
	dec, err := codec.NewDecoder(codec.MJPEG)
	require.NoError(t, err)
	defer dec.Close()
	pictures := 0
	if err := dec.Decode(data, 0, func(p *codec.Picture) {
		pictures++
		f := &Frame{Width: p.Width, Height: p.Height, Pix: make([]byte, 3*p.Width*p.Height)}
		require.NoError(t, p.BGR(f.Pix))
		if (size{p.Width, p.Height}) != want || number(f) != n || p.Damaged {
			t.Errorf("a picture of %dx%d that shows %d, damaged %v; want %v and %d", p.Width, p.Height, number(f), p.Damaged, want, n)
		}
	}); err != nil || pictures != 1 {
		t.Errorf("%d pictures, %v", pictures, err)
	}
	if m, err := jpeg.Decode(bytes.NewReader(data)); err != nil || m.Bounds().Dx() != want.width || m.Bounds().Dy() != want.height {
		t.Errorf("Go decodes it to %v, %v", m, err)
	}
}

// Pictures by RFC 2435 and by ONVIF, of all types and sizes, from packets to pixels.
func TestRTPJPEG(t *testing.T) {
	small, wide := size{128, 96}, size{2176, 144}
	yuv := []byte{1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1}
	for _, tc := range []struct {
		name      string
		picture   rtpPicture
		q         byte
		described size
		edit      func(t *testing.T, i int, p *rtp.Packet)
	}{
		{"4:2:2", rtpPicture{size: small}, 255, size{}, nil},
		{"4:2:0", rtpPicture{size: small, typ: 1}, 255, size{}, nil},
		{"4:2:2 with restart markers", rtpPicture{size: small, interval: 4}, 255, size{}, nil},
		{"4:2:0 with restart markers", rtpPicture{size: small, typ: 1, interval: 1}, 255, size{}, nil},
		{"Q 50", rtpPicture{size: small, typ: 1, interval: 3}, 50, size{}, nil},
		{"2176 pixels in eight bits", rtpPicture{size: wide, typ: 1}, 255, size{}, nil},
		{"the same with restart markers", rtpPicture{size: wide, interval: 136}, 255, size{}, nil},
		{"higher than 2040 pixels", rtpPicture{size: size{144, 2176}, typ: 1}, 255, size{}, nil},
		{"2176 pixels, described", rtpPicture{size: wide, typ: 1}, 255, wide, func(_ *testing.T, _ int, p *rtp.Packet) { p.Payload[6], p.Payload[7] = 0, 0 }},
		{"an odd size, described", rtpPicture{size: size{125, 91}, typ: 1}, 255, size{125, 91}, nil},
		{"described as another size", rtpPicture{size: small, typ: 1}, 255, wide, nil},
		{"ONVIF's extension", rtpPicture{size: wide, typ: 1}, 255, size{}, func(t *testing.T, i int, p *rtp.Packet) {
			p.Payload[6], p.Payload[7] = 0, 0
			if i == 0 {
				onvif(t, p, onvifFirst, segment(0xe0, []byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")), frameOf(wide, yuv...))
			}
		}},
		{"ONVIF's extension with everything, of another type", rtpPicture{size: wide, typ: 1, interval: 136}, 0, size{}, func(t *testing.T, i int, p *rtp.Packet) {
			p.Payload[4], p.Payload[6], p.Payload[7] = 37, 0, 0
			p.Payload = slices.Delete(p.Payload, 8, 12)
			if i == 0 {
				onvif(t, p, onvifFirst, segment(markerDQT, append([]byte{0}, bytes.Repeat([]byte{8}, 64)...)), segment(markerDQT, append([]byte{1}, bytes.Repeat([]byte{8}, 64)...)),
					huffmanSegment, frameOf(wide, yuv...), segment(markerDRI, []byte{0, 136}), scanSegment(frameOf(wide, yuv...)))
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestReceiver(t, &format.MJPEG{})
			r.track.jpeg.described = tc.described
			for n := range 2 {
				tc.picture.number = 0b10110010 + n
				var edit func(int, *rtp.Packet)
				if tc.edit != nil {
					edit = func(i int, p *rtp.Packet) { tc.edit(t, i, p) }
				}
				for _, p := range tc.picture.packets(uint32(n)*3600, tc.q, 1000, edit) {
					r.handle(p)
				}
				require.NoError(t, r.trouble())
				require.Len(t, r.units, 1, "units of picture %d", n)
				checkJPEG(t, (<-r.units).data, tc.picture.size, tc.picture.number)
			}
		})
	}
}

// Sizes beyond 2040 pixels are found in the data, whatever is left of them in the packets.
func TestUnwrapSize(t *testing.T) {
	for _, pic := range []rtpPicture{
		{size: size{2560, 1440}, typ: 1}, {size: size{1536, 2560}}, {size: size{3840, 2160}, typ: 1, interval: 240},
		{size: size{2592, 1944}}, {size: size{2048, 2048}, typ: 1}, {size: size{1920, 1080}, typ: 1},
	} {
		d := new(rtpJPEG)
		d.header.typ = pic.typ
		scan := pic.scan()
		if got := d.unwrapSize(pic.size.wrap(), scan); got != pic.size {
			t.Errorf("%v is taken for %v", pic.size, got)
		}
		d = new(rtpJPEG)
		if got := d.unwrapSize(size{1920, 1080}, scan[:20]); got != (size{1920, 1080}) || d.counted {
			t.Errorf("%v of data that ends early", got)
		}
	}
}

// What one picture may take from the one before, and what may come in several packets.
func TestRTPJPEGSequences(t *testing.T) {
	wide := size{2176, 144}
	pic := rtpPicture{size: wide, typ: 1, number: 5}
	frame := frameOf(wide, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1)
	zero := func(p *rtp.Packet) { p.Payload[6], p.Payload[7] = 0, 0 }
	take := func(t *testing.T, d *rtpJPEG, pkts []*rtp.Packet) (image []byte) {
		t.Helper()
		for _, p := range pkts {
			au, err := d.decode(p)
			if err == nil {
				image = au[0]
			} else if !errors.Is(err, errIncomplete) {
				t.Fatal(err)
			}
		}
		return image
	}
	t.Run("ONVIF: the size of the picture before", func(t *testing.T) {
		d := new(rtpJPEG)
		for k := range uint32(3) {
			checkJPEG(t, take(t, d, pic.packets(k, 255, 1000, func(i int, p *rtp.Packet) {
				if zero(p); i == 0 && k == 0 {
					onvif(t, p, onvifFirst, frame)
				} else if i == 0 {
					onvif(t, p, onvifFirst)
				}
			})), wide, 5)
		}
	})
	t.Run("ONVIF: a header over three packets", func(t *testing.T) {
		pkts := pic.packets(0, 50, 1000, func(_ int, p *rtp.Packet) { zero(p) })
		alone := func(profile uint16, part []byte) *rtp.Packet {
			p := h264Packet(0, 0, pkts[0].Payload[:8]...)
			p.Marker = false
			onvif(t, p, profile, part)
			return p
		}
		frame := slices.Concat([]byte{0xff, 0xff, 0xff}, frame) // 22 bytes: a multiple of 4
		frame = frame[len(frame)%4:]
		head := []*rtp.Packet{alone(onvifFirst, frame[:8]), alone(onvifOther, frame[8:])}
		checkJPEG(t, take(t, new(rtpJPEG), append(head, pkts...)), wide, 5)
	})
	t.Run("RFC 2435: quantization tables that come once", func(t *testing.T) {
		pic := rtpPicture{size: size{128, 96}, number: 9}
		once := func(k uint32) []*rtp.Packet {
			return pic.packets(k, 200, 1000, func(i int, p *rtp.Packet) {
				if i == 0 && k > 0 {
					p.Payload = append(slices.Concat(p.Payload[:8], []byte{0, 0, 0, 0}), p.Payload[12+128:]...)
				}
			})
		}
		d := new(rtpJPEG)
		_, err := d.decode(once(1)[0])
		assert.ErrorContains(t, err, "Q 200 never came", "before they came")
		for k := range uint32(3) {
			if k == 2 {
				d.reset() // something was lost
			}
			checkJPEG(t, take(t, d, once(k)), pic.size, 9)
		}
	})
	t.Run("one quantization table for all", func(t *testing.T) {
		pic := rtpPicture{size: size{128, 96}, number: 9}
		checkJPEG(t, take(t, new(rtpJPEG), pic.packets(0, 255, 1000, func(i int, p *rtp.Packet) {
			if i == 0 {
				p.Payload = slices.Delete(p.Payload, 12, 12+64)
				p.Payload[11] = 64
			}
		})), pic.size, 9)
	})
	t.Run("no marker at all", func(t *testing.T) {
		pic := rtpPicture{size: size{128, 96}}
		d := new(rtpJPEG)
		for k := range uint32(3) {
			pic.number = int(k)
			image := take(t, d, pic.packets(0, 255, 100, func(_ int, p *rtp.Packet) { p.Marker = false }))
			if k > 0 {
				checkJPEG(t, image, pic.size, int(k)-1)
			}
		}
	})
	t.Run("the end of the JPEG instead of a marker", func(t *testing.T) {
		pic := rtpPicture{size: size{128, 96}, number: 9}
		checkJPEG(t, take(t, new(rtpJPEG), pic.packets(0, 255, 1000, func(_ int, p *rtp.Packet) {
			if p.Marker {
				p.Payload, p.Marker = append(p.Payload, 0xff, markerEOI), false
			}
		})), pic.size, 9)
	})
}

// A packet that is lost costs its picture, and is counted once.
func TestRTPJPEGLoss(t *testing.T) {
	pic := rtpPicture{size: size{640, 480}, typ: 1, interval: 20}
	for lost := range len(pic.packets(0, 255, 300, nil)) {
		r := newTestReceiver(t, &format.MJPEG{})
		for n := range 3 {
			pic.number = n
			for i, p := range pic.packets(uint32(n)*3600, 255, 300, nil) {
				if n != 1 || i != lost {
					r.handle(p)
				}
			}
		}
		var at []int64
		for len(r.units) > 0 {
			u := <-r.units
			at = append(at, u.ticks/3600)
			checkJPEG(t, u.data, pic.size, int(u.ticks/3600))
		}
		assert.Equal(t, []int64{0, 2}, at, "packet %d of picture 1 lost: pictures", lost)
	}
}

// A camera whose pictures are too wide for RFC 2435, over the network.
func TestWideMJPEGCamera(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, mjpegMedia())
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	wide := size{2176, 144}
	for n := range 3 {
		pic := rtpPicture{size: wide, typ: 1, interval: 136, number: n}
		for _, p := range pic.packets(uint32(n)*3600, 255, 1000, func(i int, p *rtp.Packet) {
			if p.Payload[6], p.Payload[7] = 0, 0; i == 0 {
				onvif(t, p, onvifFirst, frameOf(wide, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1))
			}
		}) {
			p.PayloadType = 26
			require.NoError(t, cam.stream.WritePacketRTP(cam.media, p))
		}
	}
	for n, f := range w.take(3) {
		if f.number != n || f.Width != wide.width || f.Height != wide.height || f.Damaged {
			t.Errorf("frame %d shows %d: %+v", n, f.number, f.Frame)
		}
	}
	_ = w.stop()
}

// The size of a session description is the picture's, which packets say in eighths.
func TestDescribedMJPEGCamera(t *testing.T) {
	t.Parallel()
	said := size{125, 91}
	packets := rtpPicture{size: said, typ: 1}.packets(0, 255, 1000, func(_ int, p *rtp.Packet) { p.PayloadType = 26 })
	c := serveOdd(t, &oddCamera{packets: [][]*rtp.Packet{packets}, sdp: oddSession + "m=video 0 RTP/AVP 26\r\na=x-dimensions:125,91\r\na=control:trackID=7\r\n"})
	w := start(t, testConfig(c.url(""), "tcp"))
	if f := w.take(1)[0]; f.Width != said.width || f.Height != said.height {
		t.Errorf("a frame of %d×%d, want %v", f.Width, f.Height, said)
	}
	_ = w.stop()
}

// What cannot be accepted is refused with the reason, at once.
func TestRTPJPEGRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(p *rtp.Packet)
		want string
	}{
		{"size in no place", func(p *rtp.Packet) { p.Payload[6], p.Payload[7] = 0, 0 }, "wider or higher than 2040 pixels"},
		{"type 2", func(p *rtp.Packet) { p.Payload[4] = 2 }, "RTP/JPEG of type 2; 0, 1, 64 and 65 are accepted"},
		{"type 200", func(p *rtp.Packet) { p.Payload[4] = 200 }, "RTP/JPEG of type 200"},
		{"Q 110", func(p *rtp.Packet) { p.Payload[5] = 110 }, "Q 110; 1 to 99 and 128 to 255 are accepted"},
		{"tables of 16 bits", func(p *rtp.Packet) { p.Payload[9] = 3 }, "128 bytes of quantization tables of precision 0x3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cam := serveRaw(t, mjpegMedia())
			done := make(chan error, 1)
			go func() { done <- probe(t.Context(), testConfig(cam.url(), "tcp")) }()
			cam.player()
			for _, p := range (rtpPicture{size: size{64, 48}}).packets(0, 255, 1000, func(_ int, p *rtp.Packet) { tc.edit(p) }) {
				p.PayloadType = 26
				require.NoError(t, cam.stream.WritePacketRTP(cam.media, p))
			}
			err := <-done
			mustWrap(t, err, ErrCodec)
			if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "no picture") {
				t.Errorf("error %q, want %q in it", err, tc.want)
			}
		})
	}
}

// The size that a session description says of its own track is taken, and no other's.
func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		name, sdp string
		want      size
	}{
		{"GStreamer", "v=0\r\na=control:*\r\nm=video 0 RTP/AVP 26\r\na=x-dimensions:2560,1440\r\na=control:stream=0\r\n", size{2560, 1440}},
		{"RFC 6064", "a=x-dimensions:1,2\nm=video 0 RTP/AVP 26\na=control:stream=0\na=framesize:26 2592-1944\nm=audio 0 RTP/AVP 0\na=control:stream=1\n", size{2592, 1944}},
		{"another track's", "m=video 0 RTP/AVP 26\r\na=x-dimensions:2560,1440\r\na=control:stream=1\r\nm=video 0 RTP/AVP 26\r\na=control:stream=0\r\n", size{}},
		{"another format's", "m=video 0 RTP/AVP 26\r\na=control:stream=0\r\na=framesize:96 2592-1944", size{}},
	} {
		m := mjpegMedia()
		m.Control = "stream=0"
		tr, err := newTrack(m, m.Formats[0])
		require.NoError(t, err)
		if tr.describe([]byte(tc.sdp)); tr.jpeg.described != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, tr.jpeg.described, tc.want)
		}
	}
}

// FuzzRTPJPEG makes JPEGs of hostile packets: what comes of them is bounded, begins and ends
// as a JPEG does, and harms no decoder.
func FuzzRTPJPEG(f *testing.F) {
	for _, pic := range []rtpPicture{{size: size{64, 48}}, {size: size{64, 48}, typ: 1, interval: 2}, {size: size{2112, 48}, typ: 1}} {
		for _, q := range []byte{50, 255} {
			pkts := pic.packets(0, q, 200, nil)
			f.Add(uint16(0), []byte{}, pkts[0].Payload, pkts[len(pkts)-1].Payload)
		}
	}
	wide := rtpPicture{size: size{2112, 48}}.packets(0, 0, 5000, func(_ int, p *rtp.Packet) { p.Payload[6] = 0 })
	f.Add(uint16(onvifFirst), slices.Concat(segment(markerDQT, make([]byte, 65)), frameOf(size{2112, 48}, 1, 0x21, 0, 2, 0x11, 1, 3, 0x11, 1)), wide[0].Payload, wide[0].Payload)
	f.Add(uint16(onvifOther), []byte{0xff, 0xda, 0, 3, 1}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, profile uint16, extension, a, b []byte) {
		d := new(rtpJPEG)
		dec, err := codec.NewDecoder(codec.MJPEG)
		require.NoError(t, err)
		defer dec.Close()
		for i, payload := range [][]byte{a, b, a, b, b} {
			p := h264Packet(uint16(i), uint32(i/2), payload...)
			p.Marker = i%2 == 1
			if i%3 == 0 && len(extension) < 1<<16 {
				body := slices.Concat(extension, make([]byte, (4-len(extension)%4)%4))
				p.Extension, p.ExtensionProfile = true, profile
				if p.SetExtension(0, body) != nil {
					p.Extension = false
				}
			}
			au, err := d.decode(p)
			if err != nil {
				continue
			}
			if n := len(au[0]); n > 3*maxImage || !bytes.HasPrefix(au[0], []byte{0xff, markerSOI}) || !bytes.HasSuffix(au[0], []byte{0xff, markerEOI}) {
				t.Fatalf("an image of %d bytes", n)
			}
			_ = dec.Decode(au[0], int64(i), func(p *codec.Picture) {
				if p.Width > codec.MaxSide || p.Height > codec.MaxSide {
					t.Fatalf("picture of %dx%d", p.Width, p.Height)
				}
			})
		}
	})
}
