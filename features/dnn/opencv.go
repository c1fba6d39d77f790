package dnn

import (
	"errors"
	"image"
	"slices"

	"gocv.io/x/gocv"
)

// openCV computes a model with OpenCV's DNN module.
type openCV struct {
	src    *source
	device string
	taps   []tap
}

// openCVNetwork is a model that OpenCV has been given for one input size. To lay it out for
// another takes OpenCV as long as to run it.
type openCVNetwork struct {
	net     *gocv.Net
	forward *forwarder
	blob    gocv.Mat // the input
	shape   [3]int   // of the last output
}

func openCVVersion() string { return gocv.OpenCVVersion() }

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

func (e *openCV) layOut(size image.Point) (network, error) { return e.open(size) }

// step is that large because the model is loaded anew for every size.
func (e *openCV) step() int { return 2 * sizeStep }

// keep is enough for two cameras of different sizes, whole and at 1/2 and 1/4, and a few dozen
// crops.
func (e *openCV) keep() int { return 1 << 21 }

// open lays the model out; without taps its run computes all of it.
func (e *openCV) open(size image.Point) (*openCVNetwork, error) {
	net, err := e.src.load()
	if err != nil {
		return nil, err
	}
	if err := useDevice(net, e.device); err != nil {
		return nil, errors.Join(err, net.Close())
	}
	return &openCVNetwork{
		net: net, forward: newForwarder(net, e.taps),
		blob: gocv.NewMatWithSizes([]int{1, inputChannels, size.Y, size.X}, gocv.MatTypeCV32F),
	}, nil
}

func (e *openCV) close() error { return nil }

// layers lists the layers of the model and their shapes for an input size.
func (e *openCV) layers(size image.Point) (layers []Layer, err error) {
	n, err := e.open(size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	// Only after a forward pass do all layers know their shapes.
	if err := n.run(); err != nil {
		return nil, err
	}
	return describe(n.net, size.Y, size.X)
}

func (n *openCVNetwork) input() ([]float32, error) { return n.blob.DataPtrFloat32() }

func (n *openCVNetwork) run() error { return n.forward.run(&n.blob) }

func (n *openCVNetwork) output(dst []float32, i int) (data []float32, shape []int, err error) {
	made, dims, err := n.forward.output(i)
	if err != nil {
		return nil, nil, err
	}
	if dims[2] == 0 { // rows and columns
		n.shape = dims
		return append(dst[:0], made...), n.shape[:2], nil
	}
	channels, height, width := dims[0], dims[1], dims[2]
	n.shape = [3]int{height, width, channels}
	data = slices.Grow(dst[:0], len(made))[:len(made)]
	channelsLast(data, made, channels, height*width)
	return data, n.shape[:], nil
}

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

func (n *openCVNetwork) close() error {
	n.forward.close()
	return errors.Join(n.blob.Close(), n.net.Close())
}
