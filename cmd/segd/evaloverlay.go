package main

import (
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/eval/davis"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
)

// overlays writes pictures with masks drawn on, each to a PNG in a folder, or all
// to one video.
type overlays struct {
	dir    *os.Root
	video  string
	muxer  *codec.Muxer // of the video, from its first picture on
	size   image.Point  // of the video's pictures
	bgr    []byte
	count  int           // pictures written
	origin time.Duration // stream time of the first of a live camera's
	broken error         // the fault of the video after which nothing can be added
}

// videoFPS is DAVIS' rate.
const videoFPS = 24

// openOverlays makes the folder, or sees that the video can be made. It does
// nothing for an empty path.
func openOverlays(path string) (*overlays, error) {
	if !strings.EqualFold(filepath.Ext(path), ".mp4") {
		if path == "" {
			return &overlays{}, nil
		}
		dir, err := openFolder(path)
		return &overlays{dir: dir}, err
	}
	// Better a fault now than after the first frame.
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &overlays{video: path}, f.Close()
}

func (o *overlays) close() error {
	switch {
	case o.dir != nil:
		return o.dir.Close()
	case o.muxer != nil:
		return o.muxer.Close()
	}
	return nil
}

// write adds a picture of a sequence; name is its file's in a folder, without
// extension.
func (o *overlays) write(name string, img *image.RGBA) error {
	return o.writeAt(name, img, time.Duration(o.count)*time.Second/videoFPS)
}

// live adds a frame of a camera, in a video at its time since the first.
func (o *overlays) live(m *segdv1.MaskFrame, picture []byte) error {
	img, err := drawMasks(m, picture)
	if err != nil {
		return err
	}
	if o.count == 0 {
		o.origin = time.Duration(m.PtsNs)
	}
	return o.writeAt(frameName(m), img, time.Duration(m.PtsNs)-o.origin)
}

// writeAt adds a picture that a video shows from the time at on.
func (o *overlays) writeAt(name string, img *image.RGBA, at time.Duration) (err error) {
	o.count++
	if o.video != "" {
		err = o.append(name, img, at)
	} else {
		err = savePNG(o.dir, name+".png", img)
	}
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	return nil
}

// append adds a picture to the video, whose sides are cut to even numbers as H.264
// wants them.
func (o *overlays) append(name string, img *image.RGBA, at time.Duration) error {
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

// davis writes a followed frame.
func (o *overlays) davis(sequence string, index int, f davis.Frame) error {
	img := maskOverlay(f.Image, f.Result.Objects[0].Mask)
	outline(img, f.Truth, truthColour)
	return o.write(fmt.Sprintf("%s-%05d", sequence, index), img)
}

var truthColour = color.RGBA{G: 255, A: 255}

// maskOverlay returns img with one object's mask drawn as `segd watch` draws it.
func maskOverlay(img image.Image, m mask.RLE) *image.RGBA {
	labels := image.NewPaletted(image.Rect(0, 0, m.Width, m.Height), palette)
	labels.Pix = m.Decode(labels.Pix)
	return overlay(img, labels)
}

// outline draws the pixels of m that touch a pixel outside it.
func outline(img *image.RGBA, m mask.RLE, c color.RGBA) {
	bits := m.Decode(nil)
	at := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < m.Width && y < m.Height && bits[y*m.Width+x] != 0
	}
	for y := range m.Height {
		for x := range m.Width {
			inside := at(x-1, y) && at(x+1, y) && at(x, y-1) && at(x, y+1)
			if at(x, y) && !inside {
				img.SetRGBA(x, y, c)
			}
		}
	}
}
