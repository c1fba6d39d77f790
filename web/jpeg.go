package web

import (
	"errors"
	"fmt"
	"sync"

	"github.com/segd/segd/ingest/codec"
)

// encoders turn a camera's pictures into JPEGs of the widths that are asked for. They keep
// what they need for pictures of one size.
type encoders struct {
	quality int

	mu            sync.Mutex // guards what follows
	closed        bool
	width, height int
	byWidth       map[int]*codec.JPEGEncoder
}

// encode returns bgr (tight rows of width×3 bytes) as JPEG in memory of its own, to pixels
// wide or, if it is narrower, as it is.
func (e *encoders) encode(bgr []byte, width, height, to int) ([]byte, error) {
	if width <= 0 || height <= 0 || len(bgr) != 3*width*height {
		return nil, fmt.Errorf("web: picture of %d bytes for %d×%d; accepts tight BGR, 3 bytes a pixel", len(bgr), width, height)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("web: encoding JPEG: the camera is gone")
	}
	if e.width != width || e.height != height {
		e.free()
		e.width, e.height, e.byWidth = width, height, map[int]*codec.JPEGEncoder{}
	}
	to = min(to, width)
	encoder := e.byWidth[to]
	if encoder == nil {
		var err error
		if encoder, err = codec.NewJPEGEncoder(width, height, to, max(1, (height*to+width/2)/width), e.quality); err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		e.byWidth[to] = encoder
	}
	picture, err := encoder.Encode(bgr)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return picture, nil
}

func (e *encoders) free() {
	for _, encoder := range e.byWidth {
		encoder.Close()
	}
	e.byWidth = nil
}

// close frees all memory; nothing is encoded any more.
func (e *encoders) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.free()
}
