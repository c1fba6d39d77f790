package features

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"image"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/segd/segd/internal/buffers"
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
	// Cores bounds what computes at once; nil: a goroutine a core, and the model beside them.
	Cores Cores
}

// Cores are what goroutines may compute on; *cores.Cores of internal/cores are. The caller of
// Extract has one already.
type Cores interface {
	// TryAcquire takes as many more as are free, at most so many, and returns their number.
	TryAcquire(most int) int
	Release(n int)
}

// unbound is Cores without end.
type unbound struct{}

func (unbound) TryAcquire(most int) int { return most }
func (unbound) Release(int)             {}

// withDefaults returns c with zeros replaced, or every fault in it.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	if c.Superpixels < 0 {
		faults = append(faults, fmt.Errorf("features: %d superpixels; want 1 or more, or 0 for %d", c.Superpixels, DefaultSuperpixels))
	}
	if !(c.Compactness >= 0 && c.Compactness <= maxCompactness) {
		faults = append(faults, fmt.Errorf("features: compactness %v; want more than 0 and at most %d, or 0 for %d", c.Compactness, maxCompactness, DefaultCompactness))
	}
	c.Superpixels = cmp.Or(c.Superpixels, DefaultSuperpixels)
	c.Compactness = cmp.Or(c.Compactness, DefaultCompactness)
	if c.Cores == nil {
		c.Cores = unbound{}
	}
	return c, errors.Join(faults...)
}

// colours is how many columns of X are the mean Lab colour: the last ones.
const colours = 3

// idleSnics cut no image at the moment. Extractors share them: no more of them work at once than there are cores.
var idleSnics buffers.Stock[*snic]

// An Extractor turns images into scenes. One goroutine at a time may use it.
type Extractor struct {
	cfg     Config
	model   Model
	image   segmented // while it is cut
	patches []patchWork
	shrunk  []byte // a crop at the size its patch has, while it is cut
	hidden  []image.Rectangle
	crops   []Crop
	fine    []Region // of a patch
	large   image.Rectangle
	all     bool        // the model looks at all of the image beside the crops
	found   []Detection // in a view
	pool    pooler
	light   lightMeter
	size    image.Point // of the image that the memory above is for
	still   bool        // the image will be seen again
	kept    Sight       // of all of such an image
	keptOf  still

	// The image the model is looking at while superpixels grow, and what became of
	// it; modelDone orders access to them.
	bgr        []byte
	scene      *Scene // that it is for
	modelErr   error
	modelPanic *Panic
	modelDone  chan struct{}
	second     atomic.Bool // a core beside the caller's, until the model or the superpixels are through
	runModel   func()
}

// still is all of an image as a model sees it.
type still struct {
	hash uint64 // of its bytes
	size image.Point
	view View
}

// hashSeed is for still.
var hashSeed = maphash.MakeSeed()

// Panic is what Extract panics with when the model does, or what grows superpixels, which
// happens on other goroutines.
type Panic struct {
	Value any    // what that panicked with
	Stack []byte // of the goroutine it ran on, as debug.Stack formats it
}

// Error says both: a caller that does not recover sees that stack nowhere else.
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
			e.giveBack()
			e.modelDone <- struct{}{}
		}()
		e.modelErr = e.look(e.scene, e.bgr)
	}
	return e, nil
}

// Everywhere is all of a picture of any size.
var Everywhere = image.Rect(0, 0, math.MaxInt, math.MaxInt)

// A Plan says what of an image a scene is to show, and how fine. Of the zero Plan that is
// nothing but a thumbnail.
type Plan struct {
	// Crops are the parts of the image that are seen. Of several that overlap the first counts
	// there.
	Crops []Crop
	// Whole is whether the rest of the image is seen, too, at Zoom 1, and Coarse the part of it that is as a Crop's Coarse says.
	Whole  bool
	Coarse image.Rectangle
	// Look is whether things are looked for in all of the image. Crops that are seen no larger and no smaller have their maps from
	// that, so it costs no more than what it shows beside them.
	Look bool
	// Fine is what is to be finer still; the first of several that overlap counts.
	Fine []Region
	// Large is the part of what is seen in which things are looked for that are too large to be found at the
	// usual scale, as far as the image goes: see View.Large.
	Large image.Rectangle
	// Still is whether the image will be seen again, as one that people draw on: what the model makes of all of it is kept until
	// it makes that of another one, and not computed twice.
	Still bool
	// Light is an earlier image's, by which the model is shown this one.
	Light Light
	// PixelAspect is how many times as wide as high a pixel is meant to be seen; 0: 1. The model is shown the
	// image as it is meant to be seen; superpixels are of the image as it is.
	PixelAspect float64
}

