package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/segd/segd/eval"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
)

// overlays writes pictures with masks drawn on, each to a PNG in a folder, or all
// to one video.
type overlays struct {
	dir   string
	video string
	muxer *codec.Muxer // of the video, from its first picture on
	size  image.Point  // of the video's pictures
	bgr   []byte
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
		return &overlays{dir: path}, os.MkdirAll(path, 0o755)
	}
	// Better a fault now than after the first frame.
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &overlays{video: path}, f.Close()
}

func (o *overlays) close() error {
	if o.muxer == nil {
		return nil
	}
	return o.muxer.Close()
}

// write adds a picture; name is its file's in a folder, without extension.
func (o *overlays) write(name string, img *image.RGBA) (err error) {
	if o.video != "" {
		return o.append(name, img)
	}
	f, err := os.Create(filepath.Join(o.dir, name+".png"))
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	quick := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := quick.Encode(f, img); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	return nil
}

// append adds a picture to the video, whose sides are cut to even numbers as H.264
// wants them.
func (o *overlays) append(name string, img *image.RGBA) error {
	size := img.Rect.Size()
	size.X, size.Y = size.X&^1, size.Y&^1
	if o.muxer == nil {
		m, err := codec.CreateFile(o.video, codec.EncoderConfig{Width: size.X, Height: size.Y, FPS: videoFPS})
		if err != nil {
			return fmt.Errorf("overlay: %w", err)
		}
		o.muxer, o.size, o.bgr = m, size, make([]byte, 3*size.X*size.Y)
	}
	if size != o.size {
		return fmt.Errorf("overlay: %s is %d×%d, the video %d×%d; write to a folder, or run one sequence", name, size.X, size.Y, o.size.X, o.size.Y)
	}
	for y := range size.Y {
		for x := range size.X {
			from, to := img.Pix[y*img.Stride+4*x:], o.bgr[3*(y*size.X+x):]
			to[0], to[1], to[2] = from[2], from[1], from[0]
		}
	}
	return o.muxer.BGR(o.bgr)
}

// davis writes a followed frame.
func (o *overlays) davis(sequence string, index int, f eval.DavisFrame) error {
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
