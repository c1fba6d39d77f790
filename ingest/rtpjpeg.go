package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

// More markers of JPEG: ITU-T T.81, table B.1.
const (
	markerSOF0  = 0xc0
	markerDHT   = 0xc4
	markerJPG   = 0xc8
	markerDAC   = 0xcc
	markerSOF15 = 0xcf
	markerSOS   = 0xda
	markerDQT   = 0xdb
	markerDRI   = 0xdd
)

// rtpJPEG makes JPEGs of RTP packets by RFC 2435, and by ONVIF's Streaming Specification
// ("JPEG over RTP"), in which a header extension carries what RFC 2435 cannot say. Its zero
// value is ready.
type rtpJPEG struct {
	// described is the picture's size by the session description; 0: it does not say.
	described size
	// byQ are the quantization tables of each Q below 255; those from 128 on may come once only
	// (RFC 2435, section 4.2).
	byQ map[byte][]byte
	// last are the segments of the picture before, to which ONVIF lets the next one refer.
	last onvifSegments
	// unwrapped is the size of pictures whose packets say said, if it was counted: see
	// unwrapSize.
	said, unwrapped size
	counted         bool

	marked bool   // there were packets with the marker
	before []byte // the picture before the one that is not complete, if no marker ended it

	// The rest is of the picture that is not complete.
	open     bool
	time     uint32 // RTP
	header   jpegHeader
	tables   []byte // quantization tables, 64 bytes each
	extended bool   // by ONVIF's header extension
	segments []byte // of it, as far as they came
	scan     []byte // entropy-coded data
	offset   int    // of the next fragment: bytes of scan that came in payloads
}

type size struct{ width, height int }

// wrap is s as packets can say it: in eighths, of which there are eight bits.
func (s size) wrap() size {
	side := func(n int) int { return 8 * ((n + 7) / 8 & 0xff) }
	return size{side(s.width), side(s.height)}
}

// reset forgets the picture that is not complete.
func (d *rtpJPEG) reset() {
	d.open, d.extended, d.offset = false, false, 0
	d.tables, d.segments, d.scan = nil, nil, nil
}

// jpegHeader is the main header of a packet and the restart marker header: RFC 2435,
// sections 3.1 and 3.1.7.
type jpegHeader struct {
	offset   int
	typ      byte
	q        byte
	size     size // as it is said: 0 is unknown
	interval uint16
}

var errShortPacket = errors.New("RTP/JPEG: a packet ends within its header")

func (h *jpegHeader) read(payload []byte) (rest []byte, err error) {
	const length, restart = 8, 4
	if len(payload) < length {
		return nil, errShortPacket
	}
	h.offset = int(binary.BigEndian.Uint32(payload) & 0xffffff)
	h.typ, h.q = payload[4], payload[5]
	h.size = size{8 * int(payload[6]), 8 * int(payload[7])}
	rest = payload[length:]
	if h.restarts() {
		if len(rest) < restart {
			return nil, errShortPacket
		}
		h.interval = binary.BigEndian.Uint16(rest)
		rest = rest[restart:]
	}
	return rest, nil
}

// restarts: types 64 to 127 are those of 0 to 63 with restart markers.
func (h *jpegHeader) restarts() bool { return h.typ >= 64 && h.typ < 128 }

// Profiles of ONVIF's header extension: of a picture's first packet, and of others.
const (
	onvifFirst = 0xffd8
	onvifOther = 0xffff
)

// decode returns the picture that p completes, errIncomplete before.
func (d *rtpJPEG) decode(p *rtp.Packet) ([][]byte, error) {
	if err := d.add(p); err != nil {
		if !errors.Is(err, errIncomplete) {
			d.before = nil
			d.reset()
		}
		return nil, err
	}
	// The end of the picture is the marker; the end of the JPEG will do too, and of a camera
	// that writes neither, the beginning of the next.
	d.marked = d.marked || p.Marker
	image := d.before
	d.before = nil
	if p.Marker || bytes.HasSuffix(d.scan, []byte{0xff, markerEOI}) {
		var err error
		image, err = d.assemble()
		if d.reset(); err != nil {
			return nil, err
		}
	}
	if image == nil {
		return nil, errIncomplete
	}
	return [][]byte{image}, nil
}

