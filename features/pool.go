package features

import (
	"image"
	"math"

	"github.com/segd/segd/internal/rowsum"
)

// An Axis holds, for each pixel of a patch across or down, the first of the two cells of a map
// that bilinear interpolation reads there and the second one's weight. A map of one cell has no
// second, whose weight is 0 then.
type Axis struct {
	Cell   []int32
	Weight []float32
}

// Axes sets x and y to where m is read for the pixels of a patch. Beyond the outermost cell
// centres the map continues as its nearest cell.
func (m *Map) Axes(x, y *Axis, p *Patch) {
	x.fill(p.Cols, m.Width, p.Min.X, p.Shrink, m.StrideX, m.OffsetX)
	y.fill(p.Rows, m.Height, p.Min.Y, p.Shrink, m.StrideY, m.OffsetY)
}

// pooler averages feature maps over superpixels. The zero value is ready.
type pooler struct {
	x, y   Axis
	window []float32 // weights of the cells under one superpixel's bounding box
	line   []float32 // weights along one run
}

// pool writes the mean of the bilinearly interpolated map m over each superpixel in a part of a patch,
// measured by stats, to columns column…column+m.Channels−1 of x, N×D of dst.
func (p *pooler) pool(x []float32, dst *Scene, patch *Patch, part image.Rectangle, stats *regionStats, m *Map, column int) {
	m.Axes(&p.x, &p.y, patch)

	c := m.Channels
	for k := range patch.N {
		if !dst.centred(patch.First+k, part) {
			continue
		}
		out := x[(patch.First+k)*dst.D+column:][:c]
		clear(out)
		i0, j0, rows, cols := p.weigh(stats.runs[stats.start[k]:stats.start[k+1]], patch.Boxes[k])
		share := 1 / float32(stats.sums[k].n)
		for i := range p.window {
			p.window[i] *= share
		}
		for i := range min(rows, m.Height-i0) { // a map that is one cell high or wide has no second, whose weight is 0
			rowsum.Add(out, m.Data[((i0+i)*m.Width+j0)*c:], c, p.window[i*cols:][:min(cols, m.Width-j0)])
		}
	}
}

// weigh sums the bilinear weights of the pixels of a superpixel, which lies in a box, for every cell in the
// rows×cols window that starts at cell (i0, j0), and leaves them in p.window.
func (p *pooler) weigh(runs []run, box image.Rectangle) (i0, j0, rows, cols int) {
	i0, j0 = int(p.y.Cell[box.Min.Y]), int(p.x.Cell[box.Min.X])
	rows = int(p.y.Cell[box.Max.Y-1]) + 2 - i0
	cols = int(p.x.Cell[box.Max.X-1]) + 2 - j0
	p.window = grown(p.window, rows*cols)
	clear(p.window)
	p.line = grown(p.line, cols)
	for _, r := range runs {
		from, to := int(p.x.Cell[r.x0])-j0, int(p.x.Cell[r.x1-1])+2-j0
		line := p.line[from:to]
		clear(line)
		base := p.x.Cell[r.x0]
		weights := p.x.Weight[r.x0:r.x1]
		for i, cell := range p.x.Cell[r.x0:r.x1] {
			w := weights[i]
			at := line[cell-base:][:2]
			at[0] += 1 - w
			at[1] += w
		}
		wy := p.y.Weight[r.y]
		i := (int(p.y.Cell[r.y]) - i0) * cols
		upper := p.window[i+from : i+to]
		lower := p.window[i+cols+from : i+cols+to]
		for j, w := range line {
			upper[j] += (1 - wy) * w
			lower[j] += wy * w
		}
	}
	return i0, j0, rows, cols
}

// fill computes the interpolation of n pixels on cells cells. Pixel i is centred where
// the shrink pixels of the image from first + shrink·i on are, cell j on the image's pixel
// stride·j + offset. A single cell is read twice with all weight on one.
func (a *Axis) fill(n, cells, first, shrink int, stride, offset float64) {
	a.Cell = grown(a.Cell, n)
	a.Weight = grown(a.Weight, n)
	last := float64(cells - 1)
	for i := range n {
		pixel := float64(first+shrink*i) + float64(shrink-1)/2
		at := min(max((pixel-offset)/stride, 0), last)
		cell := min(math.Floor(at), max(last-1, 0))
		a.Cell[i] = int32(cell)
		a.Weight[i] = float32(at - cell)
	}
}
