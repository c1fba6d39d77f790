package features

import (
	"image"
	"math"

	"github.com/segd/segd/internal/buffers"
)

// A Masker is a Model with a mask head, which says which part of a box is its object.
type Masker interface {
	Model
	// MaskLogits makes grid, whose region is a box, the grid of a region round it, with the logit of each cell to be the object's. maps
	// and head are the Maps and MaskFeatures of the patch that shows the box. It returns false if the model has no mask head.
	MaskLogits(grid *Grid, maps []Map, head *Map) (bool, error)
}

// A Grid is log odds in square cells over a region of an image.
type Grid struct {
	// X0 to Y1 are the region's sides in pixels of the image, whose first pixel is from 0 to 1.
	X0, Y0, X1, Y1 float64
	Cols, Rows     int
	Logits         []float32 // Rows×Cols

	box image.Rectangle // what the region is cropped to; empty: to nothing

	// Of a patch: which cells its pixels are between, and its pixels in the grid.
	x, y                     Axis
	left, right, top, bottom int
}

// idleGrids are of no box at the moment.
var idleGrids buffers.Stock[*Grid]

// OutsideLogit is the log odds of what lies beyond a grid.
const OutsideLogit = -8

// MaskGrid makes g, whose memory it reuses, the log odds of cells to be of the thing in a box: x0, y0, x1 and y1 in pixels, where the
// first pixel is from 0 to 1. Of a box that was found with a Mask it is that, and beyond the box there is none of the thing; of others
// the mask head tells. It returns false if the scene was made without a Masker, or shows nothing of the box.
func (s *Scene) MaskGrid(g *Grid, box [4]float64) (bool, error) {
	g.box = image.Rectangle{}
	for i := range s.Found {
		if d := &s.Found[i]; d.Mask != nil && Corners(d.Box) == box {
			g.set(d.Mask, d.Box)
			return true, nil
		}
	}
	p := s.showing(box)
	if s.masker == nil || p == nil {
		return false, nil
	}
	g.X0, g.Y0, g.X1, g.Y1 = box[0], box[1], box[2], box[3]
	return s.masker.MaskLogits(g, p.Maps, &p.MaskFeatures)
}

// set makes g, whose memory it reuses, a copy of another, cropped to a box.
func (g *Grid) set(from *Grid, box image.Rectangle) {
	g.X0, g.Y0, g.X1, g.Y1, g.Cols, g.Rows = from.X0, from.Y0, from.X1, from.Y1, from.Cols, from.Rows
	g.Logits, g.box = append(g.Logits[:0], from.Logits...), box
}

// MaskLogits returns in dst, whose memory it reuses, the log odds of each superpixel to be of the thing in a box, as MaskGrid has it. It
// is empty where MaskGrid returns false.
func (s *Scene) MaskLogits(dst []float32, box [4]float64) ([]float32, error) {
	g, err := s.newGrid(box)
	if g == nil {
		return dst[:0], err
	}
	defer g.release()
	return g.Pool(dst, s), nil
}

// Shows is the share of a box, as far as it is in the picture, that one patch shows at most.
func (s *Scene) Shows(box image.Rectangle) (most float64) {
	box = box.Intersect(image.Rect(0, 0, s.Width, s.Height))
	for k := range s.Patches {
		most = max(most, float64(area(box.Intersect(s.Patches[k].Rectangle)))/float64(max(1, area(box))))
	}
	return most
}

// A thing may be a part of another one if so much of its box lies in the other's, and is if so much of what a mask head sees of it is of
// the other thing, too.
const (
	partInside = 0.7
	partShare  = 0.5
)

// Part tells whether the thing in the first of two boxes is a part of the thing in the second, as its upper body is of a person. It is
// not known, false, if the scene was made without a Masker or does not show both, and if the mask head fails, as MaskLogits will say.
func (s *Scene) Part(first, second image.Rectangle) bool {
	return float64(area(first.Intersect(second))) > partInside*float64(area(first)) && s.shared(first, second) > partShare
}

// shared is the share of the thing in the first of two boxes that is of the thing in the second, too; 0 if that is not known.
func (s *Scene) shared(first, second image.Rectangle) float64 {
	a, errA := s.newGrid(Corners(first))
	defer a.release()
	b, errB := s.newGrid(Corners(second))
	defer b.release()
	if errA != nil || errB != nil || a == nil || b == nil {
		return 0
	}
	all, both := 0, 0
	for k, logit := range a.Logits {
		if logit <= 0 {
			continue
		}
		all++
		x := a.X0 + (float64(k%a.Cols)+0.5)/float64(a.Cols)*(a.X1-a.X0)
		y := a.Y0 + (float64(k/a.Cols)+0.5)/float64(a.Rows)*(a.Y1-a.Y0)
		col, row := int(math.Floor((x-b.X0)/(b.X1-b.X0)*float64(b.Cols))), int(math.Floor((y-b.Y0)/(b.Y1-b.Y0)*float64(b.Rows)))
		if col >= 0 && col < b.Cols && row >= 0 && row < b.Rows && b.Logits[row*b.Cols+col] > 0 {
			both++
		}
	}
	return float64(both) / float64(max(1, all))
}

