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

// A Model computes feature maps with OpenCV's DNN module. It implements
// features.Model. Any goroutine may use it, one at a time gets through; cameras of
// one size may share it, but each change of size makes OpenCV lay out its memory
// anew.
type Model struct {
	opt  Options
	info Info
	// lut normalises one byte of each channel of the model.
	lut [inputChannels][256]float32

	mu     sync.Mutex // guards what follows
	net    *gocv.Net  // nil once closed
	run    *forwarder
	image  gocv.Mat    // the image, BGR24
	scaled gocv.Mat    // the image at the input's size
	blob   gocv.Mat    // the normalised input, 1×3×h×w
	size   image.Point // of the input
}

// source is a model file that has been read and looked at, but not by OpenCV.
type source struct {
	path     string
	format   string // "onnx" or "caffe"
	data     []byte
	prototxt []byte
	// fixed is the input size an ONNX file prescribes, zero if any will do.
	fixed image.Point
}

// Embedded opens the model in the binary: 64 channels at stride 4.
func Embedded(opt Options) (*Model, error) {
	src := &source{path: EmbeddedName, format: formatONNX, data: embedded}
	return open(src, opt)
}

// Open opens an ONNX or Caffe (.caffemodel) model. Because OpenCV ends the process
// when it dislikes a file, a child process tries it first: see [Probe].
func Open(path string, opt Options) (*Model, error) {
	if _, err := Probe(context.Background(), path, opt); err != nil {
		return nil, err
	}
	return openUnchecked(path, opt)
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
// without OpenCV.
func readSource(path string, opt Options) (*source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if path == EmbeddedName && errors.Is(err, fs.ErrNotExist) {
			return &source{path: path, format: formatONNX, data: embedded}, nil
		}
		return nil, fmt.Errorf("features/dnn: model: %w", err)
	}
	src := &source{path: path, data: data, format: formatONNX}
	if strings.EqualFold(filepath.Ext(path), ".caffemodel") {
		src.format = formatCaffe
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
	graph, err := parseONNX(data)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model %s: %w; want .onnx or .caffemodel", path, err)
	}
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

// open loads src into OpenCV in this process. Past this point a file that OpenCV
// dislikes ends the process.
func open(src *source, opt Options) (*Model, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if opt.Threads > 0 {
		setThreads(opt.Threads)
	}
	net, err := src.load()
	if err != nil {
		return nil, fmt.Errorf("features/dnn: model %s: %w", src.path, err)
	}
	device, err := useDevice(net, opt.Device)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("features/dnn: model %s: %w", src.path, err), net.Close())
	}
	sum := sha256.Sum256(src.data)
	m := &Model{
		opt: opt, net: net,
		info: Info{Path: src.path, Device: device, Format: src.format, SHA256: hex.EncodeToString(sum[:]), InputWidth: src.fixed.X, InputHeight: src.fixed.Y},
	}
	for c := range m.lut {
		for v := range m.lut[c] {
			m.lut[c][v] = float32((float64(v) - opt.Mean[c]) / opt.Std[c])
		}
	}
	m.image, m.scaled, m.blob = gocv.NewMat(), gocv.NewMat(), gocv.NewMat()
	m.run = newForwarder(net, nil)
	if err := m.chooseTaps(); err != nil {
		return nil, errors.Join(fmt.Errorf("features/dnn: model %s: %w", src.path, err), m.Close())
	}
	return m, nil
}

// load hands the bytes to OpenCV.
func (s *source) load() (*gocv.Net, error) {
	var net gocv.Net
	var err error
	if s.format == formatCaffe {
		net, err = gocv.ReadNetFromCaffeBytes(s.prototxt, s.data)
	} else {
		net, err = gocv.ReadNetFromONNXBytes(s.data)
	}
	if err != nil {
		return nil, err
	}
	if net.Empty() {
		net.Close()
		return nil, errors.New("OpenCV finds no layers in it")
	}
	return &net, nil
}

// chooseTaps settles m.info's layers and taps at the nominal input size, 16:9.
func (m *Model) chooseTaps() error {
	m.info.NominalWidth, m.info.NominalHeight = m.inputFor(16*m.opt.ShortSide/9, m.opt.ShortSide, 1)
	m.resize(image.Pt(m.info.NominalWidth, m.info.NominalHeight))
	// Only after a forward pass do all layers know their shapes.
	if err := m.run.run(&m.blob); err != nil {
		return fmt.Errorf("on %d×%d pixels: %w", m.size.X, m.size.Y, err)
	}
	layers, err := describe(m.net, m.info.NominalHeight, m.info.NominalWidth)
	if err != nil {
		return err
	}
	m.info.Layers = layers
	chosen, err := m.info.choose(m.opt.Taps)
	if err != nil {
		return err
	}
	names := make([]string, len(chosen))
	for i, l := range chosen {
		names[i] = l.Name
	}
	m.info.Taps = chosen
	m.run.close()
	m.run = newForwarder(m.net, names)
	return nil
}

// inputFor is the input size for an image that is shrunk.
func (m *Model) inputFor(width, height, shrink int) (w, h int) {
	if m.info.InputWidth > 0 {
		return m.info.InputWidth, m.info.InputHeight
	}
	return inputSize(width, height, max(1, m.opt.ShortSide/shrink))
}

// Info describes the model and the taps in use.
func (m *Model) Info() Info {
	info := m.info
	info.Layers = slices.Clone(info.Layers)
	info.Taps = slices.Clone(info.Taps)
	return info
}

