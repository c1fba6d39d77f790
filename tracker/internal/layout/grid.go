package layout

import (
	"math"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scratch"
)

// colour is L, a and b.
type colour [3]float32

// By how much the colours of one thing differ from one picture to the next, its shading
// included: standard deviations.
const (
	spreadL  = 7
	spreadAB = 3.5
)

// distance is the squared distance of two colours in standard deviations.
func distance(a, b colour) float32 {
	l, u, v := (a[0]-b[0])/spreadL, (a[1]-b[1])/spreadAB, (a[2]-b[2])/spreadAB
	return l*l + u*u + v*v
}

// alikeSteps are how many entries of the table of likelihoods a squared distance of 1 has.
const alikeSteps = 64

var likelihoods = func() (t [16 * alikeSteps]float32) {
	for i := range t {
		t[i] = float32(math.Exp(-float64(i) / alikeSteps / 2))
	}
	return t
}()

// alike is exp(−d²/2) of the distance d of two colours, 0 from d = 4 on.
func alike(a, b colour) float32 {
	if i := int(distance(a, b) * alikeSteps); i < len(likelihoods) {
		return likelihoods[i]
	}
	return 0
}

// grid is a picture as square cells, each of its mean colour.
type grid struct {
	cell          int     // pixels
	width, height int     // cells
	sum           []int32 // (height+1)×(width+1)×3: the colours of all cells above and to the left, in LabUnits
	kept          []byte  // height×width×3: the cells' colours, coarser, as last set
}

// set makes g a thumbnail.
func (g *grid) set(t *features.Thumbnail) {
	g.kept = g.kept[:0]
	g.fill(t.Cell, t.Width, t.Height, func(x, y int) (c [3]int32) {
		for k, v := range t.Lab[3*(y*t.Width+x):][:3] {
			c[k] = int32(v)
		}
		g.kept = append(g.kept, step(c[0], keptL, 0), step(c[1], keptAB, keptZero), step(c[2], keptAB, keptZero))
		return c
	})
}

// What one step of a kept colour is, in LabUnits: of L, and of a and b, whose zero is keptZero.
const (
	keptL    = features.LabUnit / 2
	keptAB   = features.LabUnit
	keptZero = 128
)

// step is v, in LabUnits, in such steps.
func step(v, unit, zero int32) byte { return byte(min(max((v+unit/2)/unit+zero, 0), 255)) }

// restore makes g that of an earlier picture, as it was kept.
func (g *grid) restore(kept []byte) {
	g.fill(g.cell, g.width, g.height, func(x, y int) [3]int32 {
		c := kept[3*(y*g.width+x):]
		return [3]int32{keptL * int32(c[0]), keptAB * (int32(c[1]) - keptZero), keptAB * (int32(c[2]) - keptZero)}
	})
}

// fill makes g that of cells, whose mean colours are in LabUnits.
func (g *grid) fill(cell, width, height int, colour func(x, y int) [3]int32) {
	g.cell, g.width, g.height = cell, width, height
	stride := 3 * (g.width + 1)
	g.sum = scratch.Grow(g.sum, stride*(g.height+1))
	clear(g.sum[:stride])
	for y := range g.height {
		above, row := g.sum[y*stride:(y+1)*stride], g.sum[(y+1)*stride:(y+2)*stride]
		clear(row[:3])
		var left [3]int32
		for x := range g.width {
			for k, c := range colour(x, y) {
				left[k] += c
				row[3*(x+1)+k] = above[3*(x+1)+k] + left[k]
			}
		}
	}
}

// at is the colour of a cell.
func (g *grid) at(x, y int) colour { return g.mean(x, y, x+1, y+1) }

// mean is the mean colour of the cells from x0, y0 to before x1, y1, which lie in the grid.
func (g *grid) mean(x0, y0, x1, y1 int) colour {
	stride := 3 * (g.width + 1)
	a, b, c, d := y0*stride+3*x0, y0*stride+3*x1, y1*stride+3*x0, y1*stride+3*x1
	n := 1 / float32(features.LabUnit*(x1-x0)*(y1-y0))
	s := g.sum
	return colour{
		float32(s[d]-s[c]-s[b]+s[a]) * n,
		float32(s[d+1]-s[c+1]-s[b+1]+s[a+1]) * n,
		float32(s[d+2]-s[c+2]-s[b+2]+s[a+2]) * n,
	}
}

// round is the mean colour of the cells round a point, width by height, or of the one it
// lies in if that is larger; ok is whether the point is in the picture.
func (g *grid) round(x, y, width, height float64) (c colour, ok bool) {
	if !(x >= 0 && y >= 0 && x < float64(g.width) && y < float64(g.height)) {
		return c, false
	}
	x0, y0 := max(int(x-width/2+.5), 0), max(int(y-height/2+.5), 0)
	x1, y1 := min(int(x+width/2+.5), g.width), min(int(y+height/2+.5), g.height)
	if x1 <= x0 {
		x0, x1 = int(x), int(x)+1
	}
	if y1 <= y0 {
		y0, y1 = int(y), int(y)+1
	}
	return g.mean(x0, y0, x1, y1), true
}

// middle is the pixel in the middle of a cell.
func (g *grid) middle(x, y int) (px, py int) { return x*g.cell + g.cell/2, y*g.cell + g.cell/2 }

// index is the cell that a point of the picture lies in.
func (g *grid) index(x, y float64) int { return int(y)*g.width + int(x) }

// within calls visit for the cells of a box, of which only the part in the picture counts.
func (g *grid) within(x, y, width, height float64, visit func(gx, gy int)) {
	for gy := max(0, int(y-height/2)); gy <= min(g.height-1, int(y+height/2)); gy++ {
		for gx := max(0, int(x-width/2)); gx <= min(g.width-1, int(x+width/2)); gx++ {
			visit(gx, gy)
		}
	}
}
