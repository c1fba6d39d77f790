package dnn

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/segd/segd/features"
)

// family is how the models of one kind see an image, and say where a thing is.
type family struct {
	name      string
	mean, std [inputChannels]float64
	rgb       bool
	border    byte // of every channel, beside the image
	centred   bool // the image in the input; else it is in the upper left
	stretched bool // the image over all of the input; else its aspect is kept
	side      int  // of an input of any size
	// scores is where a cell's classes begin, box what its other numbers say.
	scores int
	box    boxCode
}

// boxCode is what a cell's numbers say of its box.
type boxCode int

const (
	distributions boxCode = iota // of left, top, right and bottom, in strides from the cell's place
	fromCell                     // centre in strides from the cell's place, logarithms of the size in strides
	inInput                      // centre and size in pixels of the input
	inShares                     // centre and size in shares of the input's sides
	corners                      // of the upper left and the lower right in pixels of the input
)

// maxQueries is how many rows an output that has none for its cells may have: RT-DETR and YOLOv10 have 300.
const maxQueries = 1000

// dynamicSide is the side of the input with which a model that takes any size is asked for its
// layout. It has cells of every stride.
const dynamicSide = 640

// What the authors' own programs do: github.com/RangiLyu/nanodet, config and demo_openvino;
// github.com/Megvii-BaseDetection/YOLOX, preproc and demo_postprocess;
// github.com/ultralytics/ultralytics, examples/YOLOv8-ONNXRuntime, and models/rtdetr/predict.py.
var (
	nanoDet = family{
		name: "NanoDet", mean: DefaultMean, std: [inputChannels]float64{57.375, 57.12, 58.395},
		side: 416, box: distributions,
	}
	nanoDetPlus = family{name: "NanoDet-Plus", mean: nanoDet.mean, std: nanoDet.std, side: 416, box: distributions}
	yolox       = family{name: "YOLOX", std: [inputChannels]float64{1, 1, 1}, border: 114, side: dynamicSide, scores: 5, box: fromCell}
	yolov8      = family{
		name: "YOLOv8", std: [inputChannels]float64{255, 255, 255}, rgb: true, border: 114, centred: true,
		side: dynamicSide, scores: 4, box: inInput,
	}
	rtdetr = family{name: "RT-DETR", std: yolov8.std, rgb: true, stretched: true, side: dynamicSide, scores: 4, box: inShares}
)

// with is a family but for its name and the numbers of its boxes.
func (f family) with(name string, box boxCode) family {
	f.name, f.box = name, box
	return f
}

// layout is what the outputs of a detector are.
type layout struct {
	family
	size    image.Point // of the input
	classes int
	bins    int     // of a distribution
	logits  bool    // classes are, else probabilities
	place   float64 // of a cell in itself, from its upper left corner, in strides
	// strides are those of the cells, in each output in turn.
	strides [][]int
	// queries is how many rows there are that are no cells.
	queries int
	// endToEnd says that the network has chosen: a row has the score and the number of the best class, after its box.
	endToEnd bool
	// coefficients are how many a cell has for its mask. The output without strides has as many planes of prototypes then.
	coefficients int
	// transposed says that an output's columns are cells.
	transposed bool
}

// columns is how many numbers a cell has.
func (l *layout) columns() int {
	if l.endToEnd {
		return l.scores + 2
	}
	return l.scores + l.classes + 4*l.bins + l.coefficients
}

// cells is how many cells of a stride there are along a side, and in a size.
func cells(side, stride int) int { return (side + stride - 1) / stride }

func cellsOf(size image.Point, strides ...int) int {
	n := 0
	for _, s := range strides {
		n += cells(size.X, s) * cells(size.Y, s)
	}
	return n
}

// detectorTaps are all outputs of a graph.
func (g *onnxGraph) detectorTaps() ([]tap, error) {
	var taps []tap
	fits := len(g.outputs) >= 1 && len(g.outputs) <= len(stridesPlus)
	for _, v := range g.outputs {
		fits = fits && (len(v.dims) == 3 || len(v.dims) == 4)
		taps = append(taps, tap{v.name, len(v.dims) == 4})
	}
	if !fits {
		var shapes []string
		for _, v := range g.outputs {
			shapes = append(shapes, v.String())
		}
		return nil, layoutError(shapes)
	}
	return taps, nil
}