// add takes what is in a packet.
func (d *rtpJPEG) add(p *rtp.Packet) error {
	var extension []byte
	if p.Extension && (p.ExtensionProfile == onvifFirst || p.ExtensionProfile == onvifOther) {
		extension = p.GetExtension(0)
	}
	first := p.Extension && p.ExtensionProfile == onvifFirst
	var h jpegHeader
	var rest []byte
	if len(p.Payload) > 0 || extension == nil { // else it may have no header
		var err error
		if rest, err = h.read(p.Payload); err != nil {
			return err
		}
		// A header that is extended may take packets, whose offsets are 0 too.
		goesOn := d.open && d.extended && d.offset == 0 && p.Timestamp == d.time
		if first || h.offset == 0 && !goesOn {
			if d.open && d.offset > 0 && !d.marked {
				if d.before, err = d.assemble(); err != nil {
					return err
				}
			}
			d.reset()
			d.open, d.time, d.header = true, p.Timestamp, h
		}
		if h.offset == 0 {
			if rest, err = d.quantization(&h, rest); err != nil {
				return err
			}
		}
	}
	switch {
	case !d.open:
		return errIncomplete // of a picture whose beginning never came
	case p.Timestamp != d.time || len(rest) > 0 && h.offset != d.offset:
		return fmt.Errorf("RTP/JPEG: a fragment is missing: %d bytes of the picture came, and the next ones are from %d on", d.offset, h.offset)
	case len(d.segments)+len(d.scan)+len(extension)+len(rest) > maxImage:
		return fmt.Errorf("%w: RTP/JPEG: a picture of more than %d bytes", codec.ErrTooLarge, maxImage)
	}
	d.extended = d.extended || first
	if d.extended && len(d.scan) == 0 {
		d.segments = append(d.segments, extension...)
	} else {
		d.scan = append(d.scan, extension...)
	}
	d.scan = append(d.scan, rest...)
	d.offset += len(rest)
	return nil
}

// quantization finds the quantization tables of a picture, whose first packet goes on with
// rest, and returns what follows them: RFC 2435, sections 3.1.8 and 4.2.
func (d *rtpJPEG) quantization(h *jpegHeader, rest []byte) ([]byte, error) {
	const header, table, maxTables = 4, 64, 4
	switch {
	case h.q == 0: // ONVIF: those of the picture before
		return rest, nil
	case h.q < 100:
		if d.tables = d.byQ[h.q]; d.tables == nil {
			d.keep(h.q, scaledTables(h.q))
		}
		return rest, nil
	case h.q < 128:
		return nil, fmt.Errorf("%w: RTP/JPEG with Q %d; 1 to 99 and 128 to 255 are accepted (RFC 2435)", ErrCodec, h.q)
	case len(rest) < header:
		return nil, errShortPacket
	}
	precision, n := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
	rest = rest[header:]
	if n == 0 {
		if d.tables = d.byQ[h.q]; d.tables == nil {
			return nil, fmt.Errorf("RTP/JPEG: the quantization tables of Q %d never came", h.q)
		}
		return rest, nil
	}
	if precision != 0 || n%table != 0 || n > maxTables*table {
		return nil, fmt.Errorf("%w: RTP/JPEG with %d bytes of quantization tables of precision %#x; up to %d tables of 64 bytes are accepted",
			ErrCodec, n, precision, maxTables)
	}
	if len(rest) < n {
		return nil, errShortPacket
	}
	d.keep(h.q, bytes.Clone(rest[:n]))
	return rest[n:], nil
}

// keep has the picture, and later ones of the same Q, have these quantization tables.
func (d *rtpJPEG) keep(q byte, tables []byte) {
	d.tables = tables
	if q == 255 { // each picture has its own
		return
	}
	if d.byQ == nil {
		d.byQ = map[byte][]byte{}
	}
	d.byQ[q] = tables
}

// onvifSegments are the segments of ONVIF's header extension, by kind, each with its marker.
type onvifSegments struct {
	other, dqt, dht, sof, dri, sos []byte
	scan                           []byte // follows sos
}

func (s *onvifSegments) read(b []byte) error {
	for len(b) > 0 {
		if b[0] != 0xff {
			return fmt.Errorf("RTP/JPEG: %#02x where ONVIF's header extension has a JPEG marker", b[0])
		}
		if len(b) == 1 || b[1] == 0xff { // it fills
			b = b[1:]
			continue
		}
		marker := b[1]
		if marker == markerSOI { // it is not meant to be there
			b = b[2:]
			continue
		}
		if len(b) < 4 || len(b) < 2+int(binary.BigEndian.Uint16(b[2:])) || binary.BigEndian.Uint16(b[2:]) < 2 {
			return fmt.Errorf("RTP/JPEG: ONVIF's header extension ends within the segment %#02x", marker)
		}
		n := 2 + int(binary.BigEndian.Uint16(b[2:]))
		segment := b[:n]
		b = b[n:]
		switch {
		case marker == markerDQT:
			s.dqt = append(s.dqt, segment...)
		case marker == markerDHT:
			s.dht = append(s.dht, segment...)
		case marker == markerDRI:
			s.dri = segment
		case marker == markerSOS:
			s.sos, s.scan = segment, b
			return nil
		case marker >= markerSOF0 && marker <= markerSOF15 && marker != markerJPG && marker != markerDAC:
			s.sof = segment
		default: // such as where is up
			s.other = append(s.other, segment...)
		}
	}
	return nil
}

