package picture

import (
	"math"

	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/scratch"
)

// cellsAcross is the number of grid cells along the longer side: fine enough that a
// search radius of a few per cent of the picture wastes little.
const cellsAcross = 32

// Grid sorts superpixels into square cells by centroid, so that those near a
// point are a few runs of consecutive slots.
type Grid struct {
	Order    []int32   // slot → superpixel, cell by cell, row-major cells
	Centroid []float32 // slot → its centroid

	side       float64 // of a cell, pixels
	cols, rows int
	start      []int32 // cell → first slot; one more at the end
}

func (g *Grid) build(centroid []float32, width, height int) {
	g.side = math.Max(1, float64(max(width, height))/cellsAcross)
	g.cols, g.rows = int(float64(width)/g.side)+1, int(float64(height)/g.side)+1
	n := len(centroid) / 2
	g.Order, g.Centroid = scratch.Grow(g.Order, n), scratch.Grow(g.Centroid, 2*n)
	g.start = scratch.Zero(g.start, g.cols*g.rows+2)
	for i := range n {
		g.start[g.cell(centroid[2*i], centroid[2*i+1])+2]++
	}
	for c := 2; c < len(g.start); c++ {
		g.start[c] += g.start[c-1]
	}
	for i := range n {
		c := g.cell(centroid[2*i], centroid[2*i+1]) + 1
		g.Order[g.start[c]] = int32(i)
		copy(g.Centroid[2*g.start[c]:], centroid[2*i:2*i+2])
		g.start[c]++
	}
	g.start = g.start[:g.cols*g.rows+1]
}

func (g *Grid) cell(x, y float32) int {
	return g.place(float64(y), g.rows)*g.cols + g.place(float64(x), g.cols)
}

// place is which of n cells along a side v is in, or nearest to.
func (g *Grid) place(v float64, n int) int { return min(max(int(v/g.side), 0), n-1) }

// CellAt returns the column and the row of the cell of a point.
func (g *Grid) CellAt(x, y float32) (cx, cy int) {
	c := g.cell(x, y)
	return c % g.cols, c / g.cols
}

// AwayFrom is how far what is in cell row cy is at least from all y with y0 ≤ y ≤ y1.
func (g *Grid) AwayFrom(cy int, y0, y1 float64) float64 {
	return max(0, float64(cy)*g.side-y1, y0-float64(cy+1)*g.side)
}

// Span returns the slots of cell row cy that may hold centroids with x in
// [x−r, x+r].
func (g *Grid) Span(cy int, x, r float64) (from, to int) {
	return int(g.start[cy*g.cols+g.place(x-r, g.cols)]), int(g.start[cy*g.cols+g.place(x+r, g.cols)+1])
}

// CellRows returns the first and last cell row with centroids within r of y.
func (g *Grid) CellRows(y, r float64) (first, last int) {
	return g.place(y-r, g.rows), g.place(y+r, g.rows)
}

// Counts writes how many superpixels each cell holds to dst, and returns it.
func (g *Grid) Counts(dst []int32) []int32 {
	dst = scratch.Grow(dst, g.cols*g.rows)
	for c := range dst {
		dst[c] = g.start[c+1] - g.start[c]
	}
	return dst
}

// Cells calls visit for the cells, by their numbers in Counts and their first slots, that may hold
// centroids within r of a point.
func (g *Grid) Cells(x, y, r float64, visit func(cell, first int)) {
	c0, c1 := g.place(x-r, g.cols), g.place(x+r, g.cols)
	first, last := g.CellRows(y, r)
	for cy := first; cy <= last; cy++ {
		for c := cy*g.cols + c0; c <= cy*g.cols+c1; c++ {
			visit(c, int(g.start[c]))
		}
	}
}

// Adjacency lists the neighbours of every superpixel, in the order of the edges.
type Adjacency struct {
	first []int32 // neighbours of i: near[first[i]:first[i+1]]
	near  []int32
	edges []int32 // to these: numbers
}

func (a *Adjacency) build(n int, edges []mrf.Edge) {
	a.first = scratch.Zero(a.first, n+2)
	for _, e := range edges {
		a.first[e.I+2]++
		a.first[e.J+2]++
	}
	for i := 2; i < len(a.first); i++ {
		a.first[i] += a.first[i-1]
	}
	a.near, a.edges = scratch.Grow(a.near, 2*len(edges)), scratch.Grow(a.edges, 2*len(edges))
	add := func(i, j int32, edge int) {
		at := a.first[i+1]
		a.near[at], a.edges[at], a.first[i+1] = j, int32(edge), at+1
	}
	for k, e := range edges {
		add(e.I, e.J, k)
		add(e.J, e.I, k)
	}
}

// Of lists the superpixels that touch i.
func (a *Adjacency) Of(i int32) []int32 { return a.near[a.first[i]:a.first[i+1]] }

// EdgesOf lists the numbers of the edges to what Of lists.
func (a *Adjacency) EdgesOf(i int32) []int32 { return a.edges[a.first[i]:a.first[i+1]] }

// AppendComponent appends the connected component of start among the superpixels that in
// holds for, start first, and marks it in seen. What is marked there already is none of it.
func (a *Adjacency) AppendComponent(dst []int32, seen []bool, start int32, in func(i int32) bool) []int32 {
	next := len(dst)
	seen[start] = true
	for dst = append(dst, start); next < len(dst); next++ {
		for _, j := range a.Of(dst[next]) {
			if !seen[j] && in(j) {
				seen[j] = true
				dst = append(dst, j)
			}
		}
	}
	return dst
}
