package mrf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// superpixels imitates the graph of a window: frames of about n/frames
// superpixels at jittered raster positions, each joined to its 6 neighbours
// within the frame (weights fall with a random contrast) and to 4 near ones of
// the frame before. Nodes are in raster order, frame after frame.
func superpixels(n, frames int, r *rand.Rand) (int, []Edge) {
	width := int32(math.Sqrt(float64(n/frames) * 16 / 9))
	height := int32(n/frames) / width
	var edges []Edge
	weight := func(scale float64) float64 { return scale * math.Exp(-r.ExpFloat64()) }
	for f := range int32(frames) {
		base := f * width * height
		at := func(x, y int32) int32 { return base + y*width + x }
		for y := range height {
			for x := range width {
				i := at(x, y)
				if x+1 < width {
					edges = append(edges, Edge{i, at(x+1, y), weight(0.5)})
				}
				if y+1 < height {
					edges = append(edges, Edge{i, at(x, y+1), weight(0.5)})
				}
				// A raster of hexagons: one diagonal, in turn either way.
				if d := x + 1 - 2*(y&1); y+1 < height && d >= 0 && d < width {
					edges = append(edges, Edge{i, at(d, y+1), weight(0.5)})
				}
				for range 4 {
					dx, dy := int32(r.IntN(5)-2), int32(r.IntN(5)-2)
					if f > 0 && x+dx >= 0 && x+dx < width && y+dy >= 0 && y+dy < height {
						edges = append(edges, Edge{i, at(x+dx, y+dy) - width*height, weight(0.6)})
					}
				}
			}
		}
	}
	return int(width * height * int32(frames)), edges
}

// blobs are unaries for labels-1 objects on a background, in every frame at
// about the same place, with noise of the given strength against the signal.
func blobs(n, frames, labels int, noise float64, r *rand.Rand) []float64 {
	per := n / frames
	width := int(math.Sqrt(float64(per) * 16 / 9))
	u := make([]float64, n*labels)
	for i := range n {
		x, y := float64(i%per%width)/float64(width), float64(i%per/width)*float64(width)/float64(per)
		truth := 0
		for l := 1; l < labels; l++ {
			cx, cy := float64(l)/float64(labels), 0.3+0.4*float64(l%2)
			if (x-cx)*(x-cx)+(y-cy)*(y-cy) < 0.15/float64(labels*labels) {
				truth = l
			}
		}
		for l := range labels {
			u[i*labels+l] = noise * r.NormFloat64()
			if l != truth {
				u[i*labels+l]++
			}
		}
	}
	return u
}

// perturbed lists unaries to go through in turn, each with a tenth of the nodes
// drawn anew.
func perturbed(u []float64, labels int, r *rand.Rand) [][]float64 {
	all := make([][]float64, 8)
	for k := range all {
		all[k] = slices.Clone(u)
		for i := 0; i < len(u); i += labels {
			if r.IntN(10) == 0 {
				for l := range labels {
					all[k][i+l] += r.NormFloat64()
				}
			}
		}
	}
	return all
}

// drifted changes every unary a little, as an ADMM iteration does.
func drifted(u []float64, r *rand.Rand) [][]float64 {
	all := make([][]float64, 8)
	for k := range all {
		all[k] = slices.Clone(u)
		for i := range u {
			all[k][i] += 0.02 * r.NormFloat64()
		}
	}
	return all
}

func BenchmarkLabel(b *testing.B) {
	ctx := context.Background()
	for _, size := range []struct {
		graph             string
		n, frames, labels int
	}{
		{"grid", 10000, 1, 2}, {"grid", 100000, 1, 2},
		{"superpixels", 2000, 1, 2}, {"superpixels", 12000, 6, 2}, {"superpixels", 30000, 6, 2},
		{"superpixels", 12000, 6, 4}, {"superpixels", 30000, 6, 4},
	} {
		r := rand.New(rand.NewPCG(1, uint64(size.n)))
		n, edges := superpixels(size.n, size.frames, r)
		if size.graph == "grid" {
			w := int(math.Sqrt(float64(size.n) * 16 / 9))
			n, edges = w*(size.n/w), grid(w, size.n/w, func() float64 { return math.Exp(-r.ExpFloat64()) })
		}
		u := blobs(n, size.frames, size.labels, 1, r)
		name := fmt.Sprintf("%s/n=%d/L=%d", size.graph, n, size.labels)
		y := make([]int32, n)
		b.Run(name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			var p Potts
			for b.Loop() {
				p.Reset(n, size.labels, edges)
				clear(y)
				if err := p.Label(ctx, y, u); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, change := range []struct {
			name string
			u    [][]float64
		}{{"tenth", perturbed(u, size.labels, r)}, {"drift", drifted(u, r)}} {
			b.Run(name+"/"+change.name, func(b *testing.B) {
				b.ReportAllocs()
				var p Potts
				p.Reset(n, size.labels, edges)
				for k := 0; b.Loop(); k++ {
					if err := p.Label(ctx, y, change.u[k%len(change.u)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLabels is what more objects cost on one graph where the unaries are as
// sure as a tracker's are, while they drift.
func BenchmarkLabels(b *testing.B) {
	for _, labels := range []int{2, 3, 5, 9} {
		b.Run(fmt.Sprint("L=", labels), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 12000))
			n, edges := superpixels(12000, 6, r)
			us := drifted(blobs(n, 6, labels, 0.4, r), r)
			y := make([]int32, n)
			var p Potts
			b.ReportAllocs()
			for k := 0; b.Loop(); k++ {
				if k%5 == 0 { // as often as a window is solved anew
					p.Reset(n, labels, edges)
				}
				if err := p.Label(b.Context(), y, us[k%len(us)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
