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
	lab           []int16 // height×width×3: the cells' colours, in LabUnits
	sum           []int32 // (height+1)×(width+1)×3: those of all cells above and to the left
	summed        bool    // sum is of lab
	kept          []byte  // height×width×3: the cells' colours, coarser
	isKept        bool    // kept is of lab, as it was last set
}

// set makes g a thumbnail.
func (g *grid) set(t *features.Thumbnail) {
	g.cell, g.width, g.height = t.Cell, t.Width, t.Height
	g.lab = append(g.lab[:0], t.Lab[:3*t.Width*t.Height]...)
	g.summed, g.isKept = false, false
}

// What one step of a kept colour is, in LabUnits: of L, and of a and b, whose zero is keptZero.
const (
	keptL    = features.LabUnit / 2
	keptAB   = features.LabUnit
	keptZero = 128
)

// keep returns the cells' colours as they were last set, as restore wants them, until the next
// set.
func (g *grid) keep() []byte {
	if g.isKept {
		return g.kept
	}
	g.kept, g.isKept = scratch.Grow(g.kept, len(g.lab)), true
	for from, to := g.lab, g.kept; len(from) >= 3; from, to = from[3:], to[3:] {
		to[2] = step(int32(from[2]), keptAB, keptZero)
		to[1] = step(int32(from[1]), keptAB, keptZero)
		to[0] = step(int32(from[0]), keptL, 0)
	}
	return g.kept
}

// step is v, in LabUnits, in such steps.
func step(v, unit, zero int32) byte { return byte(min(max((v+unit/2)/unit+zero, 0), 255)) }

// restore makes g, whose size stays, that of an earlier picture, as it was kept.
func (g *grid) restore(kept []byte) {
	g.keep()
	g.lab = g.lab[:0]
	for ; len(kept) >= 3; kept = kept[3:] {
		g.lab = append(g.lab, keptL*int16(kept[0]), keptAB*(int16(kept[1])-keptZero), keptAB*(int16(kept[2])-keptZero))
	}
	g.summed = false
}

// sumUp sets g.sum.
func (g *grid) sumUp() {
	stride := 3 * (g.width + 1)
	g.sum = scratch.Grow(g.sum, stride*(g.height+1))
	clear(g.sum[:stride])
	for y := range g.height {
		above, row := g.sum[y*stride:(y+1)*stride], g.sum[(y+1)*stride:(y+2)*stride]
		clear(row[:3])
		above, row = above[3:], row[3:]
		var l, a, b int32
		for c := g.lab[3*y*g.width : 3*(y+1)*g.width]; len(c) >= 3 && len(row) >= 3 && len(above) >= 3; c, row, above = c[3:], row[3:], above[3:] {
			l, a, b = l+int32(c[0]), a+int32(c[1]), b+int32(c[2])
			row[0], row[1], row[2] = above[0]+l, above[1]+a, above[2]+b
		}
	}
	g.summed = true
}

// at is the colour of a cell.
func (g *grid) at(x, y int) colour { return g.colour(y*g.width + x) }

// colour is that of the cell with a number, row by row.
func (g *grid) colour(cell int) colour {
	const perLab = 1.0 / features.LabUnit
	c := g.lab[3*cell:][:3:3]
	return colour{perLab * float32(c[0]), perLab * float32(c[1]), perLab * float32(c[2])}
}

// mean is the mean colour of the cells from x0, y0 to before x1, y1, which lie in the grid.
func (g *grid) mean(x0, y0, x1, y1 int) colour {
	if !g.summed {
		g.sumUp()
	}
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
