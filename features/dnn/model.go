package dnn

import (
	"context"
	"crypto/sha256"
	_ "embed" // the model
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gocv.io/x/gocv"

	"github.com/segd/segd/features"
)

// EmbeddedName is what Info calls the model that ships in the binary.
const EmbeddedName = "segd-s64"

//go:embed models/segd-s64.onnx
var embedded []byte

// A Model computes feature maps, with OpenCV or with ONNX Runtime. It implements
// features.Model. Any goroutine may use it, several at once; cameras may share it.
type Model struct {
	src  *source
	opt  Options
	info Info
	// lut normalises one byte of each channel of the model.
	lut [inputChannels][256]float32

	engine engine

	open   sync.RWMutex // held for reading while the engine is used; guards closed
	closed bool

	mu       sync.Mutex // guards what follows
	networks []laidOut  // that nobody uses, the last used first
	scalers  []*scaler  // likewise
}

// scaler is the memory to scale an image in.
type scaler struct {
	image  gocv.Mat // BGR24
	scaled gocv.Mat // at the input's size
}

func (s *scaler) close() error { return errors.Join(s.image.Close(), s.scaled.Close()) }

// maxLaidOut bounds the pixels of all inputs a Model is laid out for at once, beside those in use:
// those of two cameras of different sizes, whole and at 1/2 and 1/4, and a few dozen of crops. One
// may be larger.
const maxLaidOut = 1 << 21

// laidOut is a network and the size of its input.
type laidOut struct {
	network
	size image.Point
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

// Embedded opens the model in the binary: 64 channels at stride 4.
func Embedded(opt Options) (*Model, error) {
	if opt.EngineLibrary != "" {
		return Open(EmbeddedName, opt) // a library of somebody's may do anything
	}
	src, err := readONNX(EmbeddedName, embedded)
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
	opt.Engine = info.Engine
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
)

// readSource reads the file or files of a model and finds out what can be found out
// without an engine.
func readSource(path string, opt Options) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if path == EmbeddedName && errors.Is(err, fs.ErrNotExist) {
			return readONNX(path, embedded)
		}
		return nil, fmt.Errorf("features/dnn: model: %w", err)
	}
	if strings.EqualFold(filepath.Ext(path), ".caffemodel") {
		src := &source{path: path, data: data, format: formatCaffe}
		prototxt := opt.Prototxt
		if prototxt == "" {
			prototxt = strings.TrimSuffix(path, filepath.Ext(path)) + ".prototxt"
		}
		if src.prototxt, err = os.ReadFile(prototxt); err != nil {
			return nil, fmt.Errorf("features/dnn: model %s: its description: %w", path, err)
		}
		if len(src.data) == 0 || len(src.prototxt) == 0 {
			return nil, fmt.Errorf("features/dnn: model %s: empty weights or description", path)
		}
		return src, nil
	}
	return readONNX(path, data)
}

// readONNX looks at an ONNX file.
func readONNX(path string, data []byte) (*source, error) {
	graph, err := parseONNX(data)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model %s: %w; want .onnx or .caffemodel", path, err)
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
	setThreads(opt.Threads)
	sum := sha256.Sum256(src.data)
	m := &Model{
		src: src, opt: opt,
		info: Info{Path: src.path, Format: src.format, SHA256: hex.EncodeToString(sum[:]), InputWidth: src.fixed.X, InputHeight: src.fixed.Y},
	}
	for c := range m.lut {
		for v := range m.lut[c] {
			m.lut[c][v] = float32((float64(v) - opt.Mean[c]) / opt.Std[c])
		}
	}
	if err := m.describe(); err != nil {
		return nil, errors.Join(fmt.Errorf("features/dnn: model %s: %w", src.path, err), m.Close())
	}
	return m, nil
}

// describe settles m.info's device, layers and taps at the nominal input size, 16:9, and
// what computes them. The layers are as OpenCV sees them, whatever the engine.
func (m *Model) describe() (err error) {
	m.info.NominalWidth, m.info.NominalHeight = m.inputFor(16*m.opt.ShortSide/9, m.opt.ShortSide, 1)
	if m.info.Device, err = chooseDevice(m.opt.Device, cudaDevices()); err != nil {
		return err
	}
	cv := &openCV{src: m.src, device: m.info.Device}
	if m.info.Layers, err = cv.layers(image.Pt(m.info.NominalWidth, m.info.NominalHeight)); err != nil {
		return err
	}
	if m.info.Taps, err = m.info.choose(m.opt.Taps); err != nil {
		return err
	}
	return m.choose()
}