// Coarsens tells whether anything is seen smaller, too.
func (p Plan) Coarsens() bool {
	return p.Whole && !p.Coarse.Empty() || slices.ContainsFunc(p.Crops, func(c Crop) bool { return !c.Coarse.Empty() })
}

// A Crop is a part of an image. Of what lies beyond the image there is nothing.
type Crop struct {
	image.Rectangle
	// Zoom is how many times as large as all of an image the model sees it, and how many times
	// as fine superpixels are across and down; 0: 1.
	Zoom int
	// Scale is how large the model sees it beside Zoom, and how fine superpixels are, more than 0 and at most 1: what is large
	// is seen as well with fewer of both. 0: 1.
	Scale float64
	// Coarse is the part of it that the model sees at 1/2 and at 1/4 of that size, too, for Scene.Coarse: about a third more time for
	// all of it.
	Coarse image.Rectangle
}

// A Region of an image is to have superpixels of its own: as many as there are squares
// with a side of Spacing pixels in it, at least one. It has none if they would hardly be
// finer than others are, or with those before it more than Config.Superpixels.
type Region struct {
	image.Rectangle
	Spacing int // pixels, at least 1
}

// Extract fills dst from a BGR24 image: width×height pixels, row-major, tight. Superpixels
// are as Config says but for what plan says. It overwrites all of dst but Seq, reuses its
// memory and its own, and keeps nothing of bgr. Where a core is free, or the model is a DeviceModel that
// needs none, it runs while the superpixels grow, on another goroutine that has ended when Extract returns or panics. On error
// dst's contents are unspecified. A panic of that goroutine becomes one of Extract, with a *Panic.
//
// Of a large image superpixels are grown on a smaller one, of a shorter side of 540 pixels or
// little more, but in crops with a Zoom, where that is larger in turn, or with a Scale, where it is smaller.
func (e *Extractor) Extract(dst *Scene, bgr []byte, width, height int, plan Plan) error {
	if err := check(bgr, width, height); err != nil {
		return err
	}
	for _, c := range plan.Crops {
		if c.Zoom < 0 || c.Zoom > maxZoom {
			return fmt.Errorf("features: crop %v at %d times its size; want 1 to %d, or 0 for 1", c.Rectangle, c.Zoom, maxZoom)
		}
		if !(c.Scale >= 0 && c.Scale <= 1) {
			return fmt.Errorf("features: crop %v at a scale of %v; want more than 0 and at most 1, or 0 for 1", c.Rectangle, c.Scale)
		}
	}
	for _, f := range plan.Fine {
		if f.Spacing < 1 {
			return fmt.Errorf("features: superpixels %d pixels apart in %v; want 1 or more", f.Spacing, f.Rectangle)
		}
	}
	if !(plan.PixelAspect >= 0) || math.IsInf(plan.PixelAspect, 0) {
		return fmt.Errorf("features: pixels %v times as wide as high; want more than 0, or 0 for 1", plan.PixelAspect)
	}
	e.begin(dst, bgr, width, height)
	dst.PixelAspect = View{PixelAspect: plan.PixelAspect}.Aspect()
	if plan.Whole || plan.Look || len(plan.Crops) > 0 {
		e.light.meter(&dst.Light, &dst.Thumbnail, &plan.Light)
	}
	e.segment(dst, bgr, plan)
	if p := e.modelPanic; p != nil {
		e.modelPanic = nil
		panic(p)
	}
	if e.modelErr != nil {
		return fmt.Errorf("features: model: %w", e.modelErr)
	}
	return e.gather(dst)
}

func check(bgr []byte, width, height int) error {
	if width < 1 || height < 1 || width > maxSide || height > maxSide {
		return fmt.Errorf("features: image of %d×%d pixels; want 1 to %d a side", width, height, maxSide)
	}
	if len(bgr) != 3*width*height {
		return fmt.Errorf("features: %d bytes for a BGR24 image of %d×%d pixels; want %d", len(bgr), width, height, 3*width*height)
	}
	return nil
}

