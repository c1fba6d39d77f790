package dnn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"sync"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/coco"
	"github.com/segd/segd/internal/files"
)

// DefaultDetectorScore is DetectorOptions.Score's default.
const DefaultDetectorScore = 0.5

// A Detector finds things in images, with OpenCV or with ONNX Runtime: a box, a class and a score
// each. Any goroutine may use it, several at once; cameras may share it.
//
// The shapes of a model's outputs tell which of these it is, and with that what they mean and
// how it wants an image shown. An image is scaled with its aspect kept; what it leaves of the input
// has one colour. N is the number of cells that strides 8, 16 and 32 have in the input.
//
//	NanoDet       1×(classes+4·bins)×height×width at strides 8, 16 and 32: logits of the classes,
//	              and sides as distributions over 8 or 11 bins (GFL)
//	NanoDet       1×N×(classes+4·bins), as NanoDet 1.0 exports it: probabilities of the classes
//	NanoDet-Plus  1×(classes+4·bins)×height×width at strides 8, 16, 32 and 64: logits, or
//	              1×N×(classes+32): probabilities; cells begin where they are placed, while NanoDet's
//	              are centred there
//	YOLOX         1×N×(5+classes): box, objectness and classes as tools/export_onnx.py leaves them
//	              without --decode_in_inference
//	YOLOv8        1×(4+classes)×N, as Ultralytics exports it, and YOLO11, without nms
//	YOLOv8-seg    1×(36+classes)×N and 1×32×height×width at stride 4: prototypes, whose sums by a box's
//	              coefficients are its mask
//	YOLOv10       1×Q×6: boxes by their corners, score and class, as Ultralytics exports it, and YOLO26,
//	              with nms=False
//	RT-DETR       1×Q×6: boxes in shares of the input, score and class, where the metadata call the head
//	              RTDETRDecoder, or 1×Q×(4+classes), as earlier releases export it
//
// Whether classes are logits or probabilities is taken from this table and not from what values
// come. NanoDet sees BGR by ImageNet's means and deviations, with black in the lower right;
// YOLOX BGR, 0 to 255, and YOLOv8 and YOLOv10 RGB, 0 to 1, with grey (114), YOLOX in the lower right and
// YOLO all round. RT-DETR sees RGB, 0 to 1, and the image stretched over all of the input.
//
// A model with an input of any size gets 416×416 pixels if it is NanoDet, else 640×640.
type Detector struct {
	runner
	info   DetectorInfo
	layout layout
	least  float64 // score

	scratch sync.Pool // of *decoding
}

// DetectorOptions say how a detector is used. The zero value is usable.
type DetectorOptions struct {
	// Score is the least chance of a detection to be right, above 0 and at most 1; 0 means
	// DefaultDetectorScore.
	Score float64 `json:"score,omitempty"`
	// NamesFile is the path of the names of the model's classes, one a line in their order; empty
	// means COCO's 80.
	NamesFile string `json:"names_file,omitempty"`
	// Computing says what computes it. Images are not batched: a camera looks for things too seldom for
	// two to come at once.
	Computing
}

// withDefaults returns o with zeros replaced and the names of all classes, or every fault in o.
func (o DetectorOptions) withDefaults() (DetectorOptions, []string, error) {
	var err error
	o.Computing, err = o.Computing.withDefaults()
	faults := []error{err}
	o.Score = cmp.Or(o.Score, DefaultDetectorScore)
	if !(o.Score > 0 && o.Score <= 1) {
		faults = append(faults, fmt.Errorf("features/dnn: a score of %g; want above 0 and at most 1, or 0 for %g", o.Score, DefaultDetectorScore))
	}
	names, err := readNames(o.NamesFile)
	return o, names, errors.Join(append(faults, err)...)
}

// readNames reads a file of class names, or returns COCO's.
func readNames(path string) ([]string, error) {
	if path == "" {
		return coco.Names(), nil
	}
	data, err := files.Read(context.Background(), path, files.Names)
	if err != nil {
		return nil, fmt.Errorf("features/dnn: class names: %w", err)
	}
	names, err := coco.ParseNames(string(data))
	if err != nil {
		return nil, fmt.Errorf("features/dnn: class names %s: %w", path, err)
	}
	return names, nil
}

// DetectorInfo describes a detector.
type DetectorInfo struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file
	// Layout is that of its outputs, as Detector's table calls it.
	Layout string `json:"layout"`
	// Masks is whether it says with each box which part of it is the thing.
	Masks bool `json:"masks"`
	// InputWidth and InputHeight are what an image is scaled to fit into.
	InputWidth  int `json:"input_width"`
	InputHeight int `json:"input_height"`
	// Classes are all that the model knows, in its order.
	Classes []string `json:"classes"`
	// Engine computes it, EngineOpenCV or EngineONNXRuntime, on Device, DeviceCPU and so on, unless that has
	// failed: see Computing.OnDevice.
	Engine string `json:"engine"`
	Device string `json:"device"`
	// Engines are those that could, those of the processor first.
	Engines []EngineInfo `json:"engines"`
	// Milliseconds is how long one image of the input's size took when the detector was probed, the
	// second of two.
	Milliseconds float64 `json:"milliseconds,omitempty"`
}

