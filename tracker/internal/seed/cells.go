package seed

import (
	"context"
	"fmt"
	"math"

	"github.com/segd/segd/features"
	"github.com/segd/segd/solver/mrf"
)

// How the pixels in a box are cut.
const (
	cellsAcross = 160  // at most, along the box's longer side
	cellsAround = 0.6  // how far around the box is looked, in means of its sides
	cellsLeast  = 3    // cells around it at least
	cellRounds  = 2    // of colours and cuts in turns
	cellColours = 4096 // of each side are learnt from, about, at most
	cellOdds    = 6.0  // what a cell's colour says at most
	priorOdds   = 2.0  // times the log odds of its superpixel
	cellSmooth  = 5.0  // energy of an outline, a cell, where colours are alike
	cellFlat    = 0.05 // of it remains where they differ
)

// cells are the pixels in and around a box, as small squares.
type cells struct {
	cols, rows int
	colours    []colour
	superpixel []int32 // that of the cell's middle
	free       []bool
	object     []int32    // 1 where the object is; this changes only where it is free
	edges      []mrf.Edge // of 8 neighbours
	sides      [2]mixture // colours of what is not the object, and of what is
	ratio      []float64  // log odds of the object by them, 0 where it is not free
	graph      mrf.Potts
	unary      []float64
}

// cells are those of the box, of which none is the object yet but what is marked so.
// Without pixels they have their superpixels' colours.
func (b *boxed) cells() *cells {
	w, h := b.box[2]-b.box[0], b.box[3]-b.box[1]
	size := max(1, int(math.Ceil(math.Max(w, h)/cellsAcross)))
	around := math.Max(cellsAround*(w+h)/2, float64(cellsLeast*size))
	left, top := max(0, int(b.box[0]-around)), max(0, int(b.box[1]-around))
	right, bottom := min(b.Width, int(math.Ceil(b.box[2]+around))), min(b.Height, int(math.Ceil(b.box[3]+around)))
	c := &cells{cols: (right - left + size - 1) / size, rows: (bottom - top + size - 1) / size}
	n := c.cols * c.rows
	c.colours, c.superpixel, c.free, c.object = make([]colour, n), make([]int32, n), make([]bool, n), make([]int32, n)
	c.ratio, c.unary = make([]float64, n), make([]float64, 2*n)
	for k := range n {
		x0, y0 := left+k%c.cols*size, top+k/c.cols*size
		x1, y1 := min(x0+size, right), min(y0+size, bottom)
		i := b.pixels[min(y0+size/2, bottom-1)*b.Width+min(x0+size/2, right-1)]
		if c.superpixel[k] = i; i == features.Unseen {
			continue
		}
		inside := 0
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				if x, y := float64(x)+0.5, float64(y)+0.5; x > b.box[0] && x < b.box[2] && y > b.box[1] && y < b.box[3] {
					inside++
				}
			}
		}
		c.free[k] = 2*inside >= (x1-x0)*(y1-y0) && b.open(int(i))
		if !c.free[k] && int(b.Fixed[i]) == b.label {
			c.object[k] = 1
		}
		c.colours[k] = b.meanColour(x0, y0, x1, y1)
	}
	c.join()
	return c
}

// colour is that of a superpixel.
func (b *boxed) colour(i int) colour {
	l := b.Colour[3*i : 3*i+3]
	return colour{float64(l[0]), float64(l[1]), float64(l[2])}
}

// meanColour is that of the pixels from x0, y0 to before x1, y1, some of which are seen.
func (b *boxed) meanColour(x0, y0, x1, y1 int) (mean colour) {
	n := 0
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			pixel, seen := features.Pixel(b.Patches, x, y)
			if !seen {
				continue
			}
			for d, v := range pixel {
				mean[d] += float64(v)
			}
			n++
		}
	}
	for d := range mean {
		mean[d] /= float64(n) * features.LabUnit
	}
	return mean
}