// begin makes dst that of an image without superpixels.
func (e *Extractor) begin(dst *Scene, bgr []byte, width, height int) {
	// What was for a larger image would stay for ever.
	if size := image.Pt(width, height); e.size != size {
		e.patches, e.pool, e.size = nil, pooler{}, size
	}
	if dst.Width != width || dst.Height != height {
		dst.Release()
		*dst = Scene{Seq: dst.Seq}
	}
	dst.Width, dst.Height = width, height
	dst.masker, _ = e.model.(Masker)
	dst.N, dst.Patches, dst.Coarse, dst.Light = 0, dst.Patches[:0], dst.Coarse[:0], Light{levels: dst.Light.levels[:0]}
	dst.Area, dst.Lab, dst.Centroid, dst.Edges = dst.Area[:0], dst.Lab[:0], dst.Centroid[:0], dst.Edges[:0]
	dst.Found, dst.Looked = dst.Found[:0], dst.Looked[:0]
	dst.Thumbnail.Set(bgr, width, height)
}

const (
	// maxZoom bounds what a caller may ask for.
	maxZoom = 16
	// shortSide is how many pixels across superpixels are grown on without a zoom, about.
	shortSide = 540
)

// MaxZoom is the largest zoom at which there is more of an image to be seen.
func MaxZoom(width, height int) int { return shrinkOf(width, height, 1) }

// shrinkOf is how many pixels of an image, across and down, are one where it is seen.
func shrinkOf(width, height, zoom int) int {
	return max(1, int(math.Round(float64(min(width, height))/shortSide))/zoom)
}

// fineGain is how much closer to each other than others superpixels have to be to be worth
// having.
const fineGain = 0.7

// affordable lists the regions that get superpixels of their own, as far as they are in a
// patch, in its pixels. left is how many more there may be.
func (e *Extractor) affordable(fine []Region, p *Patch, left *int) []Region {
	e.fine = e.fine[:0]
	for _, f := range fine {
		f.Rectangle = f.Intersect(p.Rectangle).Sub(p.Min)
		if f.Empty() {
			continue
		}
		f.Min, f.Max, f.Spacing = f.Min.Div(p.Shrink), f.Max.Div(p.Shrink), max(1, f.Spacing/p.Shrink)
		cols, rows := f.grid()
		if n := cols * rows; float64(f.Spacing) <= fineGain*p.Spacing && n <= *left && !f.Empty() {
			*left -= n
			e.fine = append(e.fine, f)
		}
	}
	return e.fine
}

// grid is how many superpixels f gets across and down.
func (f Region) grid() (cols, rows int) { return max(1, f.Dx()/f.Spacing), max(1, f.Dy()/f.Spacing) }

// patchWork is what a patch takes until it is in the scene.
type patchWork struct {
	stats  regionStats
	coarse [coarser]Sight // what the model sees of it smaller
}

