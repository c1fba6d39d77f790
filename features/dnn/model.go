package dnn

import (
	"context"
	_ "embed" // the model
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/coco"
	"github.com/segd/segd/internal/files"
)

// EmbeddedName is what Info calls the model that ships in the binary.
const EmbeddedName = "segd-p64"

//go:embed models/segd-p64.onnx
var embedded []byte

// A Model computes feature maps, and finds things where it has heads, with OpenCV or with ONNX Runtime. It
// implements features.Model. Any goroutine may use it, several at once; cameras may share it.
type Model struct {
	runner
	info     Info
	heads    layout    // behind the taps; without strides there are none
	maskHead *maskHead // behind the heads; nil: it has none
}

// source is a model file that has been read and looked at, but not by an engine.
type source struct {
	path     string
	format   string // "onnx" or "caffe"
	data     []byte
	prototxt []byte
	graph    *onnxGraph // of an ONNX file
	// fixed is the input size an ONNX file prescribes, zero if any will do.
	fixed image.Point
}

// Embedded opens the model in the binary: 64 channels at stride 4, and heads for the 80 classes of COCO.
func Embedded(opt Options) (*Model, error) {
	if opt.uncertain() {
		return Open(EmbeddedName, opt)
	}
	src, err := readONNX(EmbeddedName, embedded, wantModel)
	if err != nil {
		return nil, err
	}
	return open(src, opt)
}

// Open opens an ONNX or Caffe (.caffemodel) model. Because an engine may end the process
// when it dislikes a file, a child process tries it first: see [Probe]. What is fastest in
// the child is used here.
func Open(path string, opt Options) (*Model, error) {
	info, err := Probe(context.Background(), path, opt)
	if err != nil {
		return nil, err
	}
	opt.settle(info.Engine, info.Device, info.Engines)
	m, err := openUnchecked(path, opt)
	if err != nil {
		return nil, err
	}
	m.info.Engines = info.Engines
	return m, nil
}

// openUnchecked reads path and opens it in this process.
func openUnchecked(path string, opt Options) (*Model, error) {
	src, err := readSource(path, opt)
	if err != nil {
		return nil, err
	}
	return open(src, opt)
}

const (
	formatONNX  = "onnx"
	formatCaffe = "caffe"
	wantModel   = "want .onnx or .caffemodel"
)

// readSource reads the file or files of a model and finds out what can be found out
// without an engine.
func readSource(path string, opt Options) (*source, error) {
	data, err := readFile(path)
	if path == EmbeddedName && errors.Is(err, fs.ErrNotExist) {
		data, err = embedded, nil
	}
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(path), ".caffemodel") {
		if !WithOpenCV {
			return nil, fmt.Errorf("features/dnn: model %s: %w, which reads Caffe models; want .onnx", path, errWithoutOpenCV)
		}
		src := &source{path: path, data: data, format: formatCaffe}
		prototxt := opt.Prototxt
		if prototxt == "" {
			prototxt = strings.TrimSuffix(path, filepath.Ext(path)) + ".prototxt"
		}
		if src.prototxt, err = files.Read(context.Background(), prototxt, files.Description); err != nil {
			return nil, fmt.Errorf("features/dnn: model %s: its description: %w", path, err)
		}
		if len(src.data) == 0 || len(src.prototxt) == 0 {
			return nil, fmt.Errorf("features/dnn: model %s: empty weights or description", path)
		}
		return src, nil
	}
	return readONNX(path, data, wantModel)
}

func readFile(path string) ([]byte, error) {
	data, err := files.Read(context.Background(), path, files.Model)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model: %w", err)
	}
	return data, nil
}

// readONNX looks at an ONNX file, or says what was wanted.
func readONNX(path string, data []byte, want string) (*source, error) {
	graph, err := parseONNX(data)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model %s: %w; %s", path, err, want)
	}
	src := &source{path: path, format: formatONNX, data: data, graph: graph}
	if src.fixed, err = graph.inputSize(); err != nil {
		return nil, fmt.Errorf("features/dnn: model %s: %w", path, err)
	}
	return src, nil
}

// inputSize checks that the graph takes one image and returns its size, zero if the
// graph leaves it open.
func (g *onnxGraph) inputSize() (image.Point, error) {
	const want = "want one float32 image, 1×3×height×width"
	if len(g.inputs) != 1 {
		return image.Point{}, fmt.Errorf("it has %d inputs %v; %s", len(g.inputs), g.inputs, want)
	}
	in := g.inputs[0]
	if in.elem != elemFloat || len(in.dims) != 4 || in.dims[0] > 1 || (in.dims[1] != inputChannels && in.dims[1] != 0) {
		return image.Point{}, fmt.Errorf("its input is %v of element type %d; %s", in, in.elem, want)
	}
	h, w := in.dims[2], in.dims[3]
	if h == 0 || w == 0 {
		return image.Point{}, nil
	}
	if h*w > maxInput {
		return image.Point{}, fmt.Errorf("its input is %v; want at most %d pixels", in, maxInput)
	}
	return image.Pt(w, h), nil
}

