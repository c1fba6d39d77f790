// Package scenetest makes scenes for tests, without pictures or a network.
package scenetest

import (
	"image"
	"math/rand/v2"

	"github.com/segd/segd/features"
)

// Side is that of a superpixel, in pixels.
const Side = 6

const channels = 4

// Squares is a scene of cols×rows square superpixels, with features of four channels
// and the colour. colour is that of a pixel in CIELAB, the channels are then zero; nil
// makes everything random. Its one smaller view is random too.
func Squares(seed uint64, cols, rows int, colour func(x, y int) [3]float64) *features.Scene {
	r := rand.New(rand.NewPCG(seed, 5))
	s := &features.Scene{Seq: seed, Width: cols * Side, Height: rows * Side, N: cols * rows, D: channels + 3, Maps: []int{channels}}
	s.Lab = make([]float32, 3*s.N)
	p := features.Patch{
		Rectangle: image.Rect(0, 0, s.Width, s.Height), Zoom: 1, Shrink: 1, Spacing: Side,
		Cols: s.Width, Rows: s.Height, N: s.N,
	}
	for y := range s.Height {
		for x := range s.Width {
			i := y/Side*cols + x/Side
			c := [3]float64{100 * r.Float64(), 100 * r.Float64(), 100 * r.Float64()}
			if colour != nil {
				c = colour(x, y)
			}
			p.Labels = append(p.Labels, int32(i))
			for k, v := range c {
				p.Pixels = append(p.Pixels, int16(v*features.LabUnit))
				s.Lab[3*i+k] += float32(v) / (Side * Side)
			}
		}
	}
	for i := range s.N {
		p.Boxes = append(p.Boxes, image.Rect(0, 0, Side, Side).Add(image.Pt(i%cols*Side, i/cols*Side)))
	}
	p.Coarse = features.Everywhere
	s.Patches = []features.Patch{p}
	s.Thumbnail = features.Thumbnail{Cell: 1, Width: s.Width, Height: s.Height, Lab: p.Pixels}
	coarse := make([]float32, s.N*s.D)
	for i := range s.N {
		s.Centroid = append(s.Centroid, float32(i%cols*Side)+Side/2+r.Float32(), float32(i/cols*Side)+Side/2+r.Float32())
		s.Area = append(s.Area, Side*Side)
		for range channels {
			v := float32(r.NormFloat64())
			if colour != nil {
				v = 0
			}
			s.X = append(s.X, v)
		}
		s.X = append(s.X, s.Lab[3*i:3*i+3]...)
		if i%cols+1 < cols {
			s.Edges = append(s.Edges, features.Edge{I: int32(i), J: int32(i + 1), Length: Side, Contrast: 10 * r.Float32()})
		}
		if i+cols < s.N {
			s.Edges = append(s.Edges, features.Edge{I: int32(i), J: int32(i + cols), Length: Side, Contrast: 10 * r.Float32()})
		}
	}
	for i := range coarse {
		coarse[i] = float32(r.NormFloat64())
	}
	s.Coarse = [][]float32{coarse}
	return s
}