// layoutError says that outputs are not those of a detector.
func layoutError(shapes []string) error {
	return fmt.Errorf("its outputs are %s; want NanoDet's (1×(classes+32)×height×width at strides 8, 16 and 32, NanoDet-Plus' at 64 too, or 1×cells×(classes+32)), "+
		"YOLOX's (1×cells×(5+classes)), YOLOv8's (1×(4+classes)×cells), YOLOv8-seg's (1×(36+classes)×cells and 1×32×height×width at stride 4), "+
		"RT-DETR's (1×queries×(4+classes)) or YOLOv10's (1×queries×6), cells being those of strides 8, 16 and 32 together and queries at most %d", strings.Join(shapes, ", "), maxQueries)
}

// bins are how many a side's distribution has: reg_max is 7 in NanoDet's configurations, or 10.
var bins = []int{8, maxBins}

const maxBins = 11

// What Ultralytics' metadata call the head of a model, and the one of them whose list of boxes has the shape of others' and another meaning.
const headKey, rtdetrHead = "head", "RTDETRDecoder"

// readings are the layouts that outputs of these shapes, of an input of a size, may have; head is what the metadata say, if anything.
func readings(shapes [][]int, size image.Point, head string) (fit []layout) {
	add := func(l layout, columns int) {
		if l.classes = columns - l.columns(); l.classes > 0 {
			fit = append(fit, l)
		}
	}
	if strides := planeStrides(shapes, size); strides != nil {
		for _, b := range bins {
			add(nanoDetPlanes(b, strides), shapes[0][2])
		}
	}
	if l, columns, ok := segmenting(shapes, size); ok {
		add(l, columns)
	}
	if len(shapes) != 1 || len(shapes[0]) != 2 {
		return fit
	}
	rows, columns := shapes[0][0], shapes[0][1]
	if rows == cellsOf(size, strides...) {
		add(layout{family: yolox, strides: [][]int{strides}}, columns)
		for _, b := range bins {
			add(layout{family: nanoDet, bins: b, place: 0.5, strides: [][]int{strides}}, columns)
		}
	}
	if rows == cellsOf(size, stridesPlus...) {
		add(layout{family: nanoDetPlus, bins: bins[0], strides: [][]int{stridesPlus}}, columns)
	}
	if columns == cellsOf(size, strides...) {
		add(layout{family: yolov8, strides: [][]int{strides}, transposed: true}, rows)
	}
	if len(fit) > 0 || rows > maxQueries || columns == cellsOf(size, strides...) {
		return fit
	}
	of := yolov8.with("YOLOv10", corners)
	if head == rtdetrHead {
		of = rtdetr
	}
	if l := (layout{family: of, strides: [][]int{{}}, queries: rows, endToEnd: true}); columns == l.columns() {
		return []layout{l}
	}
	add(layout{family: rtdetr, strides: [][]int{{}}, queries: rows}, columns)
	return fit
}

// prototypes are how many planes YOLOv8-seg makes masks of, at stride 4.
const prototypes = 32

// prototypeStride is the side of a prototype's cell in pixels of the input.
const prototypeStride = 4

// segmenting is the layout of YOLOv8-seg's two outputs, in whichever order, if that is what they are, and how many numbers a cell has.
func segmenting(shapes [][]int, size image.Point) (l layout, columns int, ok bool) {
	if len(shapes) != 2 {
		return layout{}, 0, false
	}
	of := slices.IndexFunc(shapes, func(s []int) bool { return len(s) == 2 && s[1] == cellsOf(size, strides...) })
	if of < 0 || size.X < prototypeStride || size.Y < prototypeStride || !slices.Equal(shapes[1-of], []int{size.Y / prototypeStride, size.X / prototypeStride, prototypes}) {
		return layout{}, 0, false
	}
	l = layout{family: yolov8.with("YOLOv8-seg", inInput), strides: make([][]int, 2), transposed: true, coefficients: prototypes}
	l.strides[of] = strides
	return l, shapes[of][0], true
}