// OpenDetector opens an ONNX file as a detector. A child process tries it first, as for Open: see
// [ProbeDetector].
func OpenDetector(path string, opt DetectorOptions) (*Detector, error) {
	info, err := ProbeDetector(context.Background(), path, opt)
	if err != nil {
		return nil, err
	}
	opt.settle(info.Engine, info.Device, info.Engines)
	d, err := openDetectorUnchecked(path, opt)
	if err != nil {
		return nil, err
	}
	d.info.Engines = info.Engines
	return d, nil
}

// openDetectorUnchecked reads path and opens it in this process.
func openDetectorUnchecked(path string, opt DetectorOptions) (*Detector, error) {
	src, err := readDetector(path)
	if err != nil {
		return nil, err
	}
	return openDetector(src, opt)
}

const wantDetector = "want .onnx"

// readDetector reads a detector's file and finds out what can be found out without an engine.
func readDetector(path string) (*source, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return readONNX(path, data, wantDetector)
}

// openDetector loads src into the engines in this process. Past this point a file that one of
// them dislikes ends the process.
func openDetector(src *source, opt DetectorOptions) (*Detector, error) {
	opt, names, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Detector{least: opt.Score}
	d.scratch.New = func() any { return new(decoding) }
	opt.Batch = 1
	d.prepare(src, Options{Computing: opt.Computing})
	if err := d.describe(names, opt.NamesFile); err != nil {
		return nil, errors.Join(fmt.Errorf("features/dnn: model %s: %w", src.path, err), d.Close())
	}
	return d, nil
}

// describe settles what computes d, what its outputs mean and how it sees an image.
func (d *Detector) describe(names []string, namesFile string) (err error) {
	if d.taps, err = d.src.graph.detectorTaps(); err != nil {
		return err
	}
	size := d.src.fixed
	if size == (image.Point{}) {
		size = image.Pt(dynamicSide, dynamicSide)
	}
	d.nominal = size
	if err := d.choose(); err != nil {
		return err
	}
	shapes, err := d.shapes(size)
	if err != nil {
		return err
	}
	if d.layout, err = findLayout(shapes, size, d.src.graph.metadata[headKey], len(names), namesFile); err != nil {
		return err
	}
	if d.src.fixed == (image.Point{}) {
		size = image.Pt(d.layout.side, d.layout.side)
	}
	d.layout.size = size
	d.opt.RGB = d.layout.rgb
	d.normaliseBy(d.layout.mean, d.layout.std)
	for c := range d.outside {
		d.outside[c] = d.lut[c][d.layout.border]
	}
	d.info = DetectorInfo{
		Path: d.src.path, SHA256: d.sha256, Layout: d.layout.name, Masks: d.layout.coefficients > 0, InputWidth: size.X, InputHeight: size.Y,
		Classes: names, Engine: d.chosen().name, Device: d.chosen().device, Engines: d.engines,
	}
	return nil
}

// shapes runs the model once to see what its outputs are shaped like.
func (d *Detector) shapes(size image.Point) (shapes [][]int, err error) {
	n, err := d.cpu.layOut(size, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.run(1); err != nil {
		return nil, err
	}
	for i, t := range d.taps {
		_, shape, err := n.output(nil, i, 0)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", t.name, err)
		}
		shapes = append(shapes, slices.Clone(shape))
	}
	return shapes, nil
}

// Info describes the detector.
func (d *Detector) Info() DetectorInfo {
	info := d.info
	info.Classes = slices.Clone(info.Classes)
	info.Engines = slices.Clone(info.Engines)
	return info
}

// String says what the detector is.
func (d *Detector) String() string {
	i := &d.info
	return fmt.Sprintf("%s, %s of %d×%d with %d classes, by %s", filepath.Base(i.Path), i.Layout, i.InputWidth, i.InputHeight, len(i.Classes), i.Engine)
}

// Detect writes what it finds in an image, width×height pixels of BGR24, row-major and without gaps,
// each meant to be seen pixelAspect times as wide as high, to dst from its beginning: at most 100 detections, the best scores first. Of two that are nearly
// the same thing the better one is left: of one class those whose boxes have an intersection over
// union above 0.5, of two classes above 0.8, which is one thing with two names. It allocates nothing but masks once
// dst and the detector have seen the size.
func (d *Detector) Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error) {
	if err := checkImage(bgr, width, height); err != nil {
		return nil, err
	}
	if !(pixelAspect >= 1.0/maxPixelAspect && pixelAspect <= maxPixelAspect) {
		return nil, fmt.Errorf("features/dnn: pixels %g times as wide as high; want 1/%d to %d", pixelAspect, maxPixelAspect, maxPixelAspect)
	}
	work := d.scratch.Get().(*decoding)
	defer d.scratch.Put(work)
	work.found = work.found[:0]
	l := &d.layout
	show := l.show(width, height, pixelAspect)
	err := d.see(bgr, width, show, func(n network, image int) error {
		for i := range d.taps {
			read, decode := &work.rows, d.decode
			if l.strides[i] == nil {
				read, decode = &work.prototypes, d.checkPrototypes
			}
			var err error
			if *read, _, err = n.output(*read, i, image); err != nil {
				return err
			}
			if err := decode(work, i, show); err != nil {
				return fmt.Errorf("output %q: %w", d.taps[i].name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("features/dnn: %w", err)
	}
	return append(dst[:0], l.finish(work, show)...), nil
}

// Close releases the engine's memory. Calling it again does nothing.
func (d *Detector) Close() error { return d.close() }
