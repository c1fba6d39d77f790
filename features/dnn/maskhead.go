package dnn

import (
	"encoding/base64"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/internal/rowsum"
)

// A mask head tells the thing in a box from what else is there: a small network of its own, which train/segdtrain/masks.py puts into
// the file's metadata. Of each cell of a region round the box it sees the channels of the feature map, and those of an output of the
// network that is for it alone, and makes a logit.
const (
	maskHeadKey        = "segd.masks" // of the metadata, in base64
	maskFeaturesOutput = "masks"      // of the network
	regionGrown        = 1.3          // a region over its box
	regionCells        = 28           // of a region, along each side
	regionSamples      = 4            // of a cell, along each side
	// Engines take inputs of three planes, so a region's channels lie in three, one below the other.
	regionChannels = 96
)

// regionInput is the mask head's input, as engines see it.
var regionInput = image.Pt(regionCells, regionCells*regionChannels/inputChannels)

// maskHead computes regions.
type maskHead struct {
	runner
	tap int // of the model: that of maskFeaturesOutput
}

// openMaskHead opens the mask head that a model's file has, if its taps are as it wants them.
func (m *Model) openMaskHead() error {
	if m.info.maskFeatures == "" || len(m.info.Taps) != 1 {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(m.src.graph.metadata[maskHeadKey])
	if err != nil {
		return fmt.Errorf("metadata %q: %w; want base64", maskHeadKey, err)
	}
	src, err := readONNX(m.src.path, data, "want an ONNX file in "+maskHeadKey)
	if err != nil {
		return err
	}
	l := m.info.output(m.info.maskFeatures)
	if l == nil || !l.isMap() || src.fixed != regionInput || l.Shape[1]+m.info.Taps[0].Shape[1] != regionChannels {
		return fmt.Errorf("its mask head sees %v; want one that sees %v, %d channels of its feature map and of output %q", src.fixed, regionInput, regionChannels, maskFeaturesOutput)
	}
	h := &maskHead{tap: len(m.taps), runner: runner{nominal: regionInput}}
	opt := m.opt
	opt.Batch = 1 // regions are too small for two to be worth a wait
	h.prepare(src, opt)
	for _, v := range src.graph.outputs {
		h.taps = append(h.taps, tap{v.name, false})
	}
	if len(h.taps) != 1 {
		return fmt.Errorf("its mask head has %d outputs; want one", len(h.taps))
	}
	m.taps = append(m.taps, tap{l.Name, true})
	m.maskHead = h
	return nil
}

// MaskLogits implements features.Masker: it makes the grid one over the box and round it.
func (m *Model) MaskLogits(g *features.Grid, maps []features.Map, head *features.Map) (bool, error) {
	if m.maskHead == nil || len(maps) != 1 || maps[0].Channels+head.Channels != regionChannels {
		return false, nil
	}
	x, y := (g.X1-g.X0)*(regionGrown-1)/2, (g.Y1-g.Y0)*(regionGrown-1)/2
	g.X0, g.Y0, g.X1, g.Y1 = g.X0-x, g.Y0-y, g.X1+x, g.Y1+y
	if !(g.X1 > g.X0 && g.Y1 > g.Y0) || math.IsInf(g.X1-g.X0, 0) || math.IsInf(g.Y1-g.Y0, 0) {
		return false, fmt.Errorf("features/dnn: a region from %g, %g to %g, %g; want one with pixels", g.X0, g.Y0, g.X1, g.Y1)
	}
	g.Cols, g.Rows = regionCells, regionCells
	err := m.maskHead.compute(func(input []float32) error {
		r, ok := idleRegions.Take()
		if !ok {
			r = new(region)
		}
		n := maps[0].Channels * regionCells * regionCells
		r.sample(input[:n], &maps[0], g)
		r.sample(input[n:], head, g)
		idleRegions.Put(r)
		return nil
	}, func(n network, image int) error {
		made, shape, err := n.lend(0, image)
		if err != nil {
			return err
		}
		if len(made) != g.Cols*g.Rows {
			return fmt.Errorf("it makes %v of a region; want %d×%d logits", shape, g.Rows, g.Cols)
		}
		g.Logits = append(g.Logits[:0], made...)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("features/dnn: mask head: %w", err)
	}
	return true, nil
}

// region is what sampling takes.
type region struct {
	x, y       cellWeights
	line, sums []float32
}

// idleRegions sample nothing at the moment.
var idleRegions buffers.Stock[*region]

// sample writes m's channels in the cells of g to dst, plane by plane: each cell the mean of bilinear samples. Beyond the outermost
// cell centres the map goes on as its nearest cell.
func (r *region) sample(dst []float32, m *features.Map, g *features.Grid) {
	r.x.set(g.X0, g.X1, g.Cols, m.Width, m.StrideX, m.OffsetX)
	r.y.set(g.Y0, g.Y1, g.Rows, m.Height, m.StrideY, m.OffsetY)
	from := slices.Min(r.x.first)
	to := from
	for col, first := range r.x.first {
		to = max(to, first+len(r.x.of(col)))
	}
	c, plane := m.Channels, g.Cols*g.Rows
	r.line, r.sums = grown(r.line, (to-from)*c), grown(r.sums, g.Cols*c)
	for row, top := range r.y.first {
		clear(r.line)
		rowsum.Add(r.line, m.Data[(top*m.Width+from)*c:], m.Width*c, r.y.of(row))
		clear(r.sums)
		for col, left := range r.x.first {
			rowsum.Add(r.sums[col*c:][:c], r.line[(left-from)*c:], c, r.x.of(col))
		}
		for channel := range c {
			out := dst[channel*plane+row*g.Cols:][:g.Cols]
			for col := range out {
				out[col] = r.sums[col*c+channel]
			}
		}
	}
}

// grown is s with n values.
func grown(s []float32, n int) []float32 { return slices.Grow(s[:0], n)[:n] }

// cellWeights are, of each cell of a region along an axis, what it is made of: of so many of a map's cells from the first on.
type cellWeights struct {
	first   []int
	ends    []int // in weights
	weights []float32
}

func (c *cellWeights) of(cell int) []float32 {
	from := 0
	if cell > 0 {
		from = c.ends[cell-1]
	}
	return c.weights[from:c.ends[cell]]
}

// set makes c that of n cells from one coordinate to another, on so many cells of a map.
func (c *cellWeights) set(from, to float64, n, cells int, stride, offset float64) {
	c.first, c.ends, c.weights = c.first[:0], c.ends[:0], c.weights[:0]
	at := func(sample int) (cell int, second float64) { // of two cells the first, and the second's weight
		pixel := from + (float64(sample)+0.5)/float64(n*regionSamples)*(to-from) - 0.5
		v := min(max((pixel-offset)/stride, 0), float64(cells-1))
		cell = min(int(v), max(cells-2, 0))
		return cell, v - float64(cell)
	}
	for i := range n {
		first, _ := at(i * regionSamples)
		last, _ := at((i+1)*regionSamples - 1)
		begin := len(c.weights)
		for range min(last+2, cells) - first {
			c.weights = append(c.weights, 0)
		}
		for s := range regionSamples {
			cell, second := at(i*regionSamples + s)
			w := c.weights[begin+cell-first:]
			w[0] += float32((1 - second) / regionSamples)
			if second > 0 {
				w[1] += float32(second / regionSamples)
			}
		}
		c.first, c.ends = append(c.first, first), append(c.ends, len(c.weights))
	}
}

// compute has write fill the input of a region, and read have what becomes of it.
func (h *maskHead) compute(write func(input []float32) error, read func(n network, image int) error) error {
	return h.runBy(func(c *backend) error { return c.compute(regionInput, write, read) })
}