// join sets the edges, contrast-sensitive as in GrabCut.
func (c *cells) join() {
	sum := 1e-9
	c.edges = make([]mrf.Edge, 0, 4*len(c.colours))
	for k := range c.colours {
		x, y := k%c.cols, k/c.cols
		for _, step := range [...][2]int{{1, 0}, {0, 1}, {1, 1}, {-1, 1}} {
			if u, v := x+step[0], y+step[1]; u >= 0 && u < c.cols && v < c.rows {
				to := v*c.cols + u
				squared := c.colours[k].squared(c.colours[to])
				sum += squared
				c.edges = append(c.edges, mrf.Edge{I: int32(k), J: int32(to), W: squared})
			}
		}
	}
	scale := -float64(len(c.edges)) / (2 * sum)
	for e, edge := range c.edges {
		weight := cellSmooth * (cellFlat + (1-cellFlat)*math.Exp(scale*edge.W))
		if apart := int(edge.J - edge.I); apart != 1 && apart != c.cols {
			weight /= math.Sqrt2 // it is as much longer
		}
		c.edges[e].W = weight
	}
}

// sample is the colours of both sides, of every so many-th cell where there are many.
func (c *cells) sample() (sides [2][]colour) {
	var count, every, seen [2]int
	for _, side := range c.object {
		count[side]++
	}
	for side, n := range count {
		every[side] = 1 + n/cellColours
		sides[side] = make([]colour, 0, 1+n/every[side])
	}
	for k, side := range c.object {
		if seen[side]++; seen[side]%every[side] == 0 {
			sides[side] = append(sides[side], c.colours[k])
		}
	}
	return sides
}

// learn fits the colours of both sides to the labels. Of a side without cells nothing is
// known, so the colours say nothing.
func (c *cells) learn(refine bool) {
	sides := c.sample()
	clear(c.ratio)
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return
	}
	for side := range sides {
		c.sides[side].fit(sides[side], refine)
	}
	for k, free := range c.free {
		if free {
			others, own := c.energies(k)
			c.ratio[k] = max(-cellOdds, min(cellOdds, others-own))
		}
	}
}

// energies are those of a cell's colour as what is not the object and as what is.
func (c *cells) energies(k int) (others, own float64) {
	others, _ = c.sides[0].energy(c.colours[k])
	own, _ = c.sides[1].energy(c.colours[k])
	return others, own
}

// cut labels the cells by their colours, the superpixels' log odds and smoothness.
func (c *cells) cut(ctx context.Context, odds []float64) error {
	for k, free := range c.free {
		u := c.unary[2*k : 2*k+2]
		if !free {
			u[c.object[k]], u[1-c.object[k]] = 0, math.Inf(1)
			continue
		}
		o := c.ratio[k] + priorOdds*odds[c.superpixel[k]]
		u[0], u[1] = max(0, o), max(0, -o)
	}
	if err := c.graph.Label(ctx, c.object, c.unary); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	return nil
}

// refine cuts the cells, which begin as the superpixels' log odds say, and writes what
// share of each superpixel's cells are the object then to p; what has none keeps its own.
func (c *cells) refine(ctx context.Context, odds, p []float64) error {
	for k, free := range c.free {
		if free && odds[c.superpixel[k]] > 0 {
			c.object[k] = 1
		}
	}
	if err := c.graph.Reset(len(c.object), 2, c.edges); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	for round := range cellRounds {
		c.learn(round > 0)
		if err := c.cut(ctx, odds); err != nil {
			return err
		}
	}
	count, own := make([]float64, len(p)), make([]float64, len(p))
	for k, o := range c.object {
		if c.superpixel[k] == features.Unseen {
			continue
		}
		count[c.superpixel[k]]++
		own[c.superpixel[k]] += float64(o)
	}
	for i, n := range count {
		if n > 0 {
			p[i] = own[i] / n
		}
	}
	return nil
}
