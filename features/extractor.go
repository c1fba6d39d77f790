package features

import (
	"errors"
	"fmt"
	"image"
	"math"
	"runtime/debug"
	"slices"
)

const (
	// DefaultSuperpixels is Config.Superpixels' default.
	DefaultSuperpixels = 2000
	// DefaultCompactness is Config.Compactness' default.
	DefaultCompactness = 5
	// maxCompactness is far beyond where superpixels are plain squares.
	maxCompactness = 1000
	// maxSide is the largest coordinate a queue node holds.
	maxSide = 1 << 15
)

// Config says how an Extractor sees images. Its zero value is usable.
type Config struct {
	// Superpixels is how many an image is cut into: exactly as many come out, or one
	// a pixel if the image has fewer, unless Extract is to make some of it finer. 0 means
	// DefaultSuperpixels.
	Superpixels int
	// Compactness is how many units of Lab distance one superpixel's side weighs: low
	// values follow colours more closely, high ones give rounder superpixels. 0 means
	// DefaultCompactness.
	Compactness float64
}

// withDefaults returns c with zeros replaced, or every fault in it.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	if c.Superpixels < 0 {
		faults = append(faults, fmt.Errorf("features: %d superpixels; want 1 or more, or 0 for %d", c.Superpixels, DefaultSuperpixels))
	}
	if !(c.Compactness >= 0 && c.Compactness <= maxCompactness) {
		faults = append(faults, fmt.Errorf("features: compactness %v; want more than 0 and at most %d, or 0 for %d", c.Compactness, maxCompactness, DefaultCompactness))
	}
	if c.Superpixels == 0 {
		c.Superpixels = DefaultSuperpixels
	}
	if c.Compactness == 0 {
		c.Compactness = DefaultCompactness
	}
	return c, errors.Join(faults...)
}

// colours is how many columns of X are the mean Lab colour: the last ones.
const colours = 3

// An Extractor turns images into scenes. One goroutine at a time may use it.
type Extractor struct {
	cfg   Config
	model Model
	snic  *snic
	image segmented // while it is cut
	stats regionStats
	pool  pooler
	maps  []Map
	fine  []Region    // of the image
	size  image.Point // of the image that the memory above is for

	// The image the model is looking at while superpixels grow, and what became of
	// it; modelDone orders access to them.
	bgr           []byte
	width, height int
	modelErr      error
	modelPanic    *Panic
	modelDone     chan struct{}
	runModel      func()
}

// Panic is what Extract panics with when the model does, or what grows superpixels, which
// happens on other goroutines.
type Panic struct {
	Value any    // what that panicked with
	Stack []byte // of the goroutine it ran on, as debug.Stack formats it
}

// Error says both: nobody who does not recover sees that stack otherwise.
func (p *Panic) Error() string { return fmt.Sprintf("features: panic: %v\n\n%s", p.Value, p.Stack) }

// New returns an Extractor that pools m's feature maps, or only colours if m is
// nil. It reports every fault of cfg at once.
func New(cfg Config, m Model) (*Extractor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Extractor{cfg: cfg, model: m, modelDone: make(chan struct{})}
	e.runModel = func() {
		defer func() {
			if v := recover(); v != nil {
				e.modelPanic = &Panic{Value: v, Stack: debug.Stack()}
			}
			e.modelDone <- struct{}{}
		}()
		e.maps, e.modelErr = e.model.Features(e.maps[:0], e.bgr, e.width, e.height, 1)
	}
	return e, nil
}

// A Plan says what of an image a scene is to show, and how fine. The zero Plan is all of it.
type Plan struct {
	// Fine is what is to be finer; the first of several that overlap counts.
	Fine []Region
}

// A Region of an image is to have superpixels of its own: as many as there are squares
// with a side of Spacing pixels in it, at least one. It has none if they would hardly be
// finer than others are, or with those before it more than Config.Superpixels.
type Region struct {
	image.Rectangle
	Spacing int // pixels, at least 1
}

// Extract fills dst from a BGR24 image: width×height pixels, row-major, tight. Superpixels
// are as Config says but for what plan says. It overwrites all of dst but Seq, reuses its memory and its own, and
// keeps nothing of bgr. The model runs while the superpixels grow, on another goroutine
// that has ended when Extract returns or panics. On error dst's contents are unspecified.
// A panic of either becomes one of Extract, with a *Panic.
func (e *Extractor) Extract(dst *Scene, bgr []byte, width, height int, plan Plan) error {
	if width < 1 || height < 1 || width > maxSide || height > maxSide {
		return fmt.Errorf("features: image of %d×%d pixels; want 1 to %d a side", width, height, maxSide)
	}
	if len(bgr) != 3*width*height {
		return fmt.Errorf("features: %d bytes for a BGR24 image of %d×%d pixels; want %d", len(bgr), width, height, 3*width*height)
	}
	for _, f := range plan.Fine {
		if f.Spacing < 1 {
			return fmt.Errorf("features: superpixels %d pixels apart in %v; want 1 or more", f.Spacing, f.Rectangle)
		}
	}
	e.segment(dst, bgr, width, height, e.affordable(plan.Fine, width, height))
	if p := e.modelPanic; p != nil {
		e.modelPanic = nil
		panic(p)
	}
	if e.modelErr != nil {
		return fmt.Errorf("features: model: %w", e.modelErr)
	}
	dst.Coarse = dst.Coarse[:0]
	var err error
	dst.X, err = e.gather(dst.X, dst)
	return err
}

