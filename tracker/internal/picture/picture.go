package picture

import (
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/cosine"
)

// Picture is a scene of N superpixels with features projected to Dim numbers. All
// matrices are row-major.
type Picture struct {
	Seq           uint64
	Width, Height int
	N, Dim        int

	// Patches are the scene's, and so only there while the picture is labelled, unless they
	// were kept.
	Patches []features.Patch

	Colour   []float32  // N×3 mean colours
	Centroid []float32  // N×2, pixels
	Area     []int32    // N, pixels
	Edges    []mrf.Edge // smoothness between superpixels that touch
	Touching Adjacency

	Rows []float32 // N×(Dim+1): features and the constant Bias, a classifier's rows
	Unit []float32 // N×UnitDim features scaled to length 1, in Grid.Order, for cosines
	Grid Grid

	shared bool
}

// Bias is the constant column of the classifier: the object is rare, so most
// scores must be negative where features average zero. At 3 the regulariser
// hardly feels it.
const Bias = 3

// UnitDim is the length of a row of Unit.
func (p *Picture) UnitDim() int { return cosine.Padded(p.Dim) }

// UnitAt is the row of Unit in a slot of the grid.
func (p *Picture) UnitAt(slot int) []float32 {
	d := p.UnitDim()
	return p.Unit[slot*d : (slot+1)*d]
}

// At is the superpixel in which a pixel lies, or features.Unseen. It asks the patches.
func (p *Picture) At(x, y int) int32 { return features.Label(p.Patches, x, y) }

// Map is At of all pixels, Height×Width, for buffers.Put once it is not needed.
func (p *Picture) Map() []int32 {
	at := buffers.Get[int32](p.Width * p.Height)
	for k := range at {
		at[k] = features.Unseen
	}
	for k := range p.Patches {
		patch := &p.Patches[len(p.Patches)-1-k] // the first counts
		for y := patch.Min.Y; y < patch.Max.Y; y++ {
			row, from := at[y*p.Width:][patch.Min.X:patch.Max.X], patch.Labels[patch.Index(patch.Min.X, y):][:patch.Cols]
			for col, l := range from {
				if l == features.Unseen {
					continue
				}
				for x := col * patch.Shrink; x < min((col+1)*patch.Shrink, len(row)); x++ {
					row[x] = l
				}
			}
		}
	}
	return at
}

// KeepMap makes what At and Map need p's own.
func (p *Picture) KeepMap() {
	p.Patches = slices.Clone(p.Patches)
	for k := range p.Patches {
		patch := &p.Patches[k]
		patch.Labels, patch.Boxes, patch.Pixels = slices.Clone(patch.Labels), nil, nil
	}
}

// LoseRows ends what a classifier needs of p, which is in no window any more: Rows.
func (p *Picture) LoseRows() {
	if !p.shared {
		buffers.Put(p.Rows)
		p.Rows = nil
	}
}

// LoseMap ends what the scene lent.
func (p *Picture) LoseMap() { p.Patches = nil }

// FeaturesOf are a superpixel's Dim features.
func (p *Picture) FeaturesOf(i int) []float32 {
	d := p.Dim + 1
	return p.Rows[i*d : (i+1)*d-1]
}

// Side is the longer side in pixels, of which lengths in pictures are fractions.
func (p *Picture) Side() float64 { return float64(max(p.Width, p.Height)) }

// Share says that another caller holds p, for as long as may be: a Pool leaves it to
// the garbage collector. Only who made the picture calls it.
func (p *Picture) Share() {
	if !p.shared { // readers of a shared picture may be in other goroutines
		p.shared = true
	}
}

// set fills p from a scene, in p's memory. An edge weighs smooth when it is as long
// as the mean edge and its sides have one colour.
func (p *Picture) set(s *features.Scene, projection *features.Projection, smooth float64) {
	p.Seq, p.Width, p.Height, p.N, p.Dim = s.Seq, s.Width, s.Height, s.N, projection.Dim()
	p.Patches = s.Patches
	p.Colour = append(p.Colour[:0], s.Lab...)
	p.Centroid = append(p.Centroid[:0], s.Centroid...)
	p.Area = append(p.Area[:0], s.Area...)
	p.Edges = p.Edges[:0]
	potts := features.NewPotts(s.Edges, smooth)
	for _, e := range s.Edges {
		p.Edges = append(p.Edges, mrf.Edge{I: e.I, J: e.J, W: potts.Weight(e)})
	}
	p.Touching.build(p.N, p.Edges)
	p.Rows = projection.Apply(buffers.Fit(p.Rows, p.N*(p.Dim+1)), p.Dim+1, s)
	for i := p.Dim; i < len(p.Rows); i += p.Dim + 1 {
		p.Rows[i] = Bias
	}
	p.Grid.build(p.Centroid, p.Width, p.Height)
	p.Unit = p.normalise(p.Unit, p.Rows)
}

