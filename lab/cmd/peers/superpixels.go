package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/segd/segd/features"
)

// superpixelReport compares segd's superpixels with SLIC's.
type superpixelReport struct {
	Superpixels int               `json:"superpixels"` // asked for
	Time        float64           `json:"time"`        // of medians
	Segd        superpixelFigures `json:"segd"`
	SLIC        superpixelFigures `json:"slic"`
}

// superpixelFigures are the mean of J, the median of the time and the mean number over pictures.
type superpixelFigures struct {
	J     float64 `json:"j"`
	MS    float64 `json:"ms"`
	Count float64 `json:"count"`
}

const (
	// pictureEvery is of how many frames of a sequence one is cut.
	pictureEvery = 20
	// cutsEach is how often each side cuts a picture, in turns.
	cutsEach = 3
)

// superpixelCounts is how many superpixels are asked for.
var superpixelCounts = []int{2000, 6000}

// superpixelPicture is a picture and the pixels of its objects.
type superpixelPicture struct {
	bgr  []byte
	size image.Point
	true []bool
}

// superpixelSide cuts a picture into superpixels, a label for each pixel.
type superpixelSide func(p *superpixelPicture, superpixels int) (labels []int32, count int, seconds float64, err error)

// segdSuperpixels is our side. What a scene says of its superpixels, but for the network's features,
// is in its time.
func segdSuperpixels() superpixelSide {
	extractors := map[int]*features.Extractor{}
	var scene features.Scene
	return func(p *superpixelPicture, superpixels int) ([]int32, int, float64, error) {
		e := extractors[superpixels]
		if e == nil {
			var err error
			if e, err = features.New(features.Config{Superpixels: superpixels}, nil); err != nil {
				return nil, 0, 0, err
			}
			extractors[superpixels] = e
		}
		begin := time.Now()
		err := e.Extract(&scene, p.bgr, p.size.X, p.size.Y, features.Plan{Whole: true})
		seconds := time.Since(begin).Seconds()
		if err != nil {
			return nil, 0, 0, err
		}
		return scene.Patches[0].Labels, scene.N, seconds, nil
	}
}

// slic is theirs/superpixels.cpp.
func slic(c *child) superpixelSide {
	return func(p *superpixelPicture, superpixels int) ([]int32, int, float64, error) {
		answer, err := c.ask(fmt.Sprintf("%d %d %d", superpixels, p.size.X, p.size.Y), p.bgr)
		if err != nil {
			return nil, 0, 0, err
		}
		if len(answer) != 2 || !(answer[0] >= 0 && answer[1] >= 1) {
			return nil, 0, 0, fmt.Errorf("%s: answer %v; want seconds and a number of superpixels", c.cmd, answer)
		}
		labels := make([]int32, p.size.X*p.size.Y)
		if err := binary.Read(c.out, binary.NativeEndian, labels); err != nil {
			return nil, 0, 0, fmt.Errorf("%s: labels of %v pixels: %w", c.cmd, p.size, err)
		}
		return labels, int(answer[1]), answer[0], nil
	}
}

// superpixelLimit is J of the superpixels of which the object has more than half.
func superpixelLimit(labels []int32, count int, object []bool) (float64, error) {
	votes := make([][2]int, count)
	for i, l := range labels {
		switch {
		case l < 0 || int(l) >= count:
			return 0, fmt.Errorf("label %d of pixel %d; want 0 to %d", l, i, count-1)
		case object[i]:
			votes[l][1]++
		default:
			votes[l][0]++
		}
	}
	both, either := 0, 0
	for _, v := range votes {
		either += v[1]
		if v[1] > v[0] {
			both += v[1]
			either += v[0]
		}
	}
	if either == 0 {
		return 1, nil
	}
	return float64(both) / float64(either), nil
}

// compareSuperpixelsOf cuts pictures of all sequences on both sides in turns.
func compareSuperpixelsOf(ctx context.Context, pictures []superpixelPicture, superpixels int, sides [2]superpixelSide) (*superpixelReport, error) {
	r := &superpixelReport{Superpixels: superpixels}
	figures := [2]*superpixelFigures{&r.Segd, &r.SLIC}
	var ms [2][]float64
	for i := range pictures {
		p := &pictures[i]
		for turn := range cutsEach {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for at := range sides {
				k := (at + turn) % len(sides)
				labels, count, seconds, err := sides[k](p, superpixels)
				if err != nil {
					return nil, err
				}
				ms[k] = append(ms[k], 1e3*seconds)
				if turn > 0 {
					continue // the same again
				}
				j, err := superpixelLimit(labels, count, p.true)
				if err != nil {
					return nil, err
				}
				figures[k].J += j / float64(len(pictures))
				figures[k].Count += float64(count) / float64(len(pictures))
			}
		}
	}
	for k, f := range figures {
		f.MS = median(ms[k])
	}
	r.Time = r.Segd.MS / r.SLIC.MS
	return r, nil
}

// superpixelPictures are some of all sequences.
func superpixelPictures(opt options) (pictures []superpixelPicture, err error) {
	names, err := sequences(opt)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		frames, err := filepath.Glob(filepath.Join(opt.davis, "JPEGImages/480p", name, "*.jpg"))
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(frames); i += pictureEvery {
			number := filepath.Base(frames[i])
			img, err := load(frames[i])
			if err != nil {
				return nil, err
			}
			truth, err := load(filepath.Join(opt.davis, "Annotations/480p", name, number[:len(number)-len(".jpg")]+".png"))
			if err != nil {
				return nil, err
			}
			p := superpixelPicture{bgr: bgr(img), size: img.Bounds().Size()}
			if size := truth.Bounds().Size(); size != p.size {
				return nil, fmt.Errorf("%s: the annotation is %v; want %v as its frame", frames[i], size, p.size)
			}
			for at := range p.size.X * p.size.Y {
				r, g, b, _ := truth.At(at%p.size.X, at/p.size.X).RGBA()
				p.true = append(p.true, r+g+b > 0)
			}
			pictures = append(pictures, p)
		}
	}
	return pictures, nil
}

// compareSuperpixels returns nil if there are no sequences.
func compareSuperpixels(ctx context.Context, opt options, stderr io.Writer) (reports []*superpixelReport, err error) {
	pictures, err := superpixelPictures(opt)
	if err != nil {
		return nil, err
	}
	if len(pictures) == 0 && opt.only == "superpixels" {
		return nil, fmt.Errorf("no sequences in %s; -davis wants a folder with JPEGImages/480p and Annotations/480p", opt.davis)
	}
	if len(pictures) == 0 {
		fmt.Fprintf(stderr, "superpixels: left out, no sequences in %s\n", opt.davis)
		return nil, nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one thread on both sides
	c, err := start(ctx, opt.superpixels)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	fmt.Fprintf(stderr, "superpixels: %d pictures, one thread; J that they allow, ms a picture, number\n", len(pictures))
	sides := [2]superpixelSide{segdSuperpixels(), slic(c)}
	for _, n := range superpixelCounts {
		r, err := compareSuperpixelsOf(ctx, pictures, n, sides)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "%5d  segd %.3f %6.1f %5.0f  SLIC %.3f %6.1f %5.0f  time %.3f\n",
			n, r.Segd.J, r.Segd.MS, r.Segd.Count, r.SLIC.J, r.SLIC.MS, r.SLIC.Count, r.Time)
		reports = append(reports, r)
	}
	return reports, nil
}
