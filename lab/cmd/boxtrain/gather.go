package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/tracker"
)

// How boxes are drawn: some tight, the others with each side moved by up to a share of the
// box's size.
const (
	tight = 0.4 // of the boxes
	moved = 0.1
)

// gathering makes examples of pictures.
type gathering struct {
	boxes, rows int // at most, of a picture and of a box
	seed        uint64
}

// box is what is known of one: its superpixels, all of them where it is held out.
type box struct {
	example
	picture string
	areas   []float64 // of the superpixels
}

// gather looks at all pictures, several at a time. What it returns is in their order.
func (g *gathering) gather(ctx context.Context, pictures []source, progress io.Writer) (boxes []box, err error) {
	model, err := dnn.Embedded(dnn.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make([][]box, len(pictures))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			extractor, err := features.New(features.Config{}, model)
			for k := range next {
				if err == nil {
					found[k], err = g.look(extractor, &pictures[k], rand.New(rand.NewPCG(g.seed, uint64(k))))
				}
				if err != nil {
					cancel(fmt.Errorf("%s: %w", pictures[k].picture, err))
				}
			}
		})
	}
	for k := range pictures {
		if k%50 == 0 {
			fmt.Fprintf(progress, "picture %d of %d\n", k, len(pictures))
		}
		if ctx.Err() != nil {
			break
		}
		next <- k
	}
	close(next)
	wg.Wait()
	for _, some := range found {
		boxes = append(boxes, some...)
	}
	return boxes, context.Cause(ctx)
}

// look takes boxes of objects in one picture.
func (g *gathering) look(extractor *features.Extractor, s *source, r *rand.Rand) (boxes []box, err error) {
	bgr, width, height, err := readPicture(s.picture)
	if err != nil {
		return nil, err
	}
	var maps []*labelMap
	for _, file := range s.labels {
		m, err := readLabels(file)
		if err != nil {
			return nil, err
		}
		if m.width != width || m.height != height {
			return nil, fmt.Errorf("%s has %d×%d pixels; want the picture's %d×%d", file, m.width, m.height, width, height)
		}
		maps = append(maps, m)
	}
	objects := s.rule.objects(maps)
	r.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	var scene features.Scene
	for _, o := range objects[:min(len(objects), g.boxes)] {
		around := draw(r, o.box, width, height)
		ann := &annotation.Annotation{Width: width, Height: height, Objects: []annotation.Object{{ID: 1, Box: around}}}
		if err := extractor.Extract(&scene, bgr, width, height, tracker.PlanFor(features.Plan{}, ann)); err != nil {
			return nil, err
		}
		b, err := g.example(&scene, around, o, r, isHeld(s.picture))
		if err != nil {
			return nil, err
		}
		if len(b.Want) > 0 {
			b.picture = s.picture
			boxes = append(boxes, b)
		}
	}
	return boxes, nil
}

// draw is a box around an object as a user may draw it.
func draw(r *rand.Rand, b image.Rectangle, width, height int) []float64 {
	share := moved
	if r.Float64() < tight {
		share = 0
	}
	off := func(size int) float64 { return (2*r.Float64() - 1) * share * float64(size) }
	return []float64{
		max(0, float64(b.Min.X)+off(b.Dx())), max(0, float64(b.Min.Y)+off(b.Dy())),
		min(float64(width), float64(b.Max.X)+off(b.Dx())), min(float64(height), float64(b.Max.Y)+off(b.Dy())),
	}
}

// example is what is to be known of o's superpixels in a box: their cues, and the share of
// each that is o.
func (g *gathering) example(scene *features.Scene, around []float64, o object, r *rand.Rand, all bool) (b box, err error) {
	superpixels, cues, err := tracker.BoxCues(scene, around)
	if err != nil {
		return b, err
	}
	own := make([]float32, scene.N)
	for _, at := range o.pixels {
		own[features.Label(scene.Patches, int(at)%scene.Width, int(at)/scene.Width)]++
	}
	taken := r.Perm(len(superpixels))
	if !all {
		taken = taken[:min(len(taken), g.rows)]
	}
	d := tracker.BoxUnits[0]
	for _, k := range taken {
		for _, v := range cues[k*d : (k+1)*d] {
			b.Inputs = append(b.Inputs, float32(v))
		}
		area := scene.Area[superpixels[k]]
		b.Want = append(b.Want, own[superpixels[k]]/float32(area))
		b.areas = append(b.areas, float64(area))
	}
	return b, nil
}

// readPicture returns BGR24.
func readPicture(file string) (bgr []byte, width, height int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { _ = f.Close() }()
	decoded, _, err := image.Decode(f)
	if err != nil {
		return nil, 0, 0, err
	}
	b := decoded.Bounds()
	if b.Empty() {
		return nil, 0, 0, errors.New("no pixels; want a picture")
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, green, blue, _ := decoded.At(x, y).RGBA()
			bgr = append(bgr, byte(blue>>8), byte(green>>8), byte(red>>8))
		}
	}
	return bgr, b.Dx(), b.Dy(), nil
}
