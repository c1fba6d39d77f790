package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
)

// How much a camera keeps of what it has published.
const (
	maxFrames     = 256
	maxFrameBytes = 16 << 20 // of all of them as protobuf
)

// newest is what the camera has published last: the masks of some frames, the
// picture of the newest one and its objects.
type newest struct {
	mu      sync.Mutex
	picture *ingest.Frame // one reference; nil before the first and after the end
	frames  []*segdv1.MaskFrame
	bytes   int
	objects []*segdv1.Object       // of the newest frame, without what was removed since
	extents map[uint32]*segdv1.Box // of these, or the last one of what is out of sight
}

// keep takes in a frame that is about to be published, and drops the oldest masks
// beyond the limits.
func (n *newest) keep(it *item) {
	it.frame.Retain()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picture != nil {
		n.picture.Release()
	}
	n.picture, n.objects = it.frame, it.masks.Objects
	n.keepExtents(it.masks)
	n.frames = append(n.frames, it.masks)
	n.bytes += proto.Size(it.masks)
	for len(n.frames) > maxFrames || n.bytes > maxFrameBytes && len(n.frames) > 1 {
		n.bytes -= proto.Size(n.frames[0])
		n.frames = slices.Delete(n.frames, 0, 1)
	}
}

// keepExtents takes in where the objects of m, the frame after those there are, are by their tracks.
func (n *newest) keepExtents(m *segdv1.MaskFrame) {
	if n.extents == nil {
		n.extents = map[uint32]*segdv1.Box{}
	}
	if k := len(n.frames); k > 0 && (n.frames[k-1].Width != m.Width || n.frames[k-1].Height != m.Height) {
		clear(n.extents) // they are of another picture
	}
	maps.DeleteFunc(n.extents, func(id uint32, _ *segdv1.Box) bool {
		return !slices.ContainsFunc(m.Objects, func(o *segdv1.Object) bool { return o.Id == id })
	})
	for _, o := range m.Objects {
		if o.Extent != nil {
			n.extents[o.Id] = o.Extent
		} else if o.Area > 0 {
			delete(n.extents, o.Id) // it has no track any more
		}
	}
}

// extent is an object's in the newest frame or, of one that is out of sight, the last one it had; nil without one.
func (n *newest) extent(id uint32) *segdv1.Box {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.extents[id]
}

// drop gives the picture back.
func (n *newest) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picture != nil {
		n.picture.Release()
	}
	n.picture = nil
}

func (n *newest) setObjects(objects []*segdv1.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects = objects
}

// list returns the newest frame's number, 0 before the first, and the objects.
func (n *newest) list() (seq uint64, objects []*segdv1.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := len(n.frames); k > 0 {
		seq = n.frames[k-1].Sequence
	}
	return seq, n.objects
}

// retain returns the newest picture, of which the caller owns a reference, its masks, and the objects
// that list returns; nil before the first and after the end.
func (n *newest) retain() (*ingest.Frame, *segdv1.MaskFrame, []*segdv1.Object) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picture == nil {
		return nil, nil, nil
	}
	n.picture.Retain()
	return n.picture, n.frames[len(n.frames)-1], n.objects
}

// size is the newest frame's, 0×0 before the first.
func (n *newest) size() (width, height int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := len(n.frames); k > 0 {
		width, height = n.frames[k-1].Width, n.frames[k-1].Height
	}
	return width, height
}

// Objects returns the camera's objects by rising id, as the newest published frame
// shows them, without those removed and with the labels given since, and that
// frame's sequence number. The objects must not be changed.
func (c *Camera) Objects() (seq uint64, objects []*segdv1.Object) { return c.newest.list() }

// FrameSize is the newest published frame's, in pixels; 0×0 before the first.
func (c *Camera) FrameSize() (width, height int) {
	w, h := c.newest.size()
	return int(w), int(h)
}

// Masks returns the masks of one of the latest frames published, 256 or what takes
// 16 MiB. They must not be changed. The error wraps ErrFrame and says which frames
// are kept.
func (c *Camera) Masks(seq uint64) (*segdv1.MaskFrame, error) {
	n := &c.newest
	n.mu.Lock()
	defer n.mu.Unlock()
	k := len(n.frames)
	if k == 0 {
		return nil, fmt.Errorf("%w: %d; no frame was published yet", ErrFrame, seq)
	}
	i, found := slices.BinarySearchFunc(n.frames, seq, func(m *segdv1.MaskFrame, seq uint64) int {
		switch {
		case m.Sequence < seq:
			return -1
		case m.Sequence > seq:
			return 1
		}
		return 0
	})
	first, last := n.frames[0].Sequence, n.frames[k-1].Sequence
	switch {
	case found:
		return n.frames[i], nil
	case i > 0 && i < k:
		return nil, fmt.Errorf("%w: %d was dropped; accepted: %d or %d beside it, and others from %d to %d",
			ErrFrame, seq, n.frames[i-1].Sequence, n.frames[i].Sequence, first, last)
	case i == k:
		return nil, fmt.Errorf("%w: %d has not come yet; accepted: %d to %d", ErrFrame, seq, first, last)
	}
	return nil, fmt.Errorf("%w: %d is no longer kept; accepted: %d to %d", ErrFrame, seq, first, last)
}

// Picture calls use with the newest published picture, tight rows of BGR, which is
// valid during the call only, and its masks, which must not be changed. The error
// wraps ErrDown when there is no picture, or is use's.
func (c *Camera) Picture(use func(masks *segdv1.MaskFrame, bgr []byte) error) error {
	f, masks, _ := c.newest.retain()
	if f == nil {
		return fmt.Errorf("%w: no picture of camera %s: %s", ErrDown, c.cfg.Name, c.stats.down())
	}
	defer f.Release()
	return use(masks, f.Pix)
}
