// Package record writes pictures to files: each to a PNG in a folder, or all to one video.
package record

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// Recording takes pictures, each to a PNG in a folder, or all to one video.
type Recording struct {
	dir    *os.Root
	video  string
	muxer  *codec.Muxer // of the video, from its first picture on
	size   image.Point  // of the video's pictures
	bgr    []byte
	count  int   // pictures written
	broken error // the fault of the video after which nothing can be added
}

// videoFPS is DAVIS' rate.
const videoFPS = 24

// Open makes the folder, or sees that the video can be made. It does
// nothing for an empty path.
func Open(path string) (*Recording, error) {
	if !strings.EqualFold(filepath.Ext(path), ".mp4") {
		if path == "" {
			return &Recording{}, nil
		}
		dir, err := OpenFolder(path)
		return &Recording{dir: dir}, err
	}
	// Better a fault now than after the first frame.
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Recording{video: path}, f.Close()
}

// Close ends the video.
func (o *Recording) Close() error {
	switch {
	case o.dir != nil:
		return o.dir.Close()
	case o.muxer != nil:
		return o.muxer.Close()
	}
	return nil
}

// Write adds a picture of a sequence; name is its file's in a folder, without
// extension.
func (o *Recording) Write(name string, img *image.RGBA) error {
	return o.WriteAt(name, img, time.Duration(o.count)*time.Second/videoFPS)
}

// WriteAt adds a picture that a video shows from the time at on.
func (o *Recording) WriteAt(name string, img *image.RGBA, at time.Duration) (err error) {
	o.count++
	if o.video != "" {
		err = o.append(name, img, at)
	} else {
		err = SavePNG(o.dir, name+".png", img)
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// append adds a picture to the video, whose sides are cut to even numbers as H.264
// wants them.
func (o *Recording) append(name string, img *image.RGBA, at time.Duration) error {
	size := img.Rect.Size()
	size.X, size.Y = size.X&^1, size.Y&^1
	if o.muxer == nil && o.broken == nil {
		o.size, o.bgr = size, make([]byte, 3*size.X*size.Y)
		o.muxer, o.broken = codec.CreateFile(o.video, codec.EncoderConfig{Width: size.X, Height: size.Y, FPS: videoFPS})
	}
	if size != o.size {
		return fmt.Errorf("%s is %d×%d, the video %d×%d; write to a folder", name, size.X, size.Y, o.size.X, o.size.Y)
	}
	if o.broken != nil {
		return o.broken
	}
	for y := range size.Y {
		for x := range size.X {
			from, to := img.Pix[y*img.Stride+4*x:], o.bgr[3*(y*size.X+x):]
			to[0], to[1], to[2] = from[2], from[1], from[0]
		}
	}
	o.broken = o.muxer.BGR(o.bgr, at)
	return o.broken
}

// OpenFolder makes the folder, and opens it such that no file's name leads out of it:
// names hold what others sent.
func OpenFolder(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(path)
}

// SavePNG writes a picture to a file, which is removed again if it would be cut short.
func SavePNG(dir *os.Root, name string, img image.Image) (err error) {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(name) // the disk is full already
		}
	}()
	quick := png.Encoder{CompressionLevel: png.BestSpeed}
	return errors.Join(quick.Encode(f, img), f.Close())
}
