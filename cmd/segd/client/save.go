package client

import (
	"fmt"
	"sync/atomic"

	"github.com/segd/segd/bus/segdv1"
)

// How many frames wait for the disk before further ones are left out: some seconds of a camera.
const (
	SaveQueue = 64
	saveBytes = 128 << 20 // of pictures, which may be large
)

// Saver writes frames apart from the goroutine that reads the stream, so that a
// slow or full disk does not hold that up.
type Saver struct {
	path  string // for people, after the command
	write func(Picture) error
	say   func(string)
	end   func() error // after the last write

	queue   chan Picture
	waiting atomic.Int64 // bytes of pictures in it, and of the one that is written
	dropped int          // frames the queue had no room for; Offer's
	done    chan struct{}
	saved   int // until done is closed: run's, as what follows
	failed  int
}

// Picture is a frame.
type Picture struct {
	Masks  *segdv1.MaskFrame
	JPEG   []byte // nil where only masks came
	Chosen bool   // if there is a choice
}

// NewSaver starts a saver, for which so many frames may be waiting, that calls write with one frame after the other, and say
// when that begins to fail and when it does no more. end, if any, is called after the
// last.
func NewSaver(path string, waiting int, write func(Picture) error, say func(string), end func() error) *Saver {
	s := &Saver{path: path, write: write, say: say, end: end, queue: make(chan Picture, waiting), done: make(chan struct{})}
	go s.run()
	return s
}

// Offer queues a frame, or counts it as left out.
func (s *Saver) Offer(p Picture) {
	size := int64(len(p.JPEG))
	if s.waiting.Add(size) <= saveBytes {
		select {
		case s.queue <- p:
			return
		default:
		}
	}
	s.waiting.Add(-size)
	if s.dropped == 0 {
		s.say(fmt.Sprintf("%s: saving is slower than the stream, from frame %d on frames are left out", s.path, p.Masks.Sequence))
	}
	s.dropped++
}

func (s *Saver) run() {
	defer close(s.done)
	row := 0 // failures since the last frame that was saved
	for p := range s.queue {
		err := s.write(p)
		s.waiting.Add(-int64(len(p.JPEG)))
		switch {
		case err != nil && row == 0:
			s.say(fmt.Sprintf("%s: frame %d is not saved: %v; the stream goes on", s.path, p.Masks.Sequence, err))
		case err == nil && row > 0:
			s.say(fmt.Sprintf("%s: saved again from frame %d on, %d were not", s.path, p.Masks.Sequence, row))
		}
		if err == nil {
			s.saved++
			row = 0
			continue
		}
		s.failed++
		row++
	}
}

// Close writes what waits and returns an error if not every frame was saved.
func (s *Saver) Close() error {
	close(s.queue)
	<-s.done
	var err error
	if s.end != nil {
		err = s.end()
	}
	if s.failed+s.dropped == 0 {
		return err
	}
	return fmt.Errorf("%s: %d frames saved, %d not, %d left out because saving is slower than the stream",
		s.path, s.saved, s.failed, s.dropped)
}