// Strides of the cells of detectors, and of NanoDet-Plus.
var (
	strides     = []int{8, 16, 32}
	stridesPlus = []int{8, 16, 32, 64}
)

// nanoDetPlanes is the layout of NanoDet's or NanoDet-Plus' outputs as they were trained, of so many bins.
func nanoDetPlanes(bins int, of [][]int) layout {
	if len(of) == len(stridesPlus) {
		return layout{family: nanoDetPlus, bins: bins, logits: true, strides: of}
	}
	return layout{family: nanoDet, bins: bins, logits: true, place: 0.5, strides: of}
}

// planeStrides are the strides of outputs that are planes of as many channels, one each of strides or of stridesPlus; else
// nil.
func planeStrides(shapes [][]int, size image.Point) (found [][]int) {
	if len(shapes) != len(strides) && len(shapes) != len(stridesPlus) {
		return nil
	}
	for _, shape := range shapes {
		for _, s := range stridesPlus[:len(shapes)] {
			if len(shape) == 3 && shape[0] == cells(size.Y, s) && shape[1] == cells(size.X, s) && shape[2] == shapes[0][2] &&
				!slices.ContainsFunc(found, func(have []int) bool { return have[0] == s }) {
				found = append(found, []int{s})
				break
			}
		}
	}
	if len(found) != len(shapes) {
		return nil
	}
	return found
}

// findLayout tells from the shapes of outputs, of an input of a size, what the metadata call the head, and the number of names what they
// are.
func findLayout(shapes [][]int, size image.Point, head string, names int, file string) (layout, error) {
	fit := readings(shapes, size, head)
	var counts []string
	for _, l := range fit {
		if l.endToEnd { // which does not say how many there are
			l.classes = names
		}
		if l.classes == names {
			return l, nil
		}
		counts = append(counts, fmt.Sprintf("%d as %s", l.classes, l.name))
	}
	var texts []string
	for _, s := range shapes {
		text := fmt.Sprintf("1×%d×%d", s[0], s[1])
		if len(s) == 3 {
			text = fmt.Sprintf("1×%d×%d×%d", s[2], s[0], s[1])
		}
		texts = append(texts, text)
	}
	if len(fit) == 0 {
		return layout{}, layoutError(texts)
	}
	if file == "" {
		return layout{}, fmt.Errorf("its outputs are %s, which is for %s; without a file of names they are COCO's %d", strings.Join(texts, ", "), strings.Join(counts, " or "), names)
	}
	return layout{}, fmt.Errorf("its outputs are %s, which is for %s; %s names %d classes", strings.Join(texts, ", "), strings.Join(counts, " or "), file, names)
}

// show settles where in the input an image is shown.
func (l *layout) show(width, height int, pixelAspect float64) shown {
	s := shown{Rectangle: image.Rect(0, 0, width, height), input: l.size}
	if l.stretched {
		s.size = l.size
		return s
	}
	wide := float64(width) * pixelAspect
	scale := min(float64(l.size.X)/wide, float64(l.size.Y)/float64(height))
	s.size.X = max(1, int(math.Round(wide*scale)))
	s.size.Y = max(1, int(math.Round(float64(height)*scale)))
	if l.centred {
		s.at = l.size.Sub(s.size).Div(2)
	}
	return s
}

// decoding is the memory to decode outputs in.
type decoding struct {
	rows, turned, prototypes []float32
	found                    []features.Detection
}

var errChanged = errors.New("its shape has changed")

// decode adds what output i shows, which work.rows holds, to work.found; their masks have their coefficients alone.
func (d *Detector) decode(work *decoding, i int, s shown) error {
	l := &d.layout
	rows, columns := work.rows, l.columns()
	if n := l.queries + cellsOf(l.size, l.strides[i]...); len(rows) != n*columns {
		return errChanged
	}
	if l.transposed {
		work.turned = slices.Grow(work.turned[:0], len(rows))[:len(rows)]
		channelsLast(work.turned, rows, columns, len(rows)/columns)
		rows = work.turned
	}
	for range l.queries {
		d.take(work, rows[:columns], 0, 0, 0, s)
		rows = rows[columns:]
	}
	for _, stride := range l.strides[i] {
		for y := range cells(l.size.Y, stride) {
			for x := range cells(l.size.X, stride) {
				d.take(work, rows[:columns], float64(x), float64(y), float64(stride), s)
				rows = rows[columns:]
			}
		}
	}
	return nil
}