// Features implements features.Model: one map a tap, in the order of Info().Taps. A
// model with an input size of its own sees a shrunk image in the input's upper left
// corner, and the mean beside it. Features allocates nothing once dst and the model
// have seen the size, but for OpenCV, when the size is another than the last time.
func (m *Model) Features(dst []features.Map, bgr []byte, width, height, shrink int) ([]features.Map, error) {
	if width < 1 || height < 1 || width > maxSide || height > maxSide || len(bgr) != 3*width*height {
		return nil, fmt.Errorf("features/dnn: %d bytes for a BGR24 image of %d×%d pixels", len(bgr), width, height)
	}
	if shrink < 1 || shrink > maxShrink {
		return nil, fmt.Errorf("features/dnn: an image shrunk to 1/%d; want 1 to %d", shrink, maxShrink)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.net == nil {
		return nil, errors.New("features/dnn: the model is closed")
	}
	w, h := m.inputFor(width, height, shrink)
	if w*h > maxInput {
		return nil, fmt.Errorf("features/dnn: an image of %d×%d pixels would be scaled to %d×%d; want at most %d pixels", width, height, w, h, maxInput)
	}
	m.resize(image.Pt(w, h))
	shown := m.size
	if m.info.InputWidth > 0 {
		shown = image.Pt(max(1, w/shrink), max(1, h/shrink))
	}
	if err := m.normalise(bgr, width, height, shown); err != nil {
		return nil, err
	}
	if err := m.run.run(&m.blob); err != nil {
		return nil, fmt.Errorf("features/dnn: model %s on %d×%d pixels: %w", m.info.Path, w, h, err)
	}
	dst = slices.Grow(dst[:0], len(m.info.Taps))[:len(m.info.Taps)]
	for i := range dst {
		if err := m.fetch(&dst[i], i, float64(width*w)/float64(shown.X), float64(height*h)/float64(shown.Y)); err != nil {
			return nil, fmt.Errorf("features/dnn: model %s on %d×%d pixels: tap %q: %w", m.info.Path, w, h, m.info.Taps[i].Name, err)
		}
	}
	return dst, nil
}

// fetch copies tap i of the last run, whose input covered width×height pixels of the
// image and beyond, into dst, whose Data it reuses.
func (m *Model) fetch(dst *features.Map, i int, width, height float64) error {
	channels, rows, cols, err := m.run.shape(i)
	if err != nil {
		return err
	}
	if want := m.info.Taps[i].Shape[1]; channels != want {
		return fmt.Errorf("it has %d channels; it had %d", channels, want)
	}
	dst.Channels, dst.Height, dst.Width = channels, rows, cols
	dst.StrideX, dst.OffsetX = place(width, cols)
	dst.StrideY, dst.OffsetY = place(height, rows)
	n := channels * rows * cols
	dst.Data = slices.Grow(dst.Data[:0], n)[:n]
	return m.run.copy(i, dst.Data)
}

// place is the geometry of cells along an image axis of n pixels: they share it
// evenly, so the first is centred half a stride from the image's edge, and the
// edge is half a pixel from the first pixel's centre. How large the model's input
// was cancels out.
func place(n float64, cells int) (stride, offset float64) {
	stride = n / float64(cells)
	return stride, stride/2 - 0.5
}

// resize makes the blob fit an input size.
func (m *Model) resize(size image.Point) {
	if m.size == size {
		return
	}
	m.blob.Close()
	m.blob = gocv.NewMatWithSizes([]int{1, inputChannels, size.Y, size.X}, gocv.MatTypeCV32F)
	m.size = size
}

// normalise scales the image to the size shown and writes it to the upper left of the
// blob, plane by plane; the rest of it becomes zero.
func (m *Model) normalise(bgr []byte, width, height int, shown image.Point) error {
	pix := bgr
	if image.Pt(width, height) != shown {
		if m.image.Cols() != width || m.image.Rows() != height {
			m.image.Close()
			m.image = gocv.NewMatWithSize(height, width, gocv.MatTypeCV8UC3)
		}
		// OpenCV keeps pointers, so it gets a copy in memory of its own.
		own, err := m.image.DataPtrUint8()
		if err != nil {
			return fmt.Errorf("features/dnn: %w", err)
		}
		copy(own, bgr)
		method := gocv.InterpolationLinear
		if shown.X <= width && shown.Y <= height {
			method = gocv.InterpolationArea
		}
		gocv.Resize(m.image, &m.scaled, shown, 0, 0, method)
		if pix, err = m.scaled.DataPtrUint8(); err != nil {
			return fmt.Errorf("features/dnn: %w", err)
		}
	}
	blob, err := m.blob.DataPtrFloat32()
	if err != nil {
		return fmt.Errorf("features/dnn: %w", err)
	}
	n := m.size.X * m.size.Y
	first, second, third := blob[:n], blob[n:][:n], blob[2*n:][:n]
	b, g, r := first, second, third
	lb, lg, lr := &m.lut[0], &m.lut[1], &m.lut[2]
	if m.opt.RGB {
		b, r, lb, lr = third, first, &m.lut[2], &m.lut[0]
	}
	if shown == m.size {
		fill(b, g, r, pix, lb, lg, lr)
		return nil
	}
	clear(blob)
	for y := range shown.Y {
		row := func(plane []float32) []float32 { return plane[y*m.size.X:][:shown.X] }
		fill(row(b), row(g), row(r), pix[3*y*shown.X:], lb, lg, lr)
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

// Close releases OpenCV's memory. Calling it again does nothing.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.net == nil {
		return nil
	}
	m.run.close()
	err := errors.Join(m.image.Close(), m.scaled.Close(), m.blob.Close(), m.net.Close())
	m.net = nil
	return err
}
