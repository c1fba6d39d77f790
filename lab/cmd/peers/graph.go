package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/solver/mrf"
)

// graph is one problem with several sets of terminal capacities, > 0 from the
// source (the object's side); neighbouring sets differ in a tenth of the nodes.
type graph struct {
	name      string
	n         int
	edges     []mrf.Edge
	terminals [][]float64
}

const (
	windowFrames     = 6
	temporalEdges    = 4    // a superpixel
	smooth           = 0.25 // an edge's weight against unaries in [0, 1]
	grabCut          = 50   // an edge's weight against −log p: Rother et al. 2004
	windowSets       = 33   // of terminals
	gridSets         = 9
	temporalDistance = 2.5 // in sides of a superpixel
)

// windowGraph is a window of frames: superpixels, spatial edges weighed as the
// tracker does, edges to the most similar ones near by in the frame before, and
// unaries 1 − q from the colours that the first frame's annotation gives.
func windowGraph(c *clip, seed uint64) (*graph, error) {
	extractor, err := features.New(features.Config{}, nil)
	if err != nil {
		return nil, err
	}
	ratio := c.colours()
	g := &graph{name: c.name + ", window"}
	var base []float64
	var before features.Scene
	for f, pix := range c.frames {
		var s features.Scene
		if err := extractor.Extract(&s, pix, c.width, c.height, features.Plan{Whole: true}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		g.edges = appendSpatial(g.edges, &s, int32(g.n))
		if f > 0 {
			g.edges = appendTemporal(g.edges, &s, &before, int32(g.n))
		}
		base = appendEvidence(base, &s, pix, ratio)
		g.n += s.N
		before = s
	}
	g.terminals = change(base, windowSets, seed)
	return g, nil
}

// appendSpatial joins neighbours as the tracker does.
func appendSpatial(dst []mrf.Edge, s *features.Scene, first int32) []mrf.Edge {
	potts := features.NewPotts(s.Edges, smooth)
	for _, e := range s.Edges {
		dst = append(dst, mrf.Edge{I: first + e.I, J: first + e.J, W: potts.Weight(e)})
	}
	return dst
}

// appendTemporal joins each superpixel of s to those of the frame before, numbered
// just below first, that are most similar among the near ones.
func appendTemporal(dst []mrf.Edge, s, before *features.Scene, first int32) []mrf.Edge {
	type candidate struct {
		j       int32
		squared float64
	}
	reach := temporalDistance * math.Sqrt(float64(s.Width*s.Height)/float64(s.N))
	from, sum := len(dst), 0.0
	for i := range s.N {
		var near []candidate
		for j := range before.N {
			dx, dy := s.Centroid[2*i]-before.Centroid[2*j], s.Centroid[2*i+1]-before.Centroid[2*j+1]
			if float64(dx*dx+dy*dy) > reach*reach {
				continue
			}
			squared := 0.0
			for k := range 3 {
				d := float64(s.Lab[3*i+k] - before.Lab[3*j+k])
				squared += d * d
			}
			near = append(near, candidate{int32(j), squared})
		}
		slices.SortFunc(near, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.squared, b.squared), cmp.Compare(a.j, b.j))
		})
		for _, c := range near[:min(temporalEdges, len(near))] {
			dst = append(dst, mrf.Edge{I: first + int32(i), J: first - int32(before.N) + c.j, W: c.squared})
			sum += c.squared
		}
	}
	mean := math.Max(sum/math.Max(1, float64(len(dst)-from)), 1e-9)
	for k := from; k < len(dst); k++ {
		dst[k].W = smooth * math.Exp(-dst[k].W/(2*mean))
	}
	return dst
}

// appendEvidence appends (1−q₀) − (1−q₁) of each superpixel, q the probability of
// the mean of its pixels' log ratios.
func appendEvidence(dst []float64, s *features.Scene, pix []byte, ratio *colours) []float64 {
	sum := make([]float64, s.N)
	for p, l := range s.Patches[0].Labels { // all of the picture
		sum[l] += ratio.of(pix[3*p:])
	}
	for i, v := range sum {
		dst = append(dst, math.Tanh(v/float64(s.Area[i])/2))
	}
	return dst
}

// gridGraph joins each pixel of the clip's last frame to its four neighbours by
// 50·exp(−‖Δ‖²/2⟨‖Δ‖²⟩), as GrabCut does; the terminals are the log ratios of the
// colours.
func gridGraph(c *clip, seed uint64) *graph {
	pix, w := c.frames[len(c.frames)-1], c.width
	g := &graph{name: c.name + ", pixels", n: w * c.height}
	mean := 0.0
	add := func(p, q int) {
		squared := 0.0
		for k := range 3 {
			d := float64(pix[3*p+k]) - float64(pix[3*q+k])
			squared += d * d
		}
		mean += squared
		g.edges = append(g.edges, mrf.Edge{I: int32(p), J: int32(q), W: squared})
	}
	for p := range g.n {
		if p%w+1 < w {
			add(p, p+1)
		}
		if p+w < g.n {
			add(p, p+w)
		}
	}
	mean = math.Max(mean/float64(len(g.edges)), 1e-9)
	for k := range g.edges {
		g.edges[k].W = grabCut * math.Exp(-g.edges[k].W/(2*mean))
	}
	ratio, base := c.colours(), make([]float64, g.n)
	for p := range base {
		base[p] = ratio.of(pix[3*p:])
	}
	g.terminals = change(base, gridSets, seed)
	return g
}

// change returns count sets: base and further ones, each with another tenth of its numbers
// replaced by base plus noise as large as base itself (root mean square).
func change(base []float64, count int, seed uint64) [][]float64 {
	r := rand.New(rand.NewPCG(seed, uint64(len(base))))
	sum := 0.0
	for _, v := range base {
		sum += v * v
	}
	size := math.Sqrt(sum / float64(len(base)))
	sets := [][]float64{base}
	for len(sets) < count {
		next := slices.Clone(sets[len(sets)-1])
		for _, i := range r.Perm(len(base))[:len(base)/10] {
			next[i] = base[i] + size*r.NormFloat64()
		}
		sets = append(sets, next)
	}
	return sets
}
