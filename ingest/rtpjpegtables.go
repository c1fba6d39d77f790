package ingest

import "github.com/segd/segd/ingest/codec"

// lumaQuantizers and chromaQuantizers are T.81's, tables K.1 and K.2, in zigzag order, for a
// quality of 50: RFC 2435, appendix A.
var (
	lumaQuantizers = [64]byte{
		16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40,
		26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61, 60, 57, 51,
		56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87,
		95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
	}
	chromaQuantizers = [64]byte{
		17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
	}
)

// huffmanTable is a table of T.81, section K.3: how many codes there are of each length, and
// what they stand for.
type huffmanTable struct {
	counts  [16]byte
	symbols []byte
}

// The tables of RFC 2435, appendix B: of DC and AC coefficients, of luma and chroma.
var (
	lumaDC = huffmanTable{
		[16]byte{0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
		[]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
	}
	chromaDC = huffmanTable{
		[16]byte{0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0},
		[]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
	}
	lumaAC = huffmanTable{
		[16]byte{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125},
		[]byte{
			0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
			0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0,
			0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28,
			0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
			0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69,
			0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
			0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
			0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5,
			0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
			0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
			0xf9, 0xfa,
		},
	}
	chromaAC = huffmanTable{
		[16]byte{0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119},
		[]byte{
			0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
			0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0,
			0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26,
			0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
			0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
			0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
			0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5,
			0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
			0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
			0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
			0xf9, 0xfa,
		},
	}
)

// huffmanSegment defines them.
var huffmanSegment = segment(markerDHT,
	[]byte{0x00}, lumaDC.counts[:], lumaDC.symbols, []byte{0x10}, lumaAC.counts[:], lumaAC.symbols,
	[]byte{0x01}, chromaDC.counts[:], chromaDC.symbols, []byte{0x11}, chromaAC.counts[:], chromaAC.symbols)

// unwrapSize returns the size of a picture whose packets say said: eighths of its sides, in
// eight bits each. RFC 2435 ends at 2040 pixels because of that; senders such as FFmpeg's
// write the lowest eight bits of larger ones all the same, so that 2560 pixels become 512.
// The number of coded units tells: if there are more than the packets say, and as many as
// with a multiple of 2048 pixels added to a side, that was added. Where that is so of two
// sizes, the one that is less long is more likely.
func (d *rtpJPEG) unwrapSize(said size, scan []byte) size {
	if said == d.said && d.counted {
		return d.unwrapped
	}
	const wraps = 256 * 8
	type0 := d.header.typ&1 == 0
	n := countUnits(scan, type0)
	if n < unitsIn(said, type0) { // a picture that is not whole tells nothing
		return said
	}
	d.said, d.unwrapped, d.counted = said, said, true
	for w := said.width; w <= codec.MaxSide && n > unitsIn(said, type0); w += wraps {
		for h := said.height; h <= codec.MaxSide; h += wraps {
			if s := (size{w, h}); unitsIn(s, type0) == n && (d.unwrapped == said || s.longer() < d.unwrapped.longer()) {
				d.unwrapped = s
			}
		}
	}
	return d.unwrapped
}

// longer is how many times as long as the other a side is; if the height, a little more.
func (s size) longer() float64 {
	if s.width < s.height {
		return 1.01 * float64(s.height) / float64(s.width)
	}
	return float64(s.width) / float64(s.height)
}

// unitsIn is how many minimum coded units (T.81, A.2) a picture of a size has. They are of
// 16×8 pixels in type 0, of 16×16 in type 1.
func unitsIn(s size, type0 bool) int {
	height := 16
	if type0 {
		height = 8
	}
	return (s.width + 15) / 16 * ((s.height + height - 1) / height)
}

// countUnits counts the minimum coded units in entropy-coded data, up to where it ends or
// makes no sense.
func countUnits(scan []byte, type0 bool) (n int) {
	luma := 4 // blocks in a unit; two of chroma follow
	if type0 {
		luma = 2
	}
	r := scanReader{in: scan}
	for ; ; n++ {
		r.restart()
		for block := range luma + 2 {
			dc, ac := &lumaDC, &lumaAC
			if block >= luma {
				dc, ac = &chromaDC, &chromaAC
			}
			if !r.skip(dc, ac) {
				return n
			}
		}
	}
}

// scanReader reads entropy-coded data: T.81, annex F.
type scanReader struct {
	in   []byte // what is left
	last byte   // the byte that is being read
	left int    // bits of it that are left
}

// restart goes past a restart marker, if that is next. What is left of the byte before it
// fills, for a unit takes more bits.
func (r *scanReader) restart() {
	if len(r.in) > 1 && r.in[0] == 0xff && r.in[1] >= markerRST0 && r.in[1] <= markerRST7 {
		r.in, r.left = r.in[2:], 0
	}
}

// bit returns the next bit; -1 at the end.
func (r *scanReader) bit() int {
	if r.left == 0 {
		if len(r.in) == 0 {
			return -1
		}
		r.last, r.left = r.in[0], 8
		r.in = r.in[1:]
		if r.last == 0xff { // a zero follows, or it is a marker
			if len(r.in) == 0 || r.in[0] != 0 {
				r.in, r.left = nil, 0
				return -1
			}
			r.in = r.in[1:]
		}
	}
	r.left--
	return int(r.last>>r.left) & 1
}

// symbol reads a Huffman code: T.81, F.2.2.3; -1 at the end, or if there is no such code.
func (r *scanReader) symbol(t *huffmanTable) int {
	code, first, index := 0, 0, 0
	for _, count := range t.counts {
		b := r.bit()
		if b < 0 {
			return -1
		}
		code |= b
		if k := code - first; k < int(count) {
			return int(t.symbols[index+k])
		}
		index += int(count)
		first = (first + int(count)) << 1
		code <<= 1
	}
	return -1
}

// skip reads a block, and tells whether it was there: T.81, F.2.2.
func (r *scanReader) skip(dc, ac *huffmanTable) bool {
	for k := 0; k < 64; k++ {
		table := ac
		if k == 0 {
			table = dc
		}
		s := r.symbol(table)
		if s < 0 {
			return false
		}
		zeros, size := s>>4, s&15
		if k > 0 && s == 0 { // the end of the block
			return true
		}
		k += zeros
		for range size {
			if r.bit() < 0 {
				return false
			}
		}
	}
	return true
}
