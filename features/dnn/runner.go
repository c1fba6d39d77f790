package dnn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"sync"

	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
)

// runner shows images to a network, which one of the engines computes. Any goroutine may use it,
// several at once.
type runner struct {
	src    *source
	opt    Options // of a detector those that say what computes it
	sha256 string  // of the file
	// nominal is the input size that engines are timed with, taps is what they compute.
	nominal image.Point
	taps    []tap
	// lut normalises a byte of each channel of the input, in the model's order; outside is what
	// they are where the input shows nothing of the image.
	lut     lut
	outside [inputChannels]float32

	// cpu computes, or stands by where card does, which is nil without one.
	cpu, card *backend
	failover  failover     // how the card fares
	engines   []EngineInfo // that could compute

	open   sync.RWMutex // held for reading while an engine is used; guards closed
	closed bool
}

// lut is what becomes of a byte of each channel.
type lut [inputChannels][256]float32

// expose makes l what becomes of a byte whose exposure x is. of is that of one as it is.
func (l *lut) expose(of *lut, x features.Exposure) {
	for v := range 256 {
		shown := float32(x.At(byte(v)) / 255)
		for c := range l {
			l[c][v] = of[c][0] + shown*(of[c][255]-of[c][0])
		}
	}
}

// tap is a tensor that a network is run for.
type tap struct {
	name string // the layer's, as OpenCV calls it
	// planes says that it is 1×channels×height×width, to be had as height×width×channels; else it is taken as it is.
	planes bool
}

// prepare sets what is known of a model before an engine sees it; opt has its defaults.
func (r *runner) prepare(src *source, opt Options) {
	setThreads(opt.Threads)
	sum := sha256.Sum256(src.data)
	r.src, r.opt, r.sha256 = src, opt, hex.EncodeToString(sum[:])
}

// normaliseBy makes a channel of the model's input (v−mean)/std of the image's.
func (r *runner) normaliseBy(mean, std [inputChannels]float64) {
	for c := range r.lut {
		for v := range r.lut[c] {
			r.lut[c][v] = float32((float64(v) - mean[c]) / std[c])
		}
	}
}

// checkImage checks an image that is given as bytes.
func checkImage(bgr []byte, width, height int) error {
	if width < 1 || height < 1 || width > maxSide || height > maxSide || len(bgr) != 3*width*height {
		return fmt.Errorf("features/dnn: %d bytes for a BGR24 image of %d×%d pixels", len(bgr), width, height)
	}
	return nil
}

// shown is what the model looks at: a part of the image, scaled to a size, in an input.
type shown struct {
	image.Rectangle
	size, input image.Point
	at          image.Point // where the input's upper left corner of it is
	large       bool        // for what is found of larger things
	exposure    features.Exposure
}

// see shows the model an image and lets read have what it makes of it, among the images of a run.
// Errors are without the package's name.
func (r *runner) see(bgr []byte, width int, s shown, read func(n network, image int) error) error {
	return r.runBy(func(c *backend) error { return r.seeBy(c, bgr, width, s, read) })
}

// runBy has the backend compute that is to; where the card fails, the processor.
func (r *runner) runBy(compute func(c *backend) error) error {
	r.open.RLock()
	defer r.open.RUnlock()
	if r.closed {
		return errors.New("the model is closed")
	}
	c := r.backend()
	err := compute(c)
	if c == r.card {
		if failed, ok := errors.AsType[computeError](err); ok {
			r.failOver(failed)
			return compute(r.cpu)
		}
		r.failBack()
	}
	return err
}

// seeBy is see by one backend.
func (r *runner) seeBy(c *backend, bgr []byte, width int, s shown, read func(network, int) error) error {
	err := c.compute(s.input, func(input []float32) error { return r.normalise(input, bgr, width, s) }, read)
	if err != nil {
		return fmt.Errorf("model %s on %d×%d pixels: %w", r.src.path, s.input.X, s.input.Y, err)
	}
	return nil
}

// normalise scales what is shown of the image and writes it to a network's input, plane by
// plane; the rest of it becomes what r.outside says.
func (r *runner) normalise(input []float32, bgr []byte, width int, s shown) error {
	pix, stride := bgr[3*(s.Min.Y*width+s.Min.X):], 3*width
	if s.Size() != s.size {
		scaled := buffers.Get[byte](3 * s.size.X * s.size.Y)
		defer buffers.Put(scaled)
		resize(scaled, pix, stride, s.Size(), s.size)
		pix, stride = scaled, 3*s.size.X
	}
	n := s.input.X * s.input.Y
	first, second, third := input[:n], input[n:][:n], input[2*n:][:n]
	if s.size != s.input {
		setAll(first, r.outside[0])
		setAll(second, r.outside[1])
		setAll(third, r.outside[2])
	}
	blue, green, red := first, second, third
	by := &r.lut
	if s.exposure != (features.Exposure{}) {
		by = new(lut)
		by.expose(&r.lut, s.exposure)
	}
	lb, lg, lr := &by[0], &by[1], &by[2]
	if r.opt.RGB {
		blue, red, lb, lr = third, first, &by[2], &by[0]
	}
	for y := range s.size.Y {
		row := func(plane []float32) []float32 { return plane[(s.at.Y+y)*s.input.X+s.at.X:][:s.size.X] }
		fill(row(blue), row(green), row(red), pix[y*stride:], lb, lg, lr)
	}
	return nil
}

// setAll sets every number of dst, which is not empty, as fast as memory is copied.
func setAll(dst []float32, v float32) {
	dst[0] = v
	for n := 1; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// fill splits BGR pixels into normalised planes.
func fill(b, g, r []float32, pix []byte, lb, lg, lr *[256]float32) {
	g, r = g[:len(b)], r[:len(b)]
	for i := range b {
		p := pix[3*i:][:3:3]
		b[i], g[i], r[i] = lb[p[0]], lg[p[1]], lr[p[2]]
	}
}

// close releases the engine's memory. Calling it again does nothing.
func (r *runner) close() error {
	r.open.Lock() // when it is not in use
	defer r.open.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	for _, c := range []*backend{r.cpu, r.card} {
		if c != nil {
			err = errors.Join(err, c.shut())
		}
	}
	return err
}