// assemble makes a JPEG of what came, by RFC 2435, appendix B, and by ONVIF, whose segments
// come before what is derived from the packets' headers.
func (d *rtpJPEG) assemble() ([]byte, error) {
	h := &d.header
	var s onvifSegments
	if d.extended {
		if err := s.read(d.segments); err != nil {
			return nil, err
		}
		s.dht = orLast(s.dht, d.last.dht)
	}
	if h.q == 0 {
		s.dqt = orLast(s.dqt, d.last.dqt)
	}
	if h.size == (size{}) && d.described == (size{}) {
		s.sof = orLast(s.sof, d.last.sof)
	}
	dqt := append(quantizationSegment(d.tables), s.dqt...)
	if len(dqt) == 0 {
		return nil, fmt.Errorf("%w: RTP/JPEG with Q 0 and no quantization tables; 1 to 99 and 128 to 255 are accepted (RFC 2435)", ErrCodec)
	}
	scan := slices.Concat(s.scan, d.scan)
	if len(s.sof) == 0 {
		var err error
		if s.sof, err = d.frameSegment(scan); err != nil {
			return nil, err
		}
	}
	if len(s.dri) == 0 && h.interval > 0 {
		s.dri = segment(markerDRI, binary.BigEndian.AppendUint16(nil, h.interval))
	}
	if len(s.sos) == 0 {
		s.sos = scanSegment(s.sof)
	}
	d.last = onvifSegments{dqt: dqt, dht: bytes.Clone(s.dht), sof: bytes.Clone(s.sof)}
	image := slices.Concat([]byte{0xff, markerSOI}, s.other, dqt, huffmanSegment, s.dht, s.sof, s.dri, s.sos, scan)
	if !bytes.HasSuffix(image, []byte{0xff, markerEOI}) {
		image = append(image, 0xff, markerEOI)
	}
	return image, nil
}

// segment is a JPEG segment: T.81, B.1.1.4.
func segment(marker byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(body))), body...)
}

// quantizationSegment defines tables of 64 bytes, of 8 bits a value.
func quantizationSegment(tables []byte) (out []byte) {
	number := byte(0)
	for table := range slices.Chunk(tables, 64) {
		out = append(out, segment(markerDQT, []byte{number}, table)...)
		number++
	}
	return out
}

// frameSegment is the header of the frame by RFC 2435: baseline, with two components for
// colour that are half as wide (type 0) and half as high (type 1) as the picture.
func (d *rtpJPEG) frameSegment(scan []byte) ([]byte, error) {
	h := &d.header
	kind := h.typ
	if h.restarts() {
		kind -= 64
	}
	if kind > 1 {
		return nil, fmt.Errorf("%w: RTP/JPEG of type %d; 0, 1, 64 and 65 are accepted (RFC 2435), others with a frame header in ONVIF's header extension; "+
			"choose H.264, H.265 or another MJPEG format in the camera's settings", ErrCodec, h.typ)
	}
	pic, unsaid := d.described, h.size.width == 0 || h.size.height == 0
	if codec.CheckSize(pic.width, pic.height) != nil || !unsaid && pic.wrap() != h.size {
		pic = d.unwrapSize(h.size, scan)
	}
	if pic.width == 0 || pic.height == 0 {
		return nil, d.noSize()
	}
	sampling, colour := byte(0x21), byte(0)
	if kind == 1 {
		sampling = 0x22
	}
	if len(d.tables) > 64 {
		colour = 1
	}
	b := binary.BigEndian.AppendUint16([]byte{8}, uint16(pic.height))
	b = binary.BigEndian.AppendUint16(b, uint16(pic.width))
	return segment(markerSOF0, b, []byte{3, 1, sampling, 0, 2, 0x11, colour, 3, 0x11, colour}), nil
}

// noSize says that the size of a picture is not known.
func (d *rtpJPEG) noSize() error {
	if d.extended { // a later picture may say it
		return errors.New("RTP/JPEG: the picture is wider or higher than 2040 pixels, and its size has not come yet")
	}
	return fmt.Errorf("%w: RTP/JPEG of a picture wider or higher than 2040 pixels (RFC 2435), whose size the camera says neither "+
		"in ONVIF's header extension nor in its session description; choose a smaller picture, H.264 or H.265 in the camera's settings", ErrCodec)
}

// scanSegment begins a scan of all components of a frame, whose colours share tables.
func scanSegment(sof []byte) []byte {
	const count, first, each = 9, 10, 3 // bytes of SOF: T.81, figure B.3
	n := 0
	if len(sof) > count {
		n = min(int(sof[count]), (len(sof)-first)/each)
	}
	b := []byte{byte(n)}
	for i := range n {
		tables := byte(0x11)
		if i == 0 {
			tables = 0
		}
		b = append(b, sof[first+each*i], tables)
	}
	return segment(markerSOS, b, []byte{0, 63, 0})
}

// orLast is b, or what there was in the picture before.
func orLast(b, last []byte) []byte {
	if len(b) > 0 {
		return b
	}
	return last
}
