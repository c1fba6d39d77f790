package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/files"
)

// dirReader reads a directory's images in the order of their names.
type dirReader struct {
	paths []string
	step  time.Duration
	n     int
}

var imageExtensions = []string{".jpg", ".jpeg", ".png"}

func openDir(ctx context.Context, path string, fps float64) (*dirReader, error) {
	entries, err := files.List(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	r := &dirReader{step: time.Duration(float64(time.Second) / fps)}
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if !e.IsDir() && slices.Contains(imageExtensions, ext) {
			r.paths = append(r.paths, filepath.Join(path, e.Name()))
		}
	}
	if len(r.paths) == 0 {
		return nil, fmt.Errorf("ingest: %s: no images among its %d entries; .jpg, .jpeg and .png are accepted", path, len(entries))
	}
	return r, nil
}

func (r *dirReader) interval() time.Duration { return r.step }
func (r *dirReader) close()                  {}

func (r *dirReader) next(ctx context.Context, s *Source) (*Frame, error) {
	if r.n == len(r.paths) {
		return nil, io.EOF
	}
	path := r.paths[r.n]
	pts := time.Duration(r.n) * r.step
	r.n++
	f, err := s.readImage(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.PTS = pts
	return f, nil
}

// readImage decodes one image file. Its size is looked at before its pixels.
func (s *Source) readImage(ctx context.Context, path string) (*Frame, error) {
	text, err := files.Read(ctx, path, files.Picture)
	if errors.Is(err, files.ErrKind) {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xd8")):
		return s.readJPEG(text)
	case bytes.HasPrefix(text, []byte("\x89PNG")):
		return s.readPNG(text)
	}
	return nil, fmt.Errorf("%w: it begins with %q; JPEG and PNG are accepted", codec.ErrUndecodable, text[:min(8, len(text))])
}

func (s *Source) readJPEG(text []byte) (f *Frame, err error) {
	// Of the kinds that it does not know, FFmpeg may decode some, up to the same limits.
	if cfg, err := jpeg.DecodeConfig(bytes.NewReader(text)); err == nil {
		if err := codec.CheckSize(cfg.Width, cfg.Height); err != nil {
			return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
		}
	}
	var failure error
	err = codec.DecodeJPEG(text, func(pic *codec.Picture) { f, failure = s.decodedFrame(pic) })
	if err = errors.Join(err, failure); err != nil && f != nil {
		f.Release()
		f = nil
	}
	return f, err
}

func (s *Source) readPNG(text []byte) (*Frame, error) {
	cfg, err := png.DecodeConfig(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	if err := codec.CheckSize(cfg.Width, cfg.Height); err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	f := newFrame(cfg.Width, cfg.Height)
	toBGR(f.Pix, img)
	if quarters := s.quarters(); quarters != 0 {
		lying := f
		defer lying.Release()
		if f = newFrame(cfg.Width, cfg.Height); quarters%2 != 0 {
			f.Width, f.Height = cfg.Height, cfg.Width
		}
		codec.RotateBGR(f.Pix, lying.Pix, cfg.Width, cfg.Height, quarters)
	}
	s.shape(f)
	return f, nil
}

// toBGR writes img as tight BGR24 rows into dst, its alpha over black.
func toBGR(dst []byte, img image.Image) {
	switch m := img.(type) {
	case *image.RGBA:
		rgbaToBGR(dst, m)
	default:
		b := img.Bounds()
		rgba := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
		draw.Draw(rgba, rgba.Bounds(), img, b.Min, draw.Src)
		rgbaToBGR(dst, rgba)
	}
}

// rgbaToBGR relies on RGBA's colours being multiplied by alpha already.
func rgbaToBGR(dst []byte, m *image.RGBA) {
	b := m.Bounds()
	o := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := m.Pix[m.PixOffset(b.Min.X, y):]
		for x := range b.Dx() {
			dst[o], dst[o+1], dst[o+2] = row[4*x+2], row[4*x+1], row[4*x]
			o += 3
		}
	}
}