// segment cuts the image into dst's superpixels while the model looks at it, and
// returns when both are through.
func (e *Extractor) segment(dst *Scene, bgr []byte, plan Plan) {
	width, height := dst.Width, dst.Height
	all := image.Rect(0, 0, width, height)
	e.crops = e.crops[:0]
	for _, c := range plan.Crops {
		if c.Rectangle = c.Intersect(all); !c.Empty() {
			c.Zoom, c.Scale, c.Coarse = max(1, c.Zoom), cmp.Or(c.Scale, 1), c.Coarse.Intersect(c.Rectangle)
			e.crops = append(e.crops, c)
		}
	}
	if plan.Whole {
		e.crops = append(e.crops, Crop{Rectangle: all, Zoom: 1, Scale: 1, Coarse: plan.Coarse.Intersect(all)})
	}
	for len(e.patches) < len(e.crops) {
		e.patches = append(e.patches, patchWork{})
	}
	dst.Patches = dst.Patches[:cap(dst.Patches)] // with the memory of earlier ones
	for len(dst.Patches) < len(e.crops) {
		dst.Patches = append(dst.Patches, Patch{})
	}
	dst.Patches = dst.Patches[:len(e.crops)]
	for k := range dst.Patches {
		dst.Patches[k].Maps, dst.Patches[k].MaskFeatures.Data = dst.Patches[k].Maps[:0], dst.Patches[k].MaskFeatures.Data[:0]
	}
	e.large, e.still, e.all = plan.Large.Intersect(all), plan.Still, plan.Look && !plan.Whole
	e.modelErr = nil
	needsCore := true
	if d, ok := e.model.(DeviceModel); ok {
		needsCore = d.NeedsCore()
	}
	switch {
	case e.model == nil || len(e.crops) == 0 && e.large.Empty() && !e.all:
	case needsCore && e.cfg.Cores.TryAcquire(1) == 0:
		e.modelErr = e.look(dst, bgr)
	default:
		e.bgr, e.scene = bgr, dst
		e.second.Store(needsCore)
		go e.runModel()
		defer func() { // even if this goroutine panics: the image is not the model's for longer
			<-e.modelDone
			e.bgr, e.scene = nil, nil
		}()
	}
	helpers := e.cfg.Cores.TryAcquire(runtime.GOMAXPROCS(0) - 1)
	defer func() {
		e.cfg.Cores.Release(helpers)
		e.giveBack()
		e.image = segmented{}
		release(&e.shrunk)
	}()
	cutter, ok := idleSnics.Take()
	if !ok {
		cutter = new(snic)
	}
	left := e.cfg.Superpixels
	for k, c := range e.crops {
		p := &dst.Patches[k]
		e.place(p, c, width, height)
		p.First = dst.N
		count := e.cut(p, c.Scale, bgr, width, height)
		e.image.workers = 1 + helpers
		e.image.hidden = e.hidden[:0]
		for _, before := range e.crops[:k] {
			if r := before.Intersect(c.Rectangle).Sub(c.Min); !r.Empty() {
				r.Min, r.Max = r.Min.Div(p.Shrink), r.Max.Add(image.Pt(p.Shrink-1, p.Shrink-1)).Div(p.Shrink)
				e.image.hidden = append(e.image.hidden, r)
			}
		}
		e.hidden = e.image.hidden
		p.N = cutter.segment(&e.image, count, e.cfg.Compactness, e.affordable(plan.Fine, p, &left))
		dst.N += p.N
		e.patches[k].stats.measure(dst, p)
	}
	idleSnics.Put(cutter) // one that panicked is not used again
}

// giveBack releases the second core, once: what is left to do has the caller's.
func (e *Extractor) giveBack() {
	if e.second.CompareAndSwap(true, false) {
		e.cfg.Cores.Release(1)
	}
}

// place makes p the patch of a crop.
func (e *Extractor) place(p *Patch, c Crop, width, height int) {
	p.Rectangle, p.Zoom, p.Shrink = c.Rectangle, c.Zoom, shrinkOf(width, height, c.Zoom)*int(1/c.Scale)
	p.Coarse = image.Rectangle{}
	if e.model != nil {
		p.Coarse = c.Coarse
	}
	p.Cols, p.Rows = (p.Dx()+p.Shrink-1)/p.Shrink, (p.Dy()+p.Shrink-1)/p.Shrink
	p.Labels = buffers.Fit(p.Labels, p.Cols*p.Rows)
	p.Pixels = buffers.Fit(p.Pixels, colours*p.Cols*p.Rows)
}

// cut sets e.image to what p shows of an image, and returns how many superpixels it gets if
// none are to be finer.
func (e *Extractor) cut(p *Patch, scale float64, bgr []byte, width, height int) int {
	e.image = segmented{
		bgr: bgr[3*(p.Min.Y*width+p.Min.X):], stride: 3 * width,
		width: p.Cols, height: p.Rows, labels: p.Labels, pixels: p.Pixels,
	}
	if p.Shrink > 1 {
		e.shrunk = buffers.Fit(e.shrunk, 3*p.Cols*p.Rows)
		shrink(e.shrunk, bgr, width, p)
		e.image.bgr, e.image.stride = e.shrunk, 3*p.Cols
	}
	all := min(float64(e.cfg.Superpixels), float64(width*height))
	share := float64(p.Dx()*p.Dy()) / float64(width*height)
	fine := float64(p.Zoom) * scale
	count := min(max(1, int(math.Round(all*share*fine*fine))), p.Cols*p.Rows)
	p.Spacing = math.Sqrt(float64(p.Cols*p.Rows) / float64(count))
	return count
}

