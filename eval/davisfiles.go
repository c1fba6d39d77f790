package eval

import (
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // DAVIS frames
	_ "image/png"  // and annotations
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

const davisImages, davisTruth = "JPEGImages/480p", "Annotations/480p"

// davisClip is one sequence on disk.
type davisClip struct {
	name   string
	images []string // files, in the order of time
	truths []string // their annotations
}

// openDavis finds the wanted sequences, or all.
func openDavis(root string, want []string) ([]*davisClip, error) {
	names, err := davisNames(root, want)
	if err != nil {
		return nil, err
	}
	clips := make([]*davisClip, 0, len(names))
	for _, name := range names {
		c := &davisClip{name: name}
		if c.images, err = filepath.Glob(filepath.Join(root, davisImages, name, "*.jpg")); err != nil {
			return nil, fmt.Errorf("eval: %w", err)
		}
		if len(c.images) < 3 {
			return nil, fmt.Errorf("eval: %s has %d frames; want at least 3", name, len(c.images))
		}
		sort.Strings(c.images)
		for _, file := range c.images {
			c.truths = append(c.truths, filepath.Join(root, davisTruth, name, strings.TrimSuffix(filepath.Base(file), ".jpg")+".png"))
		}
		clips = append(clips, c)
	}
	return clips, nil
}

// davisNames checks the wanted names, or lists all.
func davisNames(root string, want []string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, davisImages))
	if err != nil {
		return nil, fmt.Errorf("eval: %w; want a folder with %s and %s as DAVIS-2016 has them", err, davisImages, davisTruth)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	if len(want) == 0 {
		if len(all) == 0 {
			return nil, fmt.Errorf("eval: no sequence in %s", filepath.Join(root, davisImages))
		}
		return all, nil
	}
	for _, name := range want {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("eval: no sequence %q in %s; there are %s", name, root, strings.Join(all, ", "))
		}
	}
	return want, nil
}

// picture is one frame with its ground truth.
type picture struct {
	width, height int
	bgr           []byte  // tight BGR24
	truth         []uint8 // 1 on the object
}

// read reads frame i.
func (c *davisClip) read(i int) (*picture, error) {
	img, err := readImage(c.images[i])
	if err != nil {
		return nil, err
	}
	p := &picture{width: img.Bounds().Dx(), height: img.Bounds().Dy(), bgr: toBGR(img)}
	p.truth, err = readTruth(c.truths[i], p.width, p.height)
	return p, err
}

// first reads the first frame, which must show the object.
func (c *davisClip) first() (*picture, error) {
	p, err := c.read(0)
	if err == nil && !slices.Contains(p.truth, 1) {
		err = fmt.Errorf("%s marks no object", c.truths[0])
	}
	return p, err
}

func readImage(path string) (image.Image, error) {
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

// readTruth reads a DAVIS annotation as one byte a pixel, 1 on the object.
func readTruth(path string, width, height int) ([]uint8, error) {
	img, err := readImage(path)
	if err != nil {
		return nil, err
	}
	if got := img.Bounds().Size(); got != image.Pt(width, height) {
		return nil, fmt.Errorf("%s is %d×%d; its frame is %d×%d", path, got.X, got.Y, width, height)
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

// image is the frame as it was given to the features, disturbance included.
func (p *picture) image() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for i := range p.width * p.height {
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = p.bgr[3*i+2], p.bgr[3*i+1], p.bgr[3*i], 255
	}
	return img
}
