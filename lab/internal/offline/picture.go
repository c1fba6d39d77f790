package offline

import (
	"bytes"
	"time"
)

// Picture is one frame, with its ground truth where that is known.
type Picture struct {
	Width, Height int
	BGR           []byte  // tight BGR24
	Truth         []uint8 // 1 on the object
	// Time is stream time.
	Time time.Duration
}

// Blank is a picture of one colour, without object.
func Blank(width, height int, bgr [3]byte) *Picture {
	return &Picture{Width: width, Height: height, BGR: bytes.Repeat(bgr[:], width*height), Truth: make([]uint8, width*height)}
}
