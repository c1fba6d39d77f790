package clip

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png" // annotations
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/segd/segd/lab/internal/offline"
)

const imagesFolder, truthFolder = "JPEGImages/480p", "Annotations/480p"

// Clip is one sequence on disk.
type Clip struct {
	Name   string
	Images []string // files, in the order of time
	Truths []string // their annotations
}

// MinFrames is the least a sequence has: first and last do not count.
const MinFrames = 3

// Open finds the wanted sequences, or all.
func Open(root string, want []string) ([]*Clip, error) {
	names, err := sequenceNames(root, want)
	if err != nil {
		return nil, err
	}
	clips := make([]*Clip, 0, len(names))
	for _, name := range names {
		c := &Clip{Name: name}
		if c.Images, err = filepath.Glob(filepath.Join(root, imagesFolder, name, "*.jpg")); err != nil {
			return nil, fmt.Errorf("clip: %w", err)
		}
		if len(c.Images) < MinFrames {
			return nil, fmt.Errorf("clip: %s has %d frames; want at least %d", name, len(c.Images), MinFrames)
		}
		sort.Strings(c.Images)
		for _, file := range c.Images {
			c.Truths = append(c.Truths, filepath.Join(root, truthFolder, name, strings.TrimSuffix(filepath.Base(file), ".jpg")+".png"))
		}
		clips = append(clips, c)
	}
	return clips, nil
}

// sequenceNames checks the wanted names, or lists all.
func sequenceNames(root string, want []string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, imagesFolder))
	if err != nil {
		return nil, fmt.Errorf("clip: %w; want a folder with %s and %s as DAVIS-2016 has them", err, imagesFolder, truthFolder)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	if len(want) == 0 {
		if len(all) == 0 {
			return nil, fmt.Errorf("clip: no sequence in %s", filepath.Join(root, imagesFolder))
		}
		return all, nil
	}
	for _, name := range want {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("clip: no sequence %q in %s; there are %s", name, root, strings.Join(all, ", "))
		}
	}
	return want, nil
}

// Hash gives each sequence random numbers of its own, whatever others run: FNV-1a
// of its name.
func (c *Clip) Hash() uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.Name))
	return h.Sum64()
}

// Mean is the picture's mean colour.
func Mean(p *offline.Picture) (bgr [3]byte) {
	var sum [3]int
	for i, v := range p.BGR {
		sum[i%3] += int(v)
	}
	n := p.Width * p.Height
	for k, v := range sum {
		bgr[k] = byte((v + n/2) / n)
	}
	return bgr
}

// Time is when frame i is shown: DAVIS has 24 frames a second.
func Time(i int) time.Duration { return time.Duration(i) * time.Second / 24 }

// Read reads frame i.
func (c *Clip) Read(i int) (*offline.Picture, error) {
	img, err := readImage(c.Images[i])
	if err != nil {
		return nil, err
	}
	p := &offline.Picture{Width: img.Bounds().Dx(), Height: img.Bounds().Dy(), BGR: toBGR(img), Time: Time(i)}
	p.Truth, err = readTruth(c.Truths[i], p.Width, p.Height)
	return p, err
}

// First reads the first frame, which must show the object.
func (c *Clip) First() (*offline.Picture, error) {
	p, err := c.Read(0)
	if err == nil && !slices.Contains(p.Truth, 1) {
		err = fmt.Errorf("clip: %s marks no object", c.Truths[0])
	}
	return p, err
}

func readImage(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("clip: %w", err)
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("clip: %s: %w", path, err)
	}
	return img, nil
}

// readTruth reads a DAVIS annotation as one byte a pixel, 1 on the object.
func readTruth(path string, width, height int) ([]uint8, error) {
	img, err := readImage(path)
	if err != nil {
		return nil, err
	}
	if got := img.Bounds().Size(); got != image.Pt(width, height) {
		return nil, fmt.Errorf("clip: %s is %d×%d; its frame is %d×%d", path, got.X, got.Y, width, height)
	}
	bits := make([]uint8, width*height)
	for y := range height {
		for x := range width {
			if g := color.GrayModel.Convert(img.At(x, y)).(color.Gray); g.Y > 0 {
				bits[y*width+x] = 1
			}
		}
	}
	return bits, nil
}

