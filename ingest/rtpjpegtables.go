package ingest

import (
	"bytes"
	"image"
	"image/jpeg"
	"slices"

	"github.com/segd/segd/ingest/codec"
)

// standardTables are the segments of the tables of T.81, annex K, which are those of RFC 2435,
// appendices A and B: for quantization, scaled to a quality of 1 to 100, and Huffman's.
// image/jpeg's encoder scales them likewise, and writes them to any picture in colour.
func standardTables(quality int) (s onvifSegments) {
	var picture bytes.Buffer
	_ = jpeg.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 1, 1)), &jpeg.Options{Quality: quality}) // a buffer takes all
	_ = s.read(picture.Bytes())
	return s
}

// segmentHeader is the marker and the length of a segment, in bytes.
const segmentHeader = 4

// scaledTables are the quantization tables of a quality of 1 to 99: RFC 2435, section 4.2.
func scaledTables(q byte) (out []byte) {
	for numbered := range slices.Chunk(standardTables(int(q)).dqt[segmentHeader:], 1+64) {
		out = append(out, numbered[1:]...)
	}
	return out
}

// huffmanTable is a table of T.81, section K.3: how many codes there are of each length, and
// what they stand for.
type huffmanTable struct{ counts, symbols []byte }

// huffmanSegment defines the tables of DC and AC coefficients, of luma and chroma.
var huffmanSegment = standardTables(jpeg.DefaultQuality).dht

var (
	huffmanTables = readHuffman(huffmanSegment[segmentHeader:])

	lumaDC, lumaAC, chromaDC, chromaAC = huffmanTables[0], huffmanTables[1], huffmanTables[2], huffmanTables[3]
)

// readHuffman reads the tables of a segment, each with a byte before it.
func readHuffman(b []byte) (out []huffmanTable) {
	const lengths = 16
	for len(b) > 0 {
		t, n := huffmanTable{counts: b[1 : 1+lengths]}, 0
		for _, count := range t.counts {
			n += int(count)
		}
		t.symbols, b = b[1+lengths:][:n], b[1+lengths+n:]
		out = append(out, t)
	}
	return out
}

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
