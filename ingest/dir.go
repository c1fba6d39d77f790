package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // decodes JPEG
	_ "image/png"  // decodes PNG
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

func (r *dirReader) next(ctx context.Context, p *pool) (*Frame, error) {
	if r.n == len(r.paths) {
		return nil, io.EOF
	}
	path := r.paths[r.n]
	pts := time.Duration(r.n) * r.step
	r.n++
	f, err := readImage(ctx, p, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.PTS = pts
	return f, nil
}

// readImage decodes one image file. Its size is looked at before its pixels.
func readImage(ctx context.Context, p *pool, path string) (*Frame, error) {
	text, err := files.Read(ctx, path, files.Picture)
	if errors.Is(err, files.ErrKind) {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	if err != nil {
		return nil, err
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	if err := codec.CheckSize(cfg.Width, cfg.Height); err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	img, _, err := image.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrUndecodable, err)
	}
	size := img.Bounds().Size()
	if size != image.Pt(cfg.Width, cfg.Height) {
		return nil, errors.Join(codec.ErrUndecodable, fmt.Errorf("header says %dx%d, picture is %v", cfg.Width, cfg.Height, size))
	}
	f := p.frame(size.X, size.Y)
	toBGR(f.Pix, img)
	return f, nil
}

// toBGR writes img as tight BGR24 rows into dst, its alpha over black.
func toBGR(dst []byte, img image.Image) {
	switch m := img.(type) {
	case *image.YCbCr:
		ycbcrToBGR(dst, m)
	case *image.RGBA:
		rgbaToBGR(dst, m)
	default:
		b := img.Bounds()
		rgba := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
		draw.Draw(rgba, rgba.Bounds(), img, b.Min, draw.Src)
		rgbaToBGR(dst, rgba)
	}
}

func ycbcrToBGR(dst []byte, m *image.YCbCr) {
	b := m.Bounds()
	o := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := m.COffset(x, y)
			r, g, bl := color.YCbCrToRGB(m.Y[m.YOffset(x, y)], m.Cb[c], m.Cr[c])
			dst[o], dst[o+1], dst[o+2] = bl, g, r
			o += 3
		}
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