// take returns the model laid out for an input size, and memory to scale an image in, for the
// caller alone until put.
func (m *Model) take(size image.Point) (n laidOut, s *scaler, err error) {
	m.mu.Lock()
	if k := len(m.scalers); k > 0 {
		s, m.scalers = m.scalers[k-1], m.scalers[:k-1]
	}
	at := slices.IndexFunc(m.networks, func(n laidOut) bool { return n.size == size })
	if at >= 0 {
		n = m.networks[at]
		m.networks = slices.Delete(m.networks, at, at+1)
	}
	m.mu.Unlock()
	if s == nil {
		s = &scaler{gocv.NewMat(), gocv.NewMat()}
	}
	if at < 0 {
		n.size = size
		if n.network, err = m.engine.layOut(size); err != nil {
			return n, nil, errors.Join(err, s.close())
		}
	}
	return n, s, nil
}

// put gives back what take returned. Of too many networks, those go which were not used for the
// longest.
func (m *Model) put(n laidOut, s *scaler) error {
	m.mu.Lock()
	m.scalers = append(m.scalers, s)
	m.networks = append(m.networks, n)
	copy(m.networks[1:], m.networks)
	m.networks[0] = n
	pixels, keep := 0, 0
	for ; keep < len(m.networks); keep++ {
		size := m.networks[keep].size
		if pixels += size.X * size.Y; pixels > maxLaidOut && keep > 0 {
			break
		}
	}
	var err error
	for _, old := range m.networks[keep:] {
		err = errors.Join(err, old.close())
	}
	clear(m.networks[keep:])
	m.networks = m.networks[:keep]
	m.mu.Unlock()
	return err
}

// inputFor is the input size for all of an image at a scale.
func (m *Model) inputFor(width, height int, scale float64) (w, h int) {
	if m.info.InputWidth > 0 {
		return m.info.InputWidth, m.info.InputHeight
	}
	return inputSize(width, height, max(1, int(float64(m.opt.ShortSide)*scale)))
}

// shown is what the model looks at: a part of the image, scaled to a size, in the upper left
// of an input.
type shown struct {
	image.Rectangle
	size, input image.Point
}

// show settles how a view of an image is shown. A model with an input size of its own sees as
// much of it as fits.
func (m *Model) show(width, height int, v features.View) (s shown) {
	all := image.Rect(0, 0, width, height)
	w, h := m.inputFor(width, height, v.Scale)
	s = shown{all, image.Pt(w, h), image.Pt(w, h)}
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
	scale := float64(m.opt.ShortSide) * v.Scale / float64(min(width, height))
	step := m.engine.step()
	s.Min.X, s.Max.X, s.size.X = spread(v.Min.X, v.Max.X, width, scale, step)
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
	return info
}

// Features implements features.Model: one map a tap, in the order of Info().Taps. A
// model with an input size of its own sees what does not fill it in the input's upper left
// corner, and the mean beside it. Features allocates nothing once dst and the model
// have seen the size.
func (m *Model) Features(dst []features.Map, bgr []byte, width, height int, view features.View) (_ []features.Map, err error) {
	if width < 1 || height < 1 || width > maxSide || height > maxSide || len(bgr) != 3*width*height {
		return nil, fmt.Errorf("features/dnn: %d bytes for a BGR24 image of %d×%d pixels", len(bgr), width, height)
	}
	if view.Scale == 0 {
		view.Scale = 1
	}
	if !(view.Scale >= 1.0/maxScale && view.Scale <= maxScale) {
		return nil, fmt.Errorf("features/dnn: an image at %g of its size; want 1/%d to %d", view.Scale, maxScale, maxScale)
	}
	if !view.In(image.Rect(0, 0, width, height)) {
		return nil, fmt.Errorf("features/dnn: the part %v of an image of %d×%d pixels", view.Rectangle, width, height)
	}
	m.open.RLock()
	defer m.open.RUnlock()
	if m.closed {
		return nil, errors.New("features/dnn: the model is closed")
	}
	show := m.show(width, height, view)
	w, h := show.input.X, show.input.Y
	if w*h > maxInput {
		return nil, fmt.Errorf("features/dnn: %v of an image of %d×%d pixels would be scaled to %d×%d; want at most %d pixels", show.Rectangle, width, height, w, h, maxInput)
	}
	n, s, err := m.take(show.input)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model %s for %d×%d pixels: %w", m.info.Path, w, h, err)
	}
	defer func() {
		if put := m.put(n, s); err == nil && put != nil {
			err = fmt.Errorf("features/dnn: model %s: %w", m.info.Path, put)
		}
	}()
	if err := m.normalise(n.network, s, bgr, width, show); err != nil {
		return nil, fmt.Errorf("features/dnn: %w", err)
	}
	if err := n.run(); err != nil {
		return nil, fmt.Errorf("features/dnn: model %s on %d×%d pixels: %w", m.info.Path, w, h, err)
	}
	dst = slices.Grow(dst[:0], len(m.info.Taps))[:len(m.info.Taps)]
	for i := range dst {
		if err := m.fetch(&dst[i], n.network, i, show); err != nil {
			return nil, fmt.Errorf("features/dnn: model %s on %d×%d pixels: tap %q: %w", m.info.Path, w, h, m.info.Taps[i].Name, err)
		}
	}
	return dst, nil
}

