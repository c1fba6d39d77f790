//go:build opencv

package dnn

import (
	"errors"
	"image"

	"github.com/segd/segd/internal/buffers"
)

// WithOpenCV says that this program was built with OpenCV: by the build tag opencv.
const WithOpenCV = true

// openCV computes a model with OpenCV's DNN module.
type openCV struct {
	src    *source
	device string
	fp16   bool // of a card
	taps   []tap
}

func newOpenCV(src *source, device string, fp16 bool, taps []tap) (engine, error) {
	return &openCV{src: src, device: device, fp16: fp16, taps: taps}, nil
}

// openCVNetwork is a model that OpenCV has been given for one input size. To lay it out for
// another takes OpenCV as long as to run it.
type openCVNetwork struct {
	engine *openCV
	nets   []*openCVNet // by the number of images that they take, made when they are first run
	last   *openCVNet   // that was run
	size   image.Point
	blob   []float32 // the input
	shapes [][3]int  // of the last output of each image
}

func (e *openCV) layOut(size image.Point, images int) (network, error) { return e.open(size, images) }

// step is that large because the model is loaded anew for every size.
func (e *openCV) step() int { return 2 * sizeStep }

// keep is enough for two cameras of different sizes, whole and at 1/2 and 1/4, and a few dozen
// crops; on a card, where networks are of several images, for two whole pictures of eight and a dozen crops.
func (e *openCV) keep() int {
	if e.device != DeviceCPU {
		return 1 << 23
	}
	return 1 << 21
}

// open lays the model out for one image; for more when they come. Without taps its run computes all
// of it.
func (e *openCV) open(size image.Point, images int) (*openCVNetwork, error) {
	n := &openCVNetwork{
		engine: e, nets: make([]*openCVNet, 1+images), shapes: make([][3]int, images),
		size: size, blob: buffers.Get[float32](images * inputChannels * size.Y * size.X),
	}
	if _, err := n.netFor(1); err != nil {
		return nil, err
	}
	return n, nil
}

// netFor loads the model for so many images, unless it has been. OpenCV lays a net out anew whenever
// that number changes, so there is one for each.
func (n *openCVNetwork) netFor(images int) (*openCVNet, error) {
	if n.nets[images] != nil {
		return n.nets[images], nil
	}
	net, err := n.engine.src.load(n.engine.taps, images)
	if err != nil {
		return nil, err
	}
	if n.engine.device != DeviceCPU {
		if err := net.useCUDA(n.engine.fp16); err != nil {
			net.close()
			return nil, err
		}
	}
	n.nets[images] = net
	return net, nil
}

func (e *openCV) close() error { return nil }

// layers lists the layers of the model and their shapes for an input size.
func (r *runner) layers(size image.Point) (layers []Layer, err error) {
	n, err := (&openCV{src: r.src, device: DeviceCPU}).open(size, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	// Only after a forward pass do all layers know their shapes.
	if err := n.run(1); err != nil {
		return nil, err
	}
	return n.last.describe(size.Y, size.X)
}

func (n *openCVNetwork) input() ([]float32, error) { return n.blob, nil }

func (n *openCVNetwork) run(images int) (err error) {
	if n.last, err = n.netFor(images); err != nil {
		return err
	}
	return n.last.run(n.blob, n.size)
}

func (n *openCVNetwork) output(dst []float32, i, image int) (data []float32, shape []int, err error) {
	made, shape, err := n.lend(i, image)
	if err != nil {
		return nil, nil, err
	}
	if len(shape) < 3 || !n.engine.taps[i].planes {
		return append(buffers.Fit(dst, len(made))[:0], made...), shape, nil
	}
	channels, height, width := shape[0], shape[1], shape[2]
	n.shapes[image] = [3]int{height, width, channels}
	data = buffers.Fit(dst, len(made))
	channelsLast(data, made, channels, height*width)
	return data, shape, nil
}

func (n *openCVNetwork) lend(i, image int) (data []float32, shape []int, err error) {
	made, dims, err := n.last.output(i, image)
	if err != nil {
		return nil, nil, err
	}
	n.shapes[image] = dims
	if shape = n.shapes[image][:]; dims[2] == 0 { // rows and columns
		shape = shape[:2]
	}
	return made, shape, nil
}

func (n *openCVNetwork) close() error {
	for _, net := range n.nets {
		if net != nil {
			net.close()
		}
	}
	buffers.Put(n.blob)
	return nil
}
