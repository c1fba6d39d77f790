package dnn

import (
	"errors"
	"image"
	"slices"
	"sync"
	"time"
)

// A backend computes images by an engine on a device, several at once in a run where it batches
// them. Any goroutine may use it.
type backend struct {
	engine
	name, device string

	most int           // images in a run
	wait time.Duration // that an image waits for others, at most
	// running is held by whose images are computed, where there are batches: who comes meanwhile is in the
	// next one.
	running chan struct{}

	mu       sync.Mutex // guards what follows
	work     Work
	networks []laidOut              // that are not in use, the last used first
	open     map[image.Point]*batch // that images may join
}

// laidOut is a network and the size of its input.
type laidOut struct {
	network
	size image.Point
}

func newBackend(e engine, name, device string, most int, wait time.Duration) *backend {
	return &backend{
		engine: e, name: name, device: device, most: most, wait: wait,
		running: make(chan struct{}, 1), open: map[image.Point]*batch{},
	}
}

// take returns the model laid out for an input size, for the caller alone until put. One that has to be laid
// out takes the place of those which were not used for the longest, and of a larger one than is kept, and their memory.
func (c *backend) take(size image.Point) (n laidOut, err error) {
	c.mu.Lock()
	at := slices.IndexFunc(c.networks, func(n laidOut) bool { return n.size == size })
	if at >= 0 {
		n = c.networks[at]
		c.networks = slices.Delete(c.networks, at, at+1)
	} else {
		_ = c.makeRoom(size) // what does not close costs memory, and not this image
	}
	c.mu.Unlock()
	if at < 0 {
		n.size = size
		n.network, err = c.layOut(size, c.most)
	}
	return n, err
}

// makeRoom closes what would be too many networks with another for an input size. Of those that are larger than keep
// there is one, beside the others: a look at all of a picture leaves those of its windows.
func (c *backend) makeRoom(size image.Point) error {
	most, left := c.keep(), c.keep()
	fits := func(size image.Point) bool {
		pixels := c.most * size.X * size.Y
		if pixels <= most {
			left -= pixels
		}
		return pixels <= most && left >= 0
	}
	fits(size)
	var err error
	c.networks = slices.DeleteFunc(c.networks, func(n laidOut) bool {
		if fits(n.size) {
			return false
		}
		err = errors.Join(err, n.close())
		return true
	})
	return err
}

// put gives back what take returned.
func (c *backend) put(n laidOut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.networks = slices.Insert(c.networks, 0, n)
}

// drop closes the networks that are not in use.
func (c *backend) drop() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.networks {
		err = errors.Join(err, n.close())
	}
	c.networks = nil
	return err
}

// count is called after a run.
func (c *backend) count(images int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work.Runs++
	c.work.Images += uint64(images)
}

// shut closes all.
func (c *backend) shut() error { return errors.Join(c.drop(), c.close()) }

// computeError is how a device failed, not what is wrong with what it made.
type computeError struct{ error }

func (e computeError) Unwrap() error { return e.error }

// compute has write fill an input of a size, runs the network and has read see what it makes of
// the image among those of the run. An error of the engine is a computeError.
func (c *backend) compute(size image.Point, write func(input []float32) error, read func(n network, image int) error) error {
	if c.most > 1 {
		return c.computeBatched(size, write, read)
	}
	n, err := c.take(size)
	if err != nil {
		return computeError{err}
	}
	defer c.put(n)
	input, err := n.input()
	if err != nil {
		return computeError{err}
	}
	if err := write(input); err != nil {
		return err
	}
	if err := n.run(1); err != nil {
		return computeError{err}
	}
	c.count(1)
	return read(n.network, 0)
}
