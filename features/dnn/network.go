package dnn

import (
	"errors"
	"image"

	"gocv.io/x/gocv"
)

// maxNetworks is how many input sizes a Model is laid out for at once: those of two
// cameras of different sizes, whole and shrunk to 1/2 and 1/4, and two to spare.
const maxNetworks = 8

// network is a model laid out for one input size. To lay it out for another takes
// OpenCV as long as to run it.
type network struct {
	net  *gocv.Net
	run  *forwarder
	blob gocv.Mat    // the normalised input, 1×3×h×w
	size image.Point // of the input
	// device is what it runs on.
	device string
}

// layOut loads the model for an input size; without taps its run computes all of it.
func (s *source) layOut(device string, size image.Point, taps []string) (*network, error) {
	net, err := s.load()
	if err != nil {
		return nil, err
	}
	if device, err = useDevice(net, device); err != nil {
		return nil, errors.Join(err, net.Close())
	}
	return &network{
		net: net, run: newForwarder(net, taps), size: size, device: device,
		blob: gocv.NewMatWithSizes([]int{1, inputChannels, size.Y, size.X}, gocv.MatTypeCV32F),
	}, nil
}

func (n *network) close() error {
	n.run.close()
	return errors.Join(n.blob.Close(), n.net.Close())
}
