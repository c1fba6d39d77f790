package main

import (
	"fmt"
	"image"
	_ "image/jpeg" // DAVIS frames
	_ "image/png"  // DAVIS annotations
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// clip is the first frames of a sequence, BGR24, and the object's mask in the
// first one.
type clip struct {
	name          string
	width, height int
	frames        [][]byte
	truth         []bool
}

// sequences names the DAVIS sequences to use, none if there are none.
func sequences(opt options) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(opt.davis, "JPEGImages/480p/*"))
	if err != nil {
		return nil, err
	}
	for i, dir := range names {
		names[i] = filepath.Base(dir)
	}
	slices.Sort(names)
	return names[:min(opt.sequences, len(names))], nil
}

// clips lists DAVIS sequences, or one that is drawn. Each is loaded when opened.
func clips(opt options) ([]func() (*clip, error), error) {
	names, err := sequences(opt)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return []func() (*clip, error){func() (*clip, error) { return drawn(854, 480, opt.seed), nil }}, nil
	}
	var list []func() (*clip, error)
	for _, name := range names {
		list = append(list, func() (*clip, error) { return readClip(opt.davis, name) })
	}
	return list, nil
}

func readClip(root, name string) (*clip, error) {
	c := &clip{name: name}
	for f := range windowFrames {
		img, err := load(filepath.Join(root, "JPEGImages/480p", name, fmt.Sprintf("%05d.jpg", f)))
		if err != nil {
			return nil, err
		}
		size := img.Bounds().Size()
		if f == 0 {
			c.width, c.height = size.X, size.Y
		}
		if size != image.Pt(c.width, c.height) {
			return nil, fmt.Errorf("%s: frame %d is %v; want %d×%d as the first", name, f, size, c.width, c.height)
		}
		c.frames = append(c.frames, bgr(img))
	}
	img, err := load(filepath.Join(root, "Annotations/480p", name, "00000.png"))
	if err != nil {
		return nil, err
	}
	if size := img.Bounds().Size(); size != image.Pt(c.width, c.height) {
		return nil, fmt.Errorf("%s: the annotation is %v; want %d×%d as its frame", name, size, c.width, c.height)
	}
	for p := range c.width * c.height {
		r, g, b, _ := img.At(p%c.width, p/c.width).RGBA()
		c.truth = append(c.truth, r+g+b > 0)
	}
	return c, nil
}

func load(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return img, nil
}

func bgr(img image.Image) []byte {
	size := img.Bounds().Size()
	out := make([]byte, 0, 3*size.X*size.Y)
	for p := range size.X * size.Y {
		r, g, b, _ := img.At(p%size.X, p/size.X).RGBA()
		out = append(out, byte(b>>8), byte(g>>8), byte(r>>8))
	}
	return out
}

// drawn is a textured disc that moves over a textured ground of similar colours,
// with noise.
func drawn(width, height int, seed uint64) *clip {
	r := rand.New(rand.NewPCG(seed, 0))
	c := &clip{name: fmt.Sprintf("drawn by seed %d", seed), width: width, height: height, truth: make([]bool, width*height)}
	for f := range windowFrames {
		cx, cy, radius := float64(width)*(0.4+0.01*float64(f)), float64(height)*0.5, float64(height)*0.25
		pix := make([]byte, 0, 3*width*height)
		for p := range width * height {
			x, y := float64(p%width), float64(p/width)
			inside := math.Hypot(x-cx, y-cy) < radius
			texture := math.Sin(x/37+math.Sin(y/23)) * math.Sin(y/41)
			for k := range 3 {
				v := 110 + 30*texture*float64(k-1)
				if inside {
					v = 130 + 40*math.Sin((x-cx)/11)*float64(1-k)
				}
				pix = append(pix, byte(max(0, min(255, v+12*r.NormFloat64()))))
			}
			if f == 0 {
				c.truth[p] = inside
			}
		}
		c.frames = append(c.frames, pix)
	}
	return c
}

// colours are log p(colour | object) − log p(colour | ground), colours taken to 16
// steps a channel.
type colours [1 << 12]float64

func cell(pix []byte) int {
	return int(pix[0]>>4)<<8 | int(pix[1]>>4)<<4 | int(pix[2]>>4)
}

func (c *colours) of(pix []byte) float64 { return c[cell(pix)] }

// colours counts the first frame's, each once more than it occurs.
func (c *clip) colours() *colours {
	var count [2]colours
	var total [2]float64
	for p, object := range c.truth {
		side := 0
		if object {
			side = 1
		}
		count[side][cell(c.frames[0][3*p:])]++
		total[side]++
	}
	var ratio colours
	for k := range ratio {
		p := (count[1][k] + 1) / (total[1] + float64(len(ratio)))
		q := (count[0][k] + 1) / (total[0] + float64(len(ratio)))
		ratio[k] = math.Log(p / q)
	}
	return &ratio
}
