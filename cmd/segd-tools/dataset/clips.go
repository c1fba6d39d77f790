package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/outputs/draw"
)

// What a clip has of what was before and after the frame it is for, and at most. Longer ones go on in another file.
const (
	clipBefore = 5 * time.Second
	clipAfter  = 10 * time.Second
	clipMost   = time.Minute
)

// clipWaiting bounds the pictures from before, in bytes of JPEG.
const clipWaiting = 128 << 20

// Clips writes videos, MP4, of the times about chosen frames to a recording: with the masks drawn on, or
// MaskFrames as JSON lines beside, a frame a line.
type Clips struct {
	to     *Recording
	beside bool

	waiting []clipFrame // that may be the beginning of a clip
	bytes   int
	until   time.Duration // stream time until which a clip goes on
	clip    *clip         // that is written
	bgr     []byte        // of a frame
	failed  error         // the fault after which nothing was written yet
}

type clipFrame struct {
	masks   *segdv1.MaskFrame
	picture []byte
}

func (f clipFrame) at() time.Duration { return time.Duration(f.masks.GetPtsNs()) }

// follows tells whether f can be in one video with the frame p before it.
func (f clipFrame) follows(p clipFrame) bool {
	a, b := f.masks, p.masks
	return a.GetEpoch() == b.GetEpoch() && a.GetWidth() == b.GetWidth() && a.GetHeight() == b.GetHeight() && f.at() > p.at()
}

// NewClips returns what writes clips to a recording, which is the caller's to close.
func NewClips(to *Recording, beside bool) *Clips { return &Clips{to: to, beside: beside} }

// Add takes the next frame, which a clip is to be about if it is chosen. The error is why frames are left out of a clip, or
// why it ends early or was not begun; then it comes with all frames until one is written.
func (c *Clips) Add(m *segdv1.MaskFrame, picture []byte, chosen bool) error {
	f := clipFrame{m, picture}
	if n := len(c.waiting); n > 0 && !f.follows(c.waiting[n-1]) || c.clip != nil && !f.follows(c.clip.last) {
		c.waiting, c.bytes, c.until = nil, 0, 0
		c.end()
	}
	c.waiting = append(c.waiting, f)
	c.bytes += len(picture)
	for c.bytes > clipWaiting || c.waiting[0].at() < f.at()-clipBefore {
		c.bytes -= len(c.waiting[0].picture)
		c.waiting = c.waiting[1:]
	}
	if chosen {
		c.until = f.at() + clipAfter
	}
	if c.clip != nil && (f.at() > c.until || f.at() >= c.clip.first+clipMost) {
		c.end()
	}
	if f.at() > c.until || c.until == 0 {
		return c.failed
	}
	leftOut, err := c.write()
	if err != nil {
		c.until, c.failed = 0, err
		c.end()
	}
	return cmp.Or(c.failed, leftOut)
}

// write adds the frames that wait to the clip, or begins one. Those whose picture is damaged are left out.
func (c *Clips) write() (leftOut, err error) {
	damaged, first := 0, error(nil)
	defer func() {
		if damaged > 0 {
			leftOut = fmt.Errorf("%d damaged pictures are left out of the clip; the first: %w", damaged, first)
		}
	}()
	for len(c.waiting) > 0 {
		f := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.bytes -= len(f.picture)
		if err := c.draw(f); err != nil {
			damaged, first = damaged+1, cmp.Or(first, fmt.Errorf("frame %d: %w", f.masks.GetSequence(), err))
			continue
		}
		if c.clip == nil {
			if c.clip, err = newClip(c.to.dir, f, c.beside); err != nil {
				return nil, err
			}
		}
		if err := c.clip.add(f, c.bgr); err != nil {
			return nil, err
		}
		c.failed = nil
	}
	return nil, nil
}

// draw makes c.bgr what a clip shows of a frame.
func (c *Clips) draw(f clipFrame) (err error) {
	width, height := int(f.masks.GetWidth()), int(f.masks.GetHeight())
	if fault := codec.DecodeJPEG(f.picture, func(p *codec.Picture) {
		if p.Width != width || p.Height != height {
			err = fmt.Errorf("masks of %d×%d on a picture of %d×%d", width, height, p.Width, p.Height)
			return
		}
		c.bgr = slices.Grow(c.bgr[:0], 3*width*height)[:3*width*height]
		err = p.BGR(c.bgr)
	}); fault != nil {
		return fault
	}
	if err == nil && !c.beside {
		err = draw.BGR(c.bgr, width, height).Masks(f.masks)
	}
	return err
}

// end ends the clip that is written, and removes the oldest files if they are too many with it.
func (c *Clips) end() {
	if c.clip == nil {
		return
	}
	n := nameOf(c.clip.began)
	err := c.clip.close()
	var size int64
	for _, ext := range []string{extClip, extClipMasks} {
		if info, err := c.to.dir.Stat(n.String() + ext); err == nil {
			size += info.Size()
		}
	}
	if c.clip.last.masks == nil { // nothing was written
		err = errors.Join(err, c.to.remove(n))
	} else {
		c.to.keep(n, size)
		err = errors.Join(err, c.to.makeRoom(0))
		if size > c.to.most {
			err = errors.Join(err, fmt.Errorf("a clip has %d bytes; all of the recording may have %d", size, c.to.most))
		}
	}
	c.clip = nil
	if err != nil && c.failed == nil {
		c.failed = err
	}
}

// Close ends the clip that is written.
func (c *Clips) Close() error {
	c.end()
	return c.failed
}

type clip struct {
	began *segdv1.MaskFrame
	first time.Duration
	last  clipFrame
	video *codec.Muxer
	masks *os.File // nil: they are drawn
}

func newClip(dir *os.Root, f clipFrame, beside bool) (c *clip, err error) {
	width, height := int(f.masks.GetWidth()), int(f.masks.GetHeight())
	c = &clip{began: f.masks, first: f.at()}
	file := nameOf(f.masks).String()
	if beside {
		if c.masks, err = dir.Create(file + extClipMasks); err != nil {
			return nil, err
		}
	}
	// H.264 has pictures of even sides.
	c.video, err = codec.CreateFile(filepath.Join(dir.Name(), file+extClip), codec.EncoderConfig{Width: width &^ 1, Height: height &^ 1})
	if err != nil {
		if beside {
			err = errors.Join(err, c.masks.Close(), dir.Remove(file+extClipMasks))
		}
		if fault := dir.Remove(file + extClip); !errors.Is(fault, fs.ErrNotExist) {
			err = errors.Join(err, fault)
		}
		return nil, err
	}
	return c, nil
}

// add adds a frame and its pixels, which it may change.
func (c *clip) add(f clipFrame, bgr []byte) error {
	if err := c.video.BGR(even(bgr, int(f.masks.GetWidth()), int(f.masks.GetHeight())), f.at()-c.first); err != nil {
		return err
	}
	c.last = f
	if c.masks == nil {
		return nil
	}
	line, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(f.masks)
	if err == nil {
		_, err = c.masks.Write(append(line, '\n'))
	}
	return err
}

// even cuts a picture's sides to even numbers, in place.
func even(bgr []byte, width, height int) []byte {
	w, h := width&^1, height&^1
	if w != width {
		for y := range h {
			copy(bgr[3*w*y:3*w*(y+1)], bgr[3*width*y:])
		}
	}
	return bgr[:3*w*h]
}

func (c *clip) close() error {
	err := c.video.Close()
	if c.masks != nil {
		err = errors.Join(err, c.masks.Close())
	}
	return err
}