// normalise writes the features of rows as Rows has them to dst, scaled to length 1, in
// the grid's order.
func (p *Picture) normalise(dst, rows []float32) []float32 {
	d, wide := p.Dim, p.UnitDim()
	dst = buffers.Fit(dst, p.N*wide)
	for slot, i := range p.Grid.Order {
		row, to := rows[int(i)*(d+1):][:d], dst[slot*wide:(slot+1)*wide]
		clear(to[d:])
		to = to[:len(row)]
		scale := float32(1 / max(length(row), 1e-12))
		for k, v := range row {
			to[k] = v * scale
		}
	}
	return dst
}

// length of a row, summed in four lanes, each of which waits for itself only.
func length(row []float32) float64 {
	var a, b, c, d float64
	for ; len(row) >= 4; row = row[4:] {
		a += float64(row[0]) * float64(row[0])
		b += float64(row[1]) * float64(row[1])
		c += float64(row[2]) * float64(row[2])
		d += float64(row[3]) * float64(row[3])
	}
	for _, v := range row {
		a += float64(v) * float64(v)
	}
	return math.Sqrt((a + b) + (c + d))
}

// Cosine is that of the features of two superpixels.
func (p *Picture) Cosine(i, j int) float64 {
	dot, x, y := 0.0, p.FeaturesOf(i), p.FeaturesOf(j)
	for k, v := range x {
		dot += float64(v) * float64(y[k])
	}
	return dot / math.Max(length(x)*length(y), 1e-12)
}

// Scales is what a picture shows at 1/2, 1/4 … of its size, where the scene tells: at
// each, Unit as it looks there, zeros where it was not seen smaller. Only the newest picture's are ever wanted, and they
// take as much memory again.
type Scales struct {
	Units  [][]float32
	shrunk features.Scene // here so that it is not allocated
}

// Make fills s with what the scene that p was made of has.
func (s *Scales) Make(p *Picture, scene *features.Scene, projection *features.Projection) {
	units := s.Units[:cap(s.Units)]
	for k := range units {
		buffers.Put(units[k])
		units[k] = nil
	}
	s.shrunk = *scene
	projected := buffers.Get[float32](scene.N * (p.Dim + 1)) // as Rows has them, but for the constant
	for k, x := range scene.Coarse {
		if k == len(units) {
			units = append(units, nil)
		}
		s.shrunk.X = x
		units[k] = p.normalise(nil, projection.Apply(projected, p.Dim+1, &s.shrunk))
		for slot, i := range p.Grid.Order {
			if !scene.SeenSmaller(int(i)) {
				clear(units[k][slot*p.UnitDim():][:p.UnitDim()])
			}
		}
	}
	buffers.Put(projected)
	s.Units = units[:len(scene.Coarse)]
	s.shrunk = features.Scene{}
}

// Pool makes pictures in the memory of those that were released. Their features are in memory that all pools share: of
// one picture there are many more superpixels than of the next. The zero value is empty.
type Pool struct{ free []*Picture }

// Make returns the scene as a picture; nothing of it is kept.
func (o *Pool) Make(s *features.Scene, projection *features.Projection, smooth float64) *Picture {
	var p *Picture
	if n := len(o.free); n > 0 {
		p, o.free = o.free[n-1], o.free[:n-1]
	} else {
		p = &Picture{}
	}
	p.set(s, projection, smooth)
	return p
}

// Release takes a picture back that its owner has no more use for.
func (o *Pool) Release(p *Picture) {
	if p.shared {
		return
	}
	buffers.Put(p.Rows)
	buffers.Put(p.Unit)
	p.Rows, p.Unit = nil, nil
	o.free = append(o.free, p)
}