// checkPrototypes checks those of output i, which work.prototypes holds.
func (d *Detector) checkPrototypes(work *decoding, _ int, _ shown) error {
	if l := &d.layout; len(work.prototypes) != l.size.X/prototypeStride*(l.size.Y/prototypeStride)*l.coefficients {
		return errChanged
	}
	return nil
}

// take adds what a row shows, of a cell of a stride, to work.found.
func (d *Detector) take(work *decoding, row []float32, x, y, stride float64, s shown) {
	score, class := d.layout.score(row)
	if class < 0 {
		return
	}
	name := d.info.Classes[class]
	chance := chances(name).chance(math.Log(score / (1 - score)))
	if !(chance >= d.least) {
		return
	}
	left, top, right, bottom := d.layout.decodeBox(row, x, y, stride)
	if box := s.inImage(left, top, right, bottom); !box.Empty() {
		found := features.Detection{Box: box, Class: name, Score: chance}
		if n := d.layout.coefficients; n > 0 {
			found.Mask = &features.Grid{Logits: row[len(row)-n:]}
		}
		work.found = append(work.found, found)
	}
}

// finish is what is left of work.found, with its masks.
func (l *layout) finish(work *decoding, s shown) []features.Detection {
	found := features.Suppress(work.found, overlap, otherOverlap)
	for i := range found {
		if d := &found[i]; d.Mask != nil {
			d.Mask = l.mask(work.prototypes, d.Mask.Logits, d.Box, s)
		}
	}
	return found
}

// mask is what the cells of prototypes that show a box of the image, all of which s shows, and those beside them say of it by its
// coefficients: the log odds of which Ultralytics' program takes the sigmoid. They are no surer than of what lies beyond a grid.
func (l *layout) mask(prototypes, coefficients []float32, box image.Rectangle, s shown) *features.Grid {
	wide, high := l.size.X/prototypeStride, l.size.Y/prototypeStride
	scaleX, scaleY := s.scale()
	left, right, x0, x1 := prototypeCells(box.Min.X, box.Max.X, s.at.X, wide, scaleX)
	top, bottom, y0, y1 := prototypeCells(box.Min.Y, box.Max.Y, s.at.Y, high, scaleY)
	g := &features.Grid{
		X0: x0, Y0: y0, X1: x1, Y1: y1, Cols: right - left, Rows: bottom - top, Logits: make([]float32, 0, (right-left)*(bottom-top)),
	}
	of := blas32.Vector{N: len(coefficients), Inc: 1, Data: coefficients}
	for row := top; row < bottom; row++ {
		for col := left; col < right; col++ {
			cell := prototypes[(row*wide+col)*len(coefficients):][:len(coefficients)]
			logit := blas32.Dot(of, blas32.Vector{N: len(cell), Inc: 1, Data: cell})
			if !(logit > features.OutsideLogit) { // or is no number
				logit = features.OutsideLogit
			}
			g.Logits = append(g.Logits, min(logit, -features.OutsideLogit))
		}
	}
	return g
}

// prototypeCells are the cells from first to end, of so many along a side, that show pixels of the image and those beside them, and
// where in the image these cells begin and end. at is where the input shows the first pixel, scale how many one of its pixels shows.
func prototypeCells(from, to, at, cells int, scale float64) (first, end int, start, stop float64) {
	cell := func(pixel int) float64 { return (float64(pixel)/scale + float64(at)) / prototypeStride }
	first, end = max(0, int(math.Floor(cell(from)))-1), min(cells, int(math.Ceil(cell(to)))+1)
	return first, end, float64(first*prototypeStride-at) * scale, float64(end*prototypeStride-at) * scale
}