// shrink writes what p shows of an image, each of its pixels the mean of those it covers.
func shrink(dst, bgr []byte, width int, p *Patch) {
	for row := range p.Rows {
		y0 := p.Min.Y + row*p.Shrink
		y1 := min(y0+p.Shrink, p.Max.Y)
		for col := range p.Cols {
			x0 := p.Min.X + col*p.Shrink
			x1 := min(x0+p.Shrink, p.Max.X)
			var b, g, r uint32
			for y := y0; y < y1; y++ {
				for px := bgr[3*(y*width+x0) : 3*(y*width+x1)]; len(px) >= 3; px = px[3:] {
					b, g, r = b+uint32(px[0]), g+uint32(px[1]), r+uint32(px[2])
				}
			}
			n := uint32((x1 - x0) * (y1 - y0))
			out := dst[3*(row*p.Cols+col):][:3:3]
			out[0], out[1], out[2] = byte((b+n/2)/n), byte((g+n/2)/n), byte((r+n/2)/n)
		}
	}
}

// contextShare is how far round a crop the model sees, in the crop's shorter side.
const contextShare = 3.0 / 16

// Seen is what the model sees of an image of a size for a crop, of which a pixel is aspect times as wide as high: what is round it,
// too, or twice as much on one side where the image ends on the other. The model's input then has about a multiple of ModelStep on each
// side: what is round the crop is more or less for that, but not below half.
func (c Crop) Seen(size image.Point, aspect float64) (r image.Rectangle) {
	context := contextShare * float64(min(c.Dx(), c.Dy()))
	scale := float64(max(1, c.Zoom)) * cmp.Or(c.Scale, 1) * ModelScale(size, aspect)
	rounded := func(n int, scale float64) int {
		in := func(context float64) float64 { return (float64(n) + 2*context) * scale / ModelStep }
		side := ModelStep * max(math.Round(in(context)), math.Ceil(in(context/2))) / scale
		return int((side - float64(n)) / 2)
	}
	r.Min.X, r.Max.X = around(c.Min.X, c.Max.X, rounded(c.Dx(), aspect*scale), size.X)
	r.Min.Y, r.Max.Y = around(c.Min.Y, c.Max.Y, rounded(c.Dy(), scale), size.Y)
	return r
}

// look sets the maps of dst's patches to what the model sees of every crop, and what is found; and the maps of what is
// Coarse at smaller scales.
func (e *Extractor) look(dst *Scene, bgr []byte) error {
	width, height := dst.Width, dst.Height
	all := image.Rect(0, 0, width, height)
	part := func(r image.Rectangle) image.Rectangle { // as a View has it
		if r == all {
			return image.Rectangle{}
		}
		return r
	}
	var whole Sight
	if e.all {
		var err error
		if whole, err = e.lookAll(dst, bgr); err != nil {
			return err
		}
		defer whole.release()
	}
	for k, c := range e.crops {
		seen := c.Seen(image.Pt(width, height), dst.PixelAspect)
		view := View{Rectangle: part(seen), Scale: c.Scale * float64(c.Zoom), Exposure: dst.Light.Exposure, PixelAspect: dst.PixelAspect}
		p := &dst.Patches[k]
		if e.all && view.Scale == 1 {
			for i := range whole.Maps {
				p.Maps = append(p.Maps, whole.Maps[i].part(seen))
			}
			p.MaskFeatures = whole.MaskFeatures.part(seen)
		} else {
			sight, err := e.see(Sight{Maps: p.Maps[:0], Found: e.found[:0], MaskFeatures: p.MaskFeatures}, bgr, width, height, view)
			if err != nil {
				return err
			}
			p.Maps, p.MaskFeatures, e.found = sight.Maps, sight.MaskFeatures, sight.Found
			dst.Found, dst.Looked = append(dst.Found, sight.Found...), append(dst.Looked, seen)
		}
		if c.Coarse.Empty() {
			continue
		}
		view.Rectangle = part(Crop{Rectangle: c.Coarse}.Seen(image.Pt(width, height), dst.PixelAspect))
		for size := range coarser {
			view.Scale /= 2
			s := &e.patches[k].coarse[size]
			var err error
			if *s, err = e.model.Features(Sight{Maps: s.Maps[:0], Found: s.Found[:0], MaskFeatures: s.MaskFeatures}, bgr, width, height, view); err != nil {
				return err
			}
		}
	}
	if !e.large.Empty() {
		sight, err := e.model.Features(Sight{Found: e.found[:0]}, bgr, width, height, View{Rectangle: e.large, Large: true, Exposure: dst.Light.Exposure, PixelAspect: dst.PixelAspect})
		if err != nil {
			return err
		}
		e.found, dst.Found = sight.Found, append(dst.Found, sight.Found...)
	}
	dst.Found = Suppress(dst.Found, SameThing, 1)
	if slices.Contains(dst.Looked, all) {
		dst.Looked = append(dst.Looked[:0], all)
	}
	return nil
}