// fetch copies tap i of a run into dst, whose Data it reuses.
func (m *Model) fetch(dst *features.Map, n network, i int, s shown) error {
	var channels, rows, cols int
	var err error
	if dst.Data, channels, rows, cols, err = n.output(dst.Data, i); err != nil {
		return err
	}
	if want := m.info.Taps[i].Shape[1]; channels != want {
		return fmt.Errorf("it has %d channels; it had %d", channels, want)
	}
	dst.Channels, dst.Height, dst.Width = channels, rows, cols
	dst.StrideX, dst.OffsetX = place(s.Min.X, s.Dx(), s.input.X, s.size.X, cols)
	dst.StrideY, dst.OffsetY = place(s.Min.Y, s.Dy(), s.input.Y, s.size.Y, rows)
	return nil
}

// place is the geometry of cells along an axis of an image of which n pixels from first
// on fill shown of an input's pixels: the cells share the input evenly, so the first is centred
// half a stride from its edge, and the edge is half a pixel from the first pixel's centre.
func place(first, n, input, shown, cells int) (stride, offset float64) {
	stride = float64(n*input) / float64(shown) / float64(cells)
	return stride, float64(first) + stride/2 - 0.5
}

// normalise scales what is shown of the image and writes it to the upper left of the
// network's input, plane by plane; the rest of it becomes zero.
func (m *Model) normalise(to network, in *scaler, bgr []byte, width int, s shown) error {
	pix, stride := bgr[3*(s.Min.Y*width+s.Min.X):], 3*width
	if s.Size() != s.size {
		if in.image.Cols() != s.Dx() || in.image.Rows() != s.Dy() {
			in.image.Close()
			in.image = gocv.NewMatWithSize(s.Dy(), s.Dx(), gocv.MatTypeCV8UC3)
		}
		// OpenCV keeps pointers, so it gets a copy in memory of its own.
		own, err := in.image.DataPtrUint8()
		if err != nil {
			return err
		}
		for y := range s.Dy() {
			copy(own[3*y*s.Dx():][:3*s.Dx()], pix[y*stride:])
		}
		method := gocv.InterpolationLinear
		if s.size.X <= s.Dx() && s.size.Y <= s.Dy() {
			method = gocv.InterpolationArea
		}
		gocv.Resize(in.image, &in.scaled, s.size, 0, 0, method)
		if pix, err = in.scaled.DataPtrUint8(); err != nil {
			return err
		}
		stride = 3 * s.size.X
	}
	input, err := to.input()
	if err != nil {
		return err
	}
	n := s.input.X * s.input.Y
	first, second, third := input[:n], input[n:][:n], input[2*n:][:n]
	b, g, r := first, second, third
	lb, lg, lr := &m.lut[0], &m.lut[1], &m.lut[2]
	if m.opt.RGB {
		b, r, lb, lr = third, first, &m.lut[2], &m.lut[0]
	}
	if s.size != s.input {
		clear(input)
	}
	for y := range s.size.Y {
		row := func(plane []float32) []float32 { return plane[y*s.input.X:][:s.size.X] }
		fill(row(b), row(g), row(r), pix[y*stride:], lb, lg, lr)
	}
	return nil
}

// fill splits BGR pixels into normalised planes.
func fill(b, g, r []float32, pix []byte, lb, lg, lr *[256]float32) {
	g, r = g[:len(b)], r[:len(b)]
	for i := range b {
		p := pix[3*i:][:3:3]
		b[i], g[i], r[i] = lb[p[0]], lg[p[1]], lr[p[2]]
	}
}

// Close releases the engine's memory. Calling it again does nothing.
func (m *Model) Close() error {
	m.open.Lock() // when nobody uses it
	defer m.open.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	var err error
	for _, n := range m.networks {
		err = errors.Join(err, n.close())
	}
	for _, s := range m.scalers {
		err = errors.Join(err, s.close())
	}
	m.networks, m.scalers = nil, nil
	if m.engine != nil {
		err = errors.Join(err, m.engine.close())
	}
	return err
}