// fineGain is how much closer to each other than others superpixels have to be to be worth
// having.
const fineGain = 0.7

// affordable lists the regions that get superpixels of their own, as far as they are in the
// image.
func (e *Extractor) affordable(fine []Region, width, height int) []Region {
	e.fine = e.fine[:0]
	left, whole := e.cfg.Superpixels, image.Rect(0, 0, width, height)
	apart := math.Sqrt(float64(width*height) / float64(e.cfg.Superpixels))
	for _, f := range fine {
		f.Rectangle = f.Intersect(whole)
		cols, rows := f.grid()
		if n := cols * rows; float64(f.Spacing) <= fineGain*apart && n <= left && !f.Empty() {
			left -= n
			e.fine = append(e.fine, f)
		}
	}
	return e.fine
}

// grid is how many superpixels f gets across and down.
func (f Region) grid() (cols, rows int) { return max(1, f.Dx()/f.Spacing), max(1, f.Dy()/f.Spacing) }

// segment cuts the image into dst's superpixels while the model looks at it, and
// returns when both are through.
func (e *Extractor) segment(dst *Scene, bgr []byte, width, height int, fine []Region) {
	// What was for a larger image would stay for ever.
	if size := image.Pt(width, height); e.size != size {
		e.snic, e.stats, e.pool, e.maps, e.size = new(snic), regionStats{}, pooler{}, nil, size
	}
	if e.model != nil {
		e.bgr, e.width, e.height = bgr, width, height
		go e.runModel()
		defer func() { // even if this goroutine panics: the image is not the model's for longer
			<-e.modelDone
			e.bgr = nil
		}()
	}
	if dst.Width != width || dst.Height != height {
		*dst = Scene{Seq: dst.Seq}
	}
	dst.Width, dst.Height = width, height
	dst.Labels = grown(dst.Labels, width*height)
	dst.Pixels = grown(dst.Pixels, colours*width*height)
	e.image = segmented{bgr: bgr, width: width, height: height, labels: dst.Labels, pixels: dst.Pixels}
	defer func() { e.image = segmented{} }()
	dst.N = e.snic.segment(&e.image, min(e.cfg.Superpixels, width*height), e.cfg.Compactness, fine)
	e.stats.measure(dst)
}

// Coarsen adds to dst, which the last Extract made of bgr, what the model sees of the
// image at 1/2 and at 1/4 of its size. That takes about a third of the time the model
// takes. Without a model there is nothing to add.
func (e *Extractor) Coarsen(dst *Scene, bgr []byte) error {
	if e.model == nil {
		return nil
	}
	if len(bgr) != 3*dst.Width*dst.Height {
		return fmt.Errorf("features: %d bytes for a BGR24 image of %d×%d pixels; want %d", len(bgr), dst.Width, dst.Height, 3*dst.Width*dst.Height)
	}
	for k := range coarser {
		var err error
		if e.maps, err = e.model.Features(e.maps[:0], bgr, dst.Width, dst.Height, 2<<k); err != nil {
			return fmt.Errorf("features: model: %w", err)
		}
		dst.Coarse = slices.Grow(dst.Coarse, 1)[:k+1]
		if dst.Coarse[k], err = e.gather(dst.Coarse[k], dst); err != nil {
			return err
		}
	}
	return nil
}

// coarser is how many halvings Coarsen sees.
const coarser = 2

// gather pools the maps into x, N×D of dst, behind them the mean colours, and sets
// dst's D and Maps.
func (e *Extractor) gather(x []float32, dst *Scene) ([]float32, error) {
	dst.D = colours
	dst.Maps = dst.Maps[:0]
	for i := range e.maps {
		if err := checkMap(&e.maps[i]); err != nil {
			return x, fmt.Errorf("features: map %d of the model: %w", i, err)
		}
		dst.D += e.maps[i].Channels
		dst.Maps = append(dst.Maps, e.maps[i].Channels)
	}
	x = grown(x, dst.N*dst.D)
	column := 0
	for i := range e.maps {
		e.pool.pool(x, dst, &e.stats, &e.maps[i], column)
		column += e.maps[i].Channels
	}
	for k := range dst.N {
		copy(x[k*dst.D+column:][:colours], dst.Lab[colours*k:])
	}
	return x, nil
}

// checkMap guards pooling against a model that contradicts itself.
func checkMap(m *Map) error {
	switch {
	case m.Channels < 1 || m.Height < 1 || m.Width < 1 || len(m.Data) != m.Channels*m.Height*m.Width:
		return fmt.Errorf("%d values for %d channels of %d×%d cells", len(m.Data), m.Channels, m.Height, m.Width)
	case !(m.StrideX > 0 && m.StrideY > 0) || math.IsInf(m.StrideX, 0) || math.IsInf(m.StrideY, 0):
		return fmt.Errorf("strides of %v and %v pixels; want positive ones", m.StrideX, m.StrideY)
	case math.IsNaN(m.OffsetX) || math.IsNaN(m.OffsetY) || math.IsInf(m.OffsetX, 0) || math.IsInf(m.OffsetY, 0):
		return fmt.Errorf("offsets of %v and %v pixels; want finite ones", m.OffsetX, m.OffsetY)
	}
	return nil
}