// lookAll has the model look at all of the image for dst, which has what is found.
func (e *Extractor) lookAll(dst *Scene, bgr []byte) (Sight, error) {
	whole, err := e.see(Sight{Found: e.found[:0]}, bgr, dst.Width, dst.Height, View{Exposure: dst.Light.Exposure, PixelAspect: dst.PixelAspect})
	if err != nil {
		return whole, err
	}
	e.found = whole.Found
	dst.Found, dst.Looked = append(dst.Found, whole.Found...), append(dst.Looked, image.Rect(0, 0, dst.Width, dst.Height))
	for i := range whole.Maps {
		if err := checkMap(&whole.Maps[i]); err != nil {
			whole.release()
			return whole, fmt.Errorf("map %d: %w", i, err)
		}
	}
	return whole, nil
}

// around is an interval along a side of n pixels with so much at both of its ends, or twice as
// much at one of them, as far as there is.
func around(from, to, context, n int) (first, end int) {
	wide := min(n, to-from+2*context)
	first = min(max(0, from-context), n-wide)
	return first, first + wide
}

// coarser is how many halvings a Crop that is Coarse is seen at.
const coarser = 2

// see is what the model makes of a view. Of all of an image that will be seen again it is kept.
func (e *Extractor) see(dst Sight, bgr []byte, width, height int, view View) (Sight, error) {
	if !e.still || !view.Empty() {
		return e.model.Features(dst, bgr, width, height, view)
	}
	of := still{maphash.Bytes(hashSeed, bgr), image.Pt(width, height), view}
	if of == e.keptOf {
		return e.kept.CopyTo(dst), nil
	}
	sight, err := e.model.Features(dst, bgr, width, height, view)
	if err == nil {
		e.kept, e.keptOf = sight.CopyTo(e.kept), of
	}
	return sight, err
}

// gather pools the maps into dst's X and Coarse, and sets its D and Maps.
func (e *Extractor) gather(dst *Scene) error {
	dst.D = colours
	dst.Maps = dst.Maps[:0]
	if len(dst.Patches) > 0 {
		for _, m := range dst.Patches[0].Maps {
			dst.D += max(0, m.Channels)
			dst.Maps = append(dst.Maps, m.Channels)
		}
	}
	dst.X = buffers.Fit(dst.X, dst.N*dst.D)
	for k := range dst.Patches {
		if err := e.gatherPatch(dst.X, dst, k, Everywhere, dst.Patches[k].Maps); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(dst.Patches, func(p Patch) bool { return !p.Coarse.Empty() }) {
		return nil
	}
	for size := range coarser {
		dst.Coarse = slices.Grow(dst.Coarse, 1)[:size+1]
		dst.Coarse[size] = buffers.Fit(dst.Coarse[size], dst.N*dst.D)
		for k := range dst.Patches {
			p, s := &dst.Patches[k], &e.patches[k].coarse[size]
			clear(dst.Coarse[size][p.First*dst.D : (p.First+p.N)*dst.D])
			if p.Coarse.Empty() {
				continue
			}
			err := e.gatherPatch(dst.Coarse[size], dst, k, p.Coarse, s.Maps)
			releaseMaps(s.Maps)
			release(&s.MaskFeatures.Data)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherPatch pools maps into the rows of x, N×D of dst, of the superpixels in a part of a patch, behind them the mean colours.
func (e *Extractor) gatherPatch(x []float32, dst *Scene, patch int, part image.Rectangle, maps []Map) error {
	p, column := &dst.Patches[patch], 0
	for i := range maps {
		m := &maps[i]
		if err := checkMap(m); err != nil {
			return fmt.Errorf("features: map %d of the model: %w", i, err)
		}
		if i >= len(dst.Maps) || m.Channels != dst.Maps[i] {
			return fmt.Errorf("features: map %d of the model has %d channels; it had others before", i, m.Channels)
		}
		e.pool.pool(x, dst, p, part, &e.patches[patch].stats, m, column)
		column += m.Channels
	}
	for k := p.First; k < p.First+p.N; k++ {
		if !dst.centred(k, part) {
			continue
		}
		copy(x[(k+1)*dst.D-colours:][:colours], dst.Lab[colours*k:])
	}
	return nil
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