// open loads src into the engines in this process. Past this point a file that one of them
// dislikes ends the process.
func open(src *source, opt Options) (*Model, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	m := new(Model)
	m.prepare(src, opt)
	m.normaliseBy(opt.Mean, opt.Std)
	m.info = Info{Path: src.path, Format: src.format, SHA256: m.sha256, InputWidth: src.fixed.X, InputHeight: src.fixed.Y}
	if err := m.describe(); err != nil {
		return nil, errors.Join(fmt.Errorf("features/dnn: model %s: %w", src.path, err), m.Close())
	}
	return m, nil
}

// describe settles m.info's device, layers and taps at the nominal input size, 16:9, and
// what computes them. The layers are as OpenCV sees them where it is built in, whatever the engine.
func (m *Model) describe() (err error) {
	m.info.NominalWidth, m.info.NominalHeight = m.inputFor(16*m.opt.ShortSide/9, m.opt.ShortSide, 1)
	m.nominal = image.Pt(m.info.NominalWidth, m.info.NominalHeight)
	if m.info.Layers, err = m.layers(m.nominal); err != nil {
		return err
	}
	if m.src.graph != nil && m.src.graph.metadata[maskHeadKey] != "" {
		m.info.maskFeatures = maskFeaturesOutput
	}
	if m.info.Taps, err = m.info.choose(m.opt.Taps); err != nil {
		return err
	}
	for _, l := range m.info.Taps {
		m.taps = append(m.taps, tap{l.Name, true})
	}
	heads, of := m.info.heads()
	for _, l := range heads {
		m.taps = append(m.taps, tap{l.Name, false})
		m.info.Classes = coco.Names()
	}
	m.heads = of
	if err := m.openMaskHead(); err != nil {
		return err
	}
	if err := m.choose(); err != nil {
		return err
	}
	if m.maskHead != nil {
		if err := m.maskHead.choose(); err != nil {
			return fmt.Errorf("mask head: %w", err)
		}
	}
	c := m.chosen()
	m.info.Device, m.info.Engine, m.info.Engines, m.info.Batch = c.device, c.name, m.engines, c.most
	return nil
}

// inputFor is the input size for all of an image at a scale, width being that as it is meant to be seen.
func (m *Model) inputFor(width, height int, scale float64) (w, h int) {
	if m.info.InputWidth > 0 {
		return m.info.InputWidth, m.info.InputHeight
	}
	return inputSize(width, height, max(1, int(float64(m.opt.ShortSide)*scale)))
}

// show settles how a view of an image is shown. A model with an input size of its own sees as
// much of it as fits.
func (m *Model) show(width, height int, v features.View) (s shown) {
	all := image.Rect(0, 0, width, height)
	wide := max(1, int(math.Round(float64(width)*v.Aspect()))) // in pixels that are as wide as high
	w, h := m.inputFor(wide, height, v.Scale)
	s = shown{Rectangle: all, size: image.Pt(w, h), input: image.Pt(w, h), exposure: v.Exposure, large: v.Large}
	if m.info.InputWidth > 0 {
		s.size = image.Pt(fixedSide(w, v.Scale), fixedSide(h, v.Scale))
	}
	if v.Empty() {
		return s
	}
	if m.info.InputWidth > 0 {
		s.Rectangle = v.Rectangle
		s.size.X = min(w, max(1, int(math.Round(float64(w)*v.Scale*float64(v.Dx())/float64(width)))))
		s.size.Y = min(h, max(1, int(math.Round(float64(h)*v.Scale*float64(v.Dy())/float64(height)))))
		return s
	}
	scale := float64(m.opt.ShortSide) * v.Scale / float64(min(wide, height))
	step := m.chosen().step()
	s.Min.X, s.Max.X, s.size.X = spread(v.Min.X, v.Max.X, width, scale*v.Aspect(), step)
	s.Min.Y, s.Max.Y, s.size.Y = spread(v.Min.Y, v.Max.Y, height, scale, step)
	s.input = s.size
	return s
}

// fixedSide is how much of an input's side all of an image fills.
func fixedSide(side int, scale float64) int { return max(1, int(float64(side)*min(scale, 1))) }

// spread is what the model sees along an image axis of n pixels so that it sees all from one
// pixel to before another at a scale: step pixels of its input, or a multiple of them, or what
// there is.
func spread(from, to, n int, scale float64, step int) (first, end, side int) {
	all := max(1, int(math.Round(float64(n)*scale/sizeStep))) * sizeStep
	side = min(all, max(1, int(math.Ceil(float64(to-from)*scale/float64(step))))*step)
	wide := min(n, max(to-from, int(math.Round(float64(side)/scale))))
	first = min(max(0, (from+to-wide)/2), n-wide)
	return first, first + wide, side
}