// Shape sets the pixels of the thing in a box to 1 in bits, a row-major picture of the image, as the mask head sees it, and those of
// the rest of the box, which is inside the image, to 0. It returns false and leaves bits alone if the scene was made without a
// Masker, or shows nothing of the box.
func (s *Scene) Shape(bits []uint8, box image.Rectangle) (bool, error) {
	g, err := s.newGrid(Corners(box))
	if g == nil {
		return false, err
	}
	defer g.release()
	g.Over(&Patch{Rectangle: box, Shrink: 1, Cols: box.Dx(), Rows: box.Dy()})
	for row := range box.Dy() {
		line := bits[(box.Min.Y+row)*s.Width+box.Min.X:][:box.Dx()]
		for col := range line {
			line[col] = 0
			if g.At(col, row) > 0 {
				line[col] = 1
			}
		}
	}
	return true, nil
}

// Corners are a box as x0, y0, x1 and y1.
func Corners(box image.Rectangle) [4]float64 {
	return [4]float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}
}

// newGrid is what the mask head makes of a box, to be released; nil: there is no mask head, or nothing of the box is shown.
func (s *Scene) newGrid(box [4]float64) (*Grid, error) {
	g, ok := idleGrids.Take()
	if !ok {
		g = new(Grid)
	}
	if ok, err := s.MaskGrid(g, box); err != nil || !ok {
		g.release()
		return nil, err
	}
	return g, nil
}

func (g *Grid) release() {
	if g != nil {
		idleGrids.Put(g)
	}
}

// showing is the patch whose maps show most of a box, the finest of those that show all of it; nil: none shows any.
func (s *Scene) showing(box [4]float64) (best *Patch) {
	most := 0.0
	for k := range s.Patches {
		p := &s.Patches[k]
		m := &p.MaskFeatures
		if len(m.Data) == 0 {
			continue
		}
		left, top := m.OffsetX+0.5-m.StrideX/2, m.OffsetY+0.5-m.StrideY/2
		wide := min(box[2], left+m.StrideX*float64(m.Width)) - max(box[0], left)
		high := min(box[3], top+m.StrideY*float64(m.Height)) - max(box[1], top)
		if shown := max(0, wide) * max(0, high); shown > most {
			best, most = p, shown
		}
	}
	return best
}

// Pool returns in dst, whose memory it reuses, the mean of the grid over each superpixel of a scene, bilinearly interpolated.
func (g *Grid) Pool(dst []float32, s *Scene) []float32 {
	dst = buffers.Fit(dst, s.N)
	counts := buffers.Get[float32](s.N)
	defer buffers.Put(counts)
	clear(dst)
	clear(counts)
	for k := range s.Patches {
		g.add(dst, counts, &s.Patches[k])
	}
	for k := range s.Patches {
		p := &s.Patches[k]
		for i := p.First; i < p.First+p.N; i++ {
			all := max(counts[i], float32(s.Area[i])/float32(p.Shrink*p.Shrink)) // pixels of the patch
			dst[i] = (dst[i] + OutsideLogit*(all-counts[i])) / all
		}
	}
	return dst
}

// Over readies the grid for At of the pixels of a patch.
func (g *Grid) Over(p *Patch) {
	cell := g.cells()
	cell.Axes(&g.x, &g.y, p)
	shrink := float64(p.Shrink)
	first := func(side float64, from int) int { return int(math.Ceil((side-float64(from))/shrink - 0.5)) }
	x0, y0, x1, y1 := g.X0, g.Y0, g.X1, g.Y1
	if b := Corners(g.box); !g.box.Empty() {
		x0, y0, x1, y1 = max(x0, b[0]), max(y0, b[1]), min(x1, b[2]), min(y1, b[3])
	}
	g.left, g.right = max(0, first(x0, p.Min.X)), min(p.Cols, first(x1, p.Min.X))
	g.top, g.bottom = max(0, first(y0, p.Min.Y)), min(p.Rows, first(y1, p.Min.Y))
}

// At is the grid at a pixel of the patch that it was readied for, bilinearly interpolated.
func (g *Grid) At(col, row int) float32 {
	if col < g.left || col >= g.right || row < g.top || row >= g.bottom {
		return OutsideLogit
	}
	above, below := g.lines(row)
	return g.between(above, below, row, col)
}

// cells are the grid as a map.
func (g *Grid) cells() Map {
	m := Map{
		Channels: 1, Height: g.Rows, Width: g.Cols,
		StrideX: (g.X1 - g.X0) / float64(g.Cols), StrideY: (g.Y1 - g.Y0) / float64(g.Rows),
	}
	m.OffsetX, m.OffsetY = g.X0+m.StrideX/2-0.5, g.Y0+m.StrideY/2-0.5
	return m
}

// lines are the rows of cells above and below a row of pixels of what x and y are the axes of.
func (g *Grid) lines(row int) (above, below []float32) {
	i := int(g.y.Cell[row])
	return g.Logits[i*g.Cols:][:g.Cols], g.Logits[min(i+1, g.Rows-1)*g.Cols:][:g.Cols]
}

// between is the grid at a pixel, bilinearly interpolated.
func (g *Grid) between(above, below []float32, row, col int) float32 {
	a, w := int(g.x.Cell[col]), g.x.Weight[col]
	b := min(a+1, g.Cols-1)
	upper, lower := above[a]+w*(above[b]-above[a]), below[a]+w*(below[b]-below[a])
	return upper + g.y.Weight[row]*(lower-upper)
}

// add sums the grid over the superpixels' pixels that lie in it, and counts these.
func (g *Grid) add(sums, counts []float32, p *Patch) {
	g.Over(p)
	for row := g.top; row < g.bottom; row++ {
		above, below := g.lines(row)
		for col := g.left; col < g.right; col++ {
			i := p.Labels[row*p.Cols+col]
			if i == Unseen {
				continue
			}
			sums[i] += g.between(above, below, row, col)
			counts[i]++
		}
	}
}
