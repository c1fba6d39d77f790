package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/segd/segd/ingest/codec"
)

const (
	// maxImage is the largest JPEG taken from a stream of them, as the depacketisers
	// of RTP have it.
	maxImage = 8 << 20
	// maxBetween bounds what parts two images: a boundary and headers.
	maxBetween = 64 << 10
)

// Markers of JPEG without a segment: ITU-T T.81, table B.1.
const (
	markerTEM  = 0x01
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
)

// jpegs finds the images in a stream of JPEGs by their markers. What parts them, boundaries, headers and lengths, it
// skips: cameras have many ways of getting those wrong. An image is there as soon as its last byte is, or, if its end
// is missing, when the next begins.
type jpegs struct {
	in    *bufio.Reader
	begun bool // the start of an image was read with the one before
	image []byte
}

func newJPEGs(r io.Reader) *jpegs { return &jpegs{in: bufio.NewReader(r)} }

var errNextImage = errors.New("the next image begins")

// next returns the next image, whose bytes are the caller's.
func (j *jpegs) next() ([]byte, error) {
	if !j.begun {
		if err := j.skip(); err != nil {
			return nil, err
		}
	}
	j.begun = false
	j.image = append(make([]byte, 0, cap(j.image)), 0xff, markerSOI)
	switch err := j.read(); {
	case errors.Is(err, errNextImage):
		j.begun = true
		j.image = j.image[:len(j.image)-2]
	case err != nil:
		return nil, err
	}
	return j.image, nil
}

// skip reads on until an image begins.
func (j *jpegs) skip() error {
	var seen []byte
	for last := byte(0); ; {
		b, err := j.in.ReadByte()
		switch {
		case err == nil && last == 0xff && b == markerSOI:
			return nil
		case errors.Is(err, io.EOF) && j.image == nil && len(seen) > 0, len(seen) == maxBetween:
			return fmt.Errorf("%w: no JPEG in %d bytes, which begin with %q", ErrNoVideo, len(seen), seen[:min(64, len(seen))])
		case err != nil:
			return err
		}
		last = b
		seen = append(seen, b)
	}
}

// read reads an image up to its end.
func (j *jpegs) read() error {
	marker, err := j.marker()
	for {
		switch {
		case err != nil:
			return err
		case marker == markerEOI:
			return nil
		case marker == markerSOI:
			return errNextImage
		case marker != markerTEM:
			if err := j.segment(); err != nil {
				return err
			}
		}
		// After SOS there is entropy-coded data up to the next marker. Elsewhere there is nothing; what is there all the
		// same is for the decoder.
		marker, err = j.marker()
	}
}

// marker reads up to a marker and returns it. A zero after 0xff stuffs entropy-coded data, and another 0xff fills.
func (j *jpegs) marker() (byte, error) {
	for last := byte(0); ; {
		b, err := j.byte()
		if err != nil {
			return 0, err
		}
		if last == 0xff && b != 0 && b != 0xff && !(b >= markerRST0 && b <= markerRST7) {
			return b, nil
		}
		last = b
	}
}

// segment reads the parameters of a marker: T.81, B.1.1.4.
func (j *jpegs) segment() error {
	high, err := j.byte()
	if err != nil {
		return err
	}
	low, err := j.byte()
	if err != nil {
		return err
	}
	for range int(high)<<8 + int(low) - 2 {
		if _, err := j.byte(); err != nil {
			return err
		}
	}
	return nil
}

func (j *jpegs) byte() (byte, error) {
	if len(j.image) > maxImage {
		return 0, fmt.Errorf("%w: an image of more than %d bytes", codec.ErrTooLarge, maxImage)
	}
	b, err := j.in.ReadByte()
	if err == nil {
		j.image = append(j.image, b)
	}
	return b, err
}
