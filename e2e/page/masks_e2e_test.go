//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// The demo's clip: where it begins, its length and how long a frame is shown.
const (
	clipStart  = 545
	clipFrames = 795
	clipFrame  = 100 * time.Millisecond

	width, height = 768, 576
)

// clipAt is the clip's frame that a message is of.
func clipAt(m *segdv1.MaskFrame) int {
	n := int(math.Round(float64(m.GetPtsNs()) / float64(clipFrame)))
	return (clipStart + n) % clipFrames
}

// readWalker reads the reference masks of the person who walks over the grass, by
// frame of the clip.
func readWalker(path string) (map[int]mask.RLE, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var counts map[int]string
	if err := json.Unmarshal(text, &counts); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	masks := make(map[int]mask.RLE, len(counts))
	for n, c := range counts {
		if masks[n], err = mask.Parse(c, width, height); err != nil {
			return nil, fmt.Errorf("%s: frame %d: %w", path, n, err)
		}
	}
	return masks, nil
}

// log keeps the masks that came on NATS.
type log struct {
	mu    sync.Mutex
	news  chan struct{} // closed and made anew with every message
	masks []*segdv1.MaskFrame
	fault error
}

func (l *log) add(msg *nats.Msg) {
	m := &segdv1.MaskFrame{}
	err := proto.Unmarshal(msg.Data, m)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.fault == nil {
		l.fault = err
	}
	l.masks = append(l.masks, m)
	close(l.news)
	l.news = make(chan struct{})
}

// from returns the messages from the n-th on, and what is closed when more come.
func (l *log) from(n int) ([]*segdv1.MaskFrame, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.masks[min(n, len(l.masks)):], l.news, l.fault
}

func (l *log) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.masks)
}

// until waits for a message, from the n-th on, that is wanted.
func (l *log) until(ctx context.Context, n int, what string, want func(*segdv1.MaskFrame) bool) (*segdv1.MaskFrame, error) {
	for {
		masks, news, err := l.from(n)
		if err != nil {
			return nil, err
		}
		for _, m := range masks {
			if want(m) {
				return m, nil
			}
		}
		n += len(masks)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: no masks with %s", context.Cause(ctx), what)
		case <-news:
		}
	}
}

// of returns the message of a frame.
func (l *log) of(seq uint64) *segdv1.MaskFrame {
	masks, _, _ := l.from(0)
	for _, m := range masks {
		if m.GetSequence() == seq {
			return m
		}
	}
	return nil
}

// object returns the object with a label, or nil.
func object(m *segdv1.MaskFrame, label string) *segdv1.Object {
	for _, o := range m.GetObjects() {
		if o.GetLabel() == label {
			return o
		}
	}
	return nil
}

func decoded(o *segdv1.Object) (mask.RLE, error) { return mask.Parse(o.GetCounts(), width, height) }
