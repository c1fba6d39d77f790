package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/pipeline/internal/message"
)

// How much a camera keeps of what it has published.
const (
	maxFrames     = 256
	maxFrameBytes = 16 << 20 // of all of them as protobuf
)

// newest is what the camera has published last: the masks of some frames, the
// picture of the newest one, and the objects. It is changed in the camera's turn only.
type newest struct {
	mu      sync.Mutex
	picture *ingest.Frame  // one reference; nil before the first and after the end
	cover   *privacy.Cover // of picture
	frames  []*segdv1.MaskFrame
	bytes   int
	held    map[uint64]*segdv1.MaskFrame // of frames that people hold, beyond the limits too
	objects objects.Table                // of the newest frame, with what was edited since
}

// keep takes in a frame that is about to be published, with the objects as of then, and drops the oldest masks
// beyond the limits.
func (n *newest) keep(it *item, table objects.Table) {
	it.frame.Retain()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picture != nil {
		n.picture.Release()
	}
	n.picture, n.cover, n.objects = it.frame, it.cover, table
	n.frames = append(n.frames, it.masks)
	n.bytes += proto.Size(it.masks)
	for len(n.frames) > maxFrames || n.bytes > maxFrameBytes && len(n.frames) > 1 {
		n.bytes -= proto.Size(n.frames[0])
		n.frames = slices.Delete(n.frames, 0, 1)
	}
}

// hold keeps a frame's masks, if they are there, until it is let go.
func (n *newest) hold(seq uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, kept := n.find(seq); kept {
		if n.held == nil {
			n.held = make(map[uint64]*segdv1.MaskFrame)
		}
		n.held[seq] = n.frames[at]
	}
}

// letGo ends hold.
func (n *newest) letGo(seq uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.held, seq)
}

// letGoAll ends every hold.
func (n *newest) letGoAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = nil
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

// table is the objects that there are.
func (n *newest) table() objects.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.objects
}

func (n *newest) setTable(table objects.Table) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects = table
}

// masks are those of the newest frame; zero before the first.
func (n *newest) masks() *segdv1.MaskFrame {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last()
}

// last is as masks. It needs mu.
func (n *newest) last() *segdv1.MaskFrame {
	if k := len(n.frames); k > 0 {
		return n.frames[k-1]
	}
	return &segdv1.MaskFrame{}
}

// sequence is the newest frame's number, 0 before the first.
func (n *newest) sequence() uint64 { return n.masks().Sequence }

// frame is the masks of a frame that is kept.
func (n *newest) frame(seq uint64) (masks *segdv1.MaskFrame, kept bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, kept := n.find(seq)
	if !kept {
		return nil, false
	}
	return n.frames[at], true
}

// find is where a frame's masks are, or would be. It needs mu.
func (n *newest) find(seq uint64) (at int, kept bool) {
	return slices.BinarySearchFunc(n.frames, seq, func(m *segdv1.MaskFrame, seq uint64) int { return cmp.Compare(m.Sequence, seq) })
}

// retain returns the newest picture, of which the caller owns a reference, what it does not show, and its masks; nil before
// the first and after the end.
func (n *newest) retain() (*ingest.Frame, *privacy.Cover, *segdv1.MaskFrame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picture == nil {
		return nil, nil, nil
	}
	n.picture.Retain()
	return n.picture, n.cover, n.last()
}

// Objects returns the camera's objects by rising id as they are by now, with their masks from the newest published
// frame, and that frame's sequence number, 0 before the first. The objects must not be changed.
func (c *Camera) Objects() (seq uint64, all []*segdv1.Object) {
	n := &c.newest
	n.mu.Lock()
	masks, table := n.last(), n.objects
	n.mu.Unlock()
	for _, o := range table.All() {
		var m *segdv1.Object
		if at := slices.IndexFunc(masks.Objects, func(m *segdv1.Object) bool { return m.Id == o.ID }); at >= 0 {
			m = masks.Objects[at]
		}
		all = append(all, message.Current(m, &o, masks.Width, masks.Height))
	}
	return masks.Sequence, all
}

// FrameSize is the newest published frame's, in pixels; 0×0 before the first.
func (c *Camera) FrameSize() (width, height int) {
	m := c.newest.masks()
	return int(m.Width), int(m.Height)
}

// Masks returns the masks of one of the latest frames published, 256 or what takes
// 16 MiB, or of a held one. They must not be changed. The error wraps api.ErrFrame and says which frames
// are kept.
func (c *Camera) Masks(seq uint64) (*segdv1.MaskFrame, error) {
	n := &c.newest
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.held[seq]; m != nil {
		return m, nil
	}
	k := len(n.frames)
	if k == 0 {
		return nil, fmt.Errorf("%w: %d; no frame was published yet", api.ErrFrame, seq)
	}
	i, found := n.find(seq)
	first, last := n.frames[0].Sequence, n.frames[k-1].Sequence
	switch {
	case found:
		return n.frames[i], nil
	case i > 0 && i < k:
		return nil, fmt.Errorf("%w: %d was dropped; accepted: %d or %d beside it, and others from %d to %d",
			api.ErrFrame, seq, n.frames[i-1].Sequence, n.frames[i].Sequence, first, last)
	case i == k:
		return nil, fmt.Errorf("%w: %d has not come yet; accepted: %d to %d", api.ErrFrame, seq, first, last)
	}
	return nil, fmt.Errorf("%w: %d is no longer kept; accepted: %d to %d", api.ErrFrame, seq, first, last)
}

// Picture calls use with the newest published picture, which is
// valid during the call only, and its masks, which must not be changed. The error
// wraps api.ErrDown when there is no picture, or is use's.
func (c *Camera) Picture(use func(*segdv1.MaskFrame, *privacy.Picture) error) error {
	f, cover, masks := c.newest.retain()
	if f == nil {
		return fmt.Errorf("%w: no picture of camera %s: %s", api.ErrDown, c.cfg.Name, c.stats.down())
	}
	defer f.Release()
	return use(masks, privacy.NewPicture(f.Pix, cover, nil))
}
