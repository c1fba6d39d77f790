package dnn

import (
	"errors"
	"image"
	"sync"
	"sync/atomic"
	"time"
)

// A batch is images of one input size that are computed in one run.
type batch struct {
	n      laidOut
	input  []float32
	images int           // that joined; guarded by backend.mu until it is closed to others
	full   chan struct{} // closed when it holds as many as there may be
	// filled waits for those that write their part of the input, unused counts those that have yet
	// to read what became of it.
	filled sync.WaitGroup
	unused atomic.Int32
	done   chan struct{} // closed after the run
	err    error         // of the run; to be read once it is done
}

// join finds the batch for an input size, and the image's number in it. The first one leads: it runs
// the batch.
func (c *backend) join(size image.Point) (b *batch, image int, err error) {
	c.mu.Lock()
	if b = c.open[size]; b != nil {
		image = b.enter()
		if b.images == c.most {
			delete(c.open, size)
			close(b.full)
		}
		c.mu.Unlock()
		return b, image, nil
	}
	c.mu.Unlock()
	// To lay a network out takes long, so others do not wait for that: of two at once each leads its own.
	b = &batch{full: make(chan struct{}), done: make(chan struct{})}
	if b.n, err = c.take(size); err != nil {
		return nil, 0, err
	}
	if b.input, err = b.n.input(); err != nil {
		return nil, 0, errors.Join(err, b.n.close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[size] == nil {
		c.open[size] = b
	}
	return b, b.enter(), nil
}

func (b *batch) enter() (image int) {
	b.filled.Add(1)
	b.unused.Add(1)
	b.images++
	return b.images - 1
}

// computeBatched is compute where images are batched. An image waits for others at most c.wait, and
// for those that are being computed; an image that comes until then is in its run.
func (c *backend) computeBatched(size image.Point, write func([]float32) error, read func(network, int) error) error {
	b, image, err := c.join(size)
	if err != nil {
		return computeError{err}
	}
	defer func() {
		if b.unused.Add(-1) == 0 {
			c.put(b.n)
		}
	}()
	wrote := func() error {
		if image == 0 {
			defer c.lead(b) // even if this goroutine panics: others wait for it
		}
		defer b.filled.Done()
		n := inputChannels * size.X * size.Y
		return write(b.input[image*n:][:n])
	}()
	<-b.done
	switch {
	case wrote != nil:
		return wrote
	case b.err != nil:
		return computeError{b.err}
	}
	return read(b.n.network, image)
}

// lead runs a batch when it is full or has waited long enough, and nothing else runs.
func (c *backend) lead(b *batch) {
	defer close(b.done)
	if c.wait > 0 {
		timer := time.NewTimer(c.wait)
		select {
		case <-b.full:
		case <-timer.C:
		}
		timer.Stop()
	}
	c.running <- struct{}{}
	defer func() { <-c.running }()
	c.mu.Lock()
	if c.open[b.n.size] == b {
		delete(c.open, b.n.size)
	}
	images := b.images
	c.mu.Unlock()
	b.filled.Wait()
	// A network is laid out anew for every number of images, so there are few of those; what is in
	// the rest of the input makes no difference to these.
	run := 1
	for run < images {
		run = min(2*run, c.most)
	}
	if b.err = b.n.run(run); b.err == nil {
		c.count(images)
	}
}
