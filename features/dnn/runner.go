package dnn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"slices"
	"sync"

	"gocv.io/x/gocv"
)

// runner shows images to a network, which one of the engines computes. Any goroutine may use it,
// several at once.
type runner struct {
	src    *source
	opt    Options // of a detector those that say what computes it
	sha256 string  // of the file
	device string
	// nominal is the input size that engines are timed with, taps is what they compute.
	nominal image.Point
	taps    []tap
	// lut normalises a byte of each channel of the input, in the model's order; outside is what
	// they are where the input shows nothing of the image.
	lut     [inputChannels][256]float32
	outside [inputChannels]float32

	engine  engine
	chosen  string       // its name
	engines []EngineInfo // that could, OpenCV first

	open   sync.RWMutex // held for reading while the engine is used; guards closed
	closed bool

	mu       sync.Mutex // guards what follows
	networks []laidOut  // that nobody uses, the last used first
	scalers  []*scaler  // likewise
}

// tap is a tensor that a network is run for.
type tap struct {
	name string // the layer's, as OpenCV calls it
	// planes says that it is 1×channels×height×width; else it is 1×rows×columns.
	planes bool
}

// scaler is the memory to scale an image in.
type scaler struct {
	image  gocv.Mat // BGR24
	scaled gocv.Mat // at the input's size
}

func (s *scaler) close() error { return errors.Join(s.image.Close(), s.scaled.Close()) }

// laidOut is a network and the size of its input.
type laidOut struct {
	network
	size image.Point
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

// take returns the model laid out for an input size, and memory to scale an image in, for the
// caller alone until put.
func (r *runner) take(size image.Point) (n laidOut, s *scaler, err error) {
	r.mu.Lock()
	if k := len(r.scalers); k > 0 {
		s, r.scalers = r.scalers[k-1], r.scalers[:k-1]
	}
	at := slices.IndexFunc(r.networks, func(n laidOut) bool { return n.size == size })
	if at >= 0 {
		n = r.networks[at]
		r.networks = slices.Delete(r.networks, at, at+1)
	}
	r.mu.Unlock()
	if s == nil {
		s = &scaler{gocv.NewMat(), gocv.NewMat()}
	}
	if at < 0 {
		n.size = size
		if n.network, err = r.engine.layOut(size); err != nil {
			return n, nil, errors.Join(err, s.close())
		}
	}
	return n, s, nil
}

// put gives back what take returned. Of too many networks, those go which were not used for the
// longest.
func (r *runner) put(n laidOut, s *scaler) error {
	r.mu.Lock()
	r.scalers = append(r.scalers, s)
	r.networks = append(r.networks, n)
	copy(r.networks[1:], r.networks)
	r.networks[0] = n
	pixels, keep := 0, 0
	for ; keep < len(r.networks); keep++ {
		size := r.networks[keep].size
		if pixels += size.X * size.Y; pixels > r.engine.keep() && keep > 0 {
			break
		}
	}
	var err error
	for _, old := range r.networks[keep:] {
		err = errors.Join(err, old.close())
	}
	clear(r.networks[keep:])
	r.networks = r.networks[:keep]
	r.mu.Unlock()
	return err
}

// shown is what the model looks at: a part of the image, scaled to a size, in an input.
type shown struct {
	image.Rectangle
	size, input image.Point
	at          image.Point // where the input's upper left corner of it is
}

// see shows the model an image and lets read have what it makes of it. Errors are without the
// package's name.
func (r *runner) see(bgr []byte, width int, s shown, read func(network) error) (err error) {
	r.open.RLock()
	defer r.open.RUnlock()
	if r.closed {
		return errors.New("the model is closed")
	}
	n, memory, err := r.take(s.input)
	if err != nil {
		return fmt.Errorf("model %s for %d×%d pixels: %w", r.src.path, s.input.X, s.input.Y, err)
	}
	defer func() {
		if put := r.put(n, memory); err == nil && put != nil {
			err = fmt.Errorf("model %s: %w", r.src.path, put)
		}
	}()
	if err := r.normalise(n.network, memory, bgr, width, s); err != nil {
		return err
	}
	if err := n.run(); err != nil {
		return fmt.Errorf("model %s on %d×%d pixels: %w", r.src.path, s.input.X, s.input.Y, err)
	}
	if err := read(n.network); err != nil {
		return fmt.Errorf("model %s on %d×%d pixels: %w", r.src.path, s.input.X, s.input.Y, err)
	}
	return nil
}

// normalise scales what is shown of the image and writes it to the network's input, plane by
// plane; the rest of it becomes what r.outside says.
func (r *runner) normalise(to network, in *scaler, bgr []byte, width int, s shown) error {
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
	if s.size != s.input {
		setAll(first, r.outside[0])
		setAll(second, r.outside[1])
		setAll(third, r.outside[2])
	}
	blue, green, red := first, second, third
	lb, lg, lr := &r.lut[0], &r.lut[1], &r.lut[2]
	if r.opt.RGB {
		blue, red, lb, lr = third, first, &r.lut[2], &r.lut[0]
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
	r.open.Lock() // when nobody uses it
	defer r.open.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	for _, n := range r.networks {
		err = errors.Join(err, n.close())
	}
	for _, s := range r.scalers {
		err = errors.Join(err, s.close())
	}
	r.networks, r.scalers = nil, nil
	if r.engine != nil {
		err = errors.Join(err, r.engine.close())
	}
	return err
}