// Info describes the model and the taps in use.
func (m *Model) Info() Info {
	info := m.info
	info.Layers = slices.Clone(info.Layers)
	info.Taps = slices.Clone(info.Taps)
	info.Classes = slices.Clone(info.Classes)
	return info
}

// Features implements features.Model: one map a tap, in the order of Info().Taps, and what the heads find,
// of any of Info().Classes. A model with an input size of its own sees what does not fill it in the input's upper left
// corner, and the mean beside it. Features allocates nothing once dst and the model
// have seen the size.
func (m *Model) Features(dst features.Sight, bgr []byte, width, height int, view features.View) (features.Sight, error) {
	if err := checkImage(bgr, width, height); err != nil {
		return features.Sight{}, err
	}
	if view.Scale == 0 {
		view.Scale = 1
	}
	if view.Large {
		if len(m.heads.strides) == 0 {
			return features.Sight{Maps: dst.Maps[:0], Found: dst.Found[:0]}, nil
		}
		view.Scale *= largeScale
	}
	if !(view.Scale >= 1.0/maxScale && view.Scale <= maxScale) {
		return features.Sight{}, fmt.Errorf("features/dnn: an image at %g of its size; want 1/%d to %d", view.Scale, maxScale, maxScale)
	}
	if a := view.Aspect(); !(a >= 1.0/maxPixelAspect && a <= maxPixelAspect) {
		return features.Sight{}, fmt.Errorf("features/dnn: pixels %g times as wide as high; want 1/%d to %d", a, maxPixelAspect, maxPixelAspect)
	}
	if !view.In(image.Rect(0, 0, width, height)) {
		return features.Sight{}, fmt.Errorf("features/dnn: the part %v of an image of %d×%d pixels", view.Rectangle, width, height)
	}
	show := m.show(width, height, view)
	if w, h := show.input.X, show.input.Y; w*h > maxInput {
		return features.Sight{}, fmt.Errorf("features/dnn: %v of an image of %d×%d pixels would be scaled to %d×%d; want at most %d pixels", show.Rectangle, width, height, w, h, maxInput)
	}
	taps := len(m.info.Taps)
	maps := taps
	if view.Large {
		maps = 0
	}
	dst.Maps, dst.Found, dst.MaskFeatures.Data = slices.Grow(dst.Maps[:0], maps)[:maps], dst.Found[:0], dst.MaskFeatures.Data[:0]
	err := m.see(bgr, width, show, func(n network, at int) error {
		for i := range dst.Maps {
			if err := m.fetch(&dst.Maps[i], n, i, at, show); err != nil {
				return fmt.Errorf("tap %q: %w", m.info.Taps[i].Name, err)
			}
		}
		if m.maskHead != nil && maps > 0 {
			if err := m.fetch(&dst.MaskFeatures, n, m.maskHead.tap, at, show); err != nil {
				return fmt.Errorf("output %q: %w", maskFeaturesOutput, err)
			}
		}
		for i, strides := range m.heads.strides {
			planes, _, err := n.lend(taps+i, at)
			if err == nil {
				dst.Found, err = m.find(dst.Found, planes, strides[0], show, image.Pt(width, height))
			}
			if err != nil {
				return fmt.Errorf("head %q: %w", m.taps[taps+i].name, err)
			}
		}
		return nil
	})
	if err != nil {
		return features.Sight{}, fmt.Errorf("features/dnn: %w", err)
	}
	dst.Found = features.Suppress(dst.Found, features.SameThing, 1)
	return dst, nil
}

// fetch copies tap i of an image in a run into dst, whose Data it reuses.
func (m *Model) fetch(dst *features.Map, n network, i, image int, s shown) error {
	var shape []int
	var err error
	if dst.Data, shape, err = n.output(dst.Data, i, image); err != nil {
		return err
	}
	if len(shape) != 3 {
		return errNoMap
	}
	if i < len(m.info.Taps) && shape[2] != m.info.Taps[i].Shape[1] {
		return fmt.Errorf("it has %d channels; it had %d", shape[2], m.info.Taps[i].Shape[1])
	}
	dst.Height, dst.Width, dst.Channels = shape[0], shape[1], shape[2]
	dst.StrideX, dst.OffsetX = place(s.Min.X, s.Dx(), s.input.X, s.size.X, dst.Width)
	dst.StrideY, dst.OffsetY = place(s.Min.Y, s.Dy(), s.input.Y, s.size.Y, dst.Height)
	return nil
}

// place is the geometry of cells along an axis of an image of which n pixels from first
// on fill shown of an input's pixels: the cells share the input evenly, so the first is centred
// half a stride from its edge, and the edge is half a pixel from the first pixel's centre.
func place(first, n, input, shown, cells int) (stride, offset float64) {
	stride = float64(n*input) / float64(shown) / float64(cells)
	return stride, float64(first) + stride/2 - 0.5
}

// Close releases the engine's memory. Calling it again does nothing.
func (m *Model) Close() error {
	err := m.close()
	if m.maskHead != nil {
		err = errors.Join(err, m.maskHead.close())
	}
	return err
}