// toBGR copies an image to tight BGR24.
func toBGR(img image.Image) []byte {
	b := img.Bounds()
	out := make([]byte, 0, 3*b.Dx()*b.Dy())
	ycc, fast := img.(*image.YCbCr)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if fast {
				yi, ci := ycc.YOffset(x, y), ycc.COffset(x, y)
				r, g, bl := color.YCbCrToRGB(ycc.Y[yi], ycc.Cb[ci], ycc.Cr[ci])
				out = append(out, bl, g, r)
				continue
			}
			r, g, bl, _ := img.At(x, y).RGBA()
			out = append(out, byte(bl>>8), byte(g>>8), byte(r>>8))
		}
	}
	return out
}

// Image is a copy of the frame as it is, whatever was done to it since it was read.
func Image(p *offline.Picture) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Width * p.Height {
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = p.BGR[3*i+2], p.BGR[3*i+1], p.BGR[3*i], 255
	}
	return img
}

// Crop cuts the picture and its truth down to r, which lies within it.
func Crop(p *offline.Picture, r image.Rectangle) {
	bgr, truth := make([]byte, 0, 3*r.Dx()*r.Dy()), make([]uint8, 0, r.Dx()*r.Dy())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		from, to := y*p.Width+r.Min.X, y*p.Width+r.Max.X
		bgr, truth = append(bgr, p.BGR[3*from:3*to]...), append(truth, p.Truth[from:to]...)
	}
	p.Width, p.Height, p.BGR, p.Truth = r.Dx(), r.Dy(), bgr, truth
}

// Paste puts q and its truth into the picture, with the upper left corner at a point where
// all of q lies within it.
func Paste(p, q *offline.Picture, at image.Point) {
	for y := range q.Height {
		to := (at.Y+y)*p.Width + at.X
		copy(p.BGR[3*to:], q.BGR[3*y*q.Width:3*(y+1)*q.Width])
		copy(p.Truth[to:], q.Truth[y*q.Width:(y+1)*q.Width])
	}
}

// Shrink makes the picture and its truth smaller: a pixel is the mean of the area that it
// covers, and the object's if that covers half of it.
func Shrink(p *offline.Picture, width, height int) {
	out := offline.Blank(width, height, [3]byte{})
	across, down := cells(p.Width, width), cells(p.Height, height)
	for i := range out.Truth {
		h, v := across[i%width], down[i/width]
		var bgr [3]float64
		truth := 0.0
		for y, part := range v.shares {
			for x, share := range h.shares {
				share *= part
				at := (v.first+y)*p.Width + h.first + x
				for k := range bgr {
					bgr[k] += share * float64(p.BGR[3*at+k])
				}
				truth += share * float64(p.Truth[at])
			}
		}
		for k, c := range bgr {
			out.BGR[3*i+k] = byte(c + 0.5)
		}
		if truth > 0.5-1e-9 {
			out.Truth[i] = 1
		}
	}
	*p = *out
}

// cell is what a pixel of a smaller picture covers of a line of a larger one: the pixels
// from first on, and how much of the whole each of them is.
type cell struct {
	first  int
	shares []float64
}

// cells cuts a line of from pixels into to cells.
func cells(from, to int) []cell {
	out := make([]cell, to)
	for i := range out {
		// In units of 1/to pixels, so that nothing is rounded.
		begin, end := i*from, (i+1)*from
		out[i].first = begin / to
		for at := out[i].first; at*to < end; at++ {
			covered := min(end, (at+1)*to) - max(begin, at*to)
			out[i].shares = append(out[i].shares, float64(covered)/float64(from))
		}
	}
	return out
}

// Recode codes the picture as JPEG of a quality from 1 to 100 and decodes it again.
func Recode(p *offline.Picture, quality int) error {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, Image(p), &jpeg.Options{Quality: quality}); err != nil {
		return fmt.Errorf("clip: %w", err)
	}
	img, err := jpeg.Decode(&b)
	if err != nil {
		return fmt.Errorf("clip: %w", err)
	}
	p.BGR = toBGR(img)
	return nil
}

// Disk lists the pixels at most radius from (0, 0).
func Disk(radius int) [][2]int {
	var out [][2]int
	for y := -radius; y <= radius; y++ {
		for x := -radius; x <= radius; x++ {
			if x*x+y*y <= radius*radius {
				out = append(out, [2]int{x, y})
			}
		}
	}
	return out
}