// score is the best of the classes of a cell and how sure the cell is of it; 0 if none is a
// number.
func (l *layout) score(row []float32) (score float64, class int) {
	if l.endToEnd {
		if class := row[l.scores+1]; class >= 0 && class < float32(l.classes) {
			return min(float64(row[l.scores]), 1), int(class)
		}
		return 0, -1
	}
	best, class := float32(math.Inf(-1)), -1
	for c, v := range row[l.scores:][:l.classes] {
		if v > best {
			best, class = v, c
		}
	}
	score = float64(best)
	switch {
	case class < 0:
		return 0, class
	case l.logits:
		score = 1 / (1 + math.Exp(-score))
	case l.box == fromCell:
		score *= float64(row[4]) // objectness
	}
	return min(score, 1), class
}

// decodeBox is the box of a cell in pixels of the input.
func (l *layout) decodeBox(row []float32, x, y, stride float64) (left, top, right, bottom float64) {
	switch l.box {
	case distributions:
		return l.around(row[l.classes:], x, y, stride)
	case fromCell:
		x, y = (x+float64(row[0]))*stride, (y+float64(row[1]))*stride
		w, h := math.Exp(float64(row[2]))*stride, math.Exp(float64(row[3]))*stride
		return x - w/2, y - h/2, x + w/2, y + h/2
	case corners:
		return float64(row[0]), float64(row[1]), float64(row[2]), float64(row[3])
	case inShares:
		x, y := float64(row[0])*float64(l.size.X), float64(row[1])*float64(l.size.Y)
		w, h := float64(row[2])*float64(l.size.X), float64(row[3])*float64(l.size.Y)
		return x - w/2, y - h/2, x + w/2, y + h/2
	default:
		x, y := float64(row[0]), float64(row[1])
		w, h := float64(row[2]), float64(row[3])
		return x - w/2, y - h/2, x + w/2, y + h/2
	}
}

// around is the box round a cell of which sides holds four distributions: left, top, right and bottom.
func (l *layout) around(sides []float32, x, y, stride float64) (left, top, right, bottom float64) {
	x, y = (x+l.place)*stride, (y+l.place)*stride
	return x - stride*expectation(sides[:l.bins]), y - stride*expectation(sides[l.bins:][:l.bins]),
		x + stride*expectation(sides[2*l.bins:][:l.bins]), y + stride*expectation(sides[3*l.bins:][:l.bins])
}

// expectation is that of a bin's number, given the logits of all.
func expectation(logits []float32) float64 {
	most := slices.Max(logits)
	var sum, weighted float64
	for i, v := range logits {
		p := math.Exp(float64(v - most))
		sum += p
		weighted += float64(i) * p
	}
	return weighted / sum
}

// scale is how many pixels of the image a pixel of the input shows.
func (s *shown) scale() (x, y float64) {
	return float64(s.Dx()) / float64(s.size.X), float64(s.Dy()) / float64(s.size.Y)
}

// inImage is what a box in the input covers of the image, to the nearest pixel: nothing if it
// is none, or one with a side that is not a number.
func (s *shown) inImage(left, top, right, bottom float64) image.Rectangle {
	scaleX, scaleY := s.scale()
	left, right = (left-float64(s.at.X))*scaleX, (right-float64(s.at.X))*scaleX
	top, bottom = (top-float64(s.at.Y))*scaleY, (bottom-float64(s.at.Y))*scaleY
	if !(left < right && top < bottom) {
		return image.Rectangle{}
	}
	pixel := func(v float64, n int) int { return int(math.Round(min(max(v, 0), float64(n)))) }
	return image.Rectangle{
		Min: image.Pt(pixel(left, s.Dx()), pixel(top, s.Dy())),
		Max: image.Pt(pixel(right, s.Dx()), pixel(bottom, s.Dy())),
	}.Add(s.Min)
}

// How much two boxes may overlap, as intersection over union: of one class, as NanoDet's and YOLO's
// examples have it; of two, beyond which it is one thing: a van found as a car and as a truck.
const (
	overlap      = 0.5
	otherOverlap = 0.8
)

// channelsLast transposes channels×cells to cells×channels, in strips of cells that stay in the
// first-level cache.
func channelsLast(dst, src []float32, channels, cells int) {
	const strip = 64
	for from := 0; from < cells; from += strip {
		to := min(from+strip, cells)
		for c := range channels {
			at := from*channels + c
			for _, v := range src[c*cells+from : c*cells+to] {
				dst[at] = v
				at += channels
			}
		}
	}
}
