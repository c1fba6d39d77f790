// Package keeper has a store keep what a camera knows, as checkpoints (docs/checkpoints.md).
//
// In go captures, from any goroutine, which never wait: one that comes while another is being kept replaces the one that
// waits, but a short one does not replace a whole one. Out go checkpoints to the store, by the goroutine of Run, which
// encodes the newest picture.
package keeper

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/memory"
)

const (
	// SaveTimeout bounds how long it takes to keep a checkpoint, that at the end included.
	SaveTimeout = 5 * time.Second
	// SaveLeast is between one checkpoint and the next, however often there are annotations.
	SaveLeast = 200 * time.Millisecond
)

// Store keeps checkpoints.
type Store interface {
	// Save keeps a checkpoint of a camera, or a short one. The one before stays until it is whole.
	Save(ctx context.Context, camera string, data []byte, short bool) error
}

// Capture is what a camera knows at one moment.
type Capture struct {
	checkpoint.Checkpoint                          // without pictures
	Short                 bool                     // they are not wanted
	Scenes                []*annotation.Annotation // that objects were marked on; none if it is short
	Picture               *ingest.Frame            // one reference; nil if it is short
	Masks                 *segdv1.MaskFrame        // of the picture
}

// Drop gives the picture back.
func (c *Capture) Drop() {
	if c != nil && c.Picture != nil {
		c.Picture.Release()
	}
}

// Keeper has the captures of one camera kept.
type Keeper struct {
	store Store
	valid func() bool

	mu      sync.Mutex
	waiting *Capture
	closed  bool
	filled  chan struct{} // capacity 1
	over    chan struct{} // closed when closed is

	owing atomic.Bool // a whole one was not kept: the next is to be whole
}

// New returns a Keeper that keeps in a store what is this box's to keep, as valid tells.
func New(store Store, valid func() bool) *Keeper {
	return &Keeper{store: store, valid: valid, filled: make(chan struct{}, 1), over: make(chan struct{})}
}

// Owes tells, once, that a whole capture was not kept: the next is to be whole.
func (k *Keeper) Owes() bool { return k.owing.Swap(false) }

// Put has c kept, which k owns from then on.
func (k *Keeper) Put(c *Capture) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.Drop()
		return
	}
	if k.waiting != nil && !k.waiting.Short && c.Short {
		c.Drop() // that one must not be lost, and another comes soon
		return
	}
	k.waiting.Drop()
	k.waiting = c
	k.wake()
}

// Close says that nothing more comes. What waits is kept, at once.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	close(k.over)
	k.wake()
}

func (k *Keeper) wake() {
	select {
	case k.filled <- struct{}{}:
	default:
	}
}

// Take waits for a capture, which the caller owns; nil says that none will come any more.
func (k *Keeper) Take() *Capture {
	for {
		k.mu.Lock()
		c, closed := k.waiting, k.closed
		k.waiting = nil
		k.mu.Unlock()
		if c != nil || closed {
			return c
		}
		<-k.filled
	}
}

// rest waits until the next capture may be kept: at once after Close, as others may wait for the last one.
func (k *Keeper) rest() {
	select {
	case <-k.over:
	case <-time.After(SaveLeast):
	}
}

// Run keeps captures until Close, and tells of each how many bytes it has and how long that took.
func (k *Keeper) Run(ctx context.Context, kept func(bytes int, took time.Duration, err error)) {
	for {
		c := k.Take()
		if c == nil {
			return
		}
		begun := time.Now()
		var size int
		err := guard.Call(func() (err error) {
			size, err = k.save(ctx, c)
			return err
		})
		c.Drop()
		if err != nil && !c.Short {
			k.owing.Store(true)
		}
		kept(size, time.Since(begun), err)
		k.rest()
	}
}

// save keeps c, and returns its size.
func (k *Keeper) save(ctx context.Context, c *Capture) (size int, err error) {
	if !c.Short {
		if err := c.addPictures(); err != nil {
			return 0, err
		}
	}
	data, err := checkpoint.Encode(&c.Checkpoint)
	if err != nil {
		return 0, err
	}
	if !k.valid() { // another box may keep its own by now
		return 0, errUnleased
	}
	ctx, cancel := context.WithTimeout(ctx, SaveTimeout)
	defer cancel()
	return len(data), k.store.Save(ctx, c.Camera, data, c.Short)
}

var errUnleased = errors.New("pipeline: the lease of this camera is not valid now")

// addPictures adds the pictures that the objects are remembered by, and c's own.
func (c *Capture) addPictures() error {
	for _, a := range c.Scenes {
		json, err := annotation.Marshal(a)
		if err != nil {
			return err
		}
		c.Marked = append(c.Marked, json)
	}
	last, err := memory.Shown(c.Masks, c.Objects, c.Picture.Pix, true)
	if err != nil || last == nil {
		return err
	}
	c.Last, err = annotation.Marshal(last)
	return err
}
