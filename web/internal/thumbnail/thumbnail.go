// Package thumbnail makes small pictures of objects, with their masks drawn on, and keeps the newest.
package thumbnail

import (
	"fmt"
	"image"
	"math"
	"slices"
	"sync"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/outputs/draw"
)

// Longest is how many pixels the longer side of a thumbnail has at most.
const Longest = 320

// Name is that of an object's thumbnail in a frame, unique in its camera.
func Name(m *segdv1.MaskFrame, object uint32) string {
	return fmt.Sprintf("%d-%d-%d.jpg", m.GetEpoch(), m.GetSequence(), object)
}

// Make returns a JPEG of an object and what is round it in bgr, which is m's frame in tight rows. It is as people are
// meant to see it, with square pixels.
func Make(m *segdv1.MaskFrame, bgr []byte, object uint32, quality int) ([]byte, error) {
	width, height := int(m.GetWidth()), int(m.GetHeight())
	i := slices.IndexFunc(m.GetObjects(), func(o *segdv1.Object) bool { return o.GetId() == object })
	if i < 0 || len(bgr) != 3*width*height {
		return nil, fmt.Errorf("thumbnail: object %d in frame %d: not among its %d objects, or %d bytes are no picture of %d×%d",
			object, m.GetSequence(), len(m.GetObjects()), len(bgr), width, height)
	}
	rle, err := mask.Parse(m.Objects[i].GetCounts(), width, height)
	if err != nil {
		return nil, fmt.Errorf("thumbnail: object %d in frame %d: %w", object, m.GetSequence(), err)
	}
	part := around(rle.Box(), width, height)
	if part.Empty() {
		return nil, fmt.Errorf("thumbnail: object %d in frame %d has no mask", object, m.GetSequence())
	}
	bits := rle.Decode(nil)
	cut, cutBits := make([]byte, 0, 3*part.Dx()*part.Dy()), make([]uint8, 0, part.Dx()*part.Dy())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		from, to := y*width+part.Min.X, y*width+part.Max.X
		cut, cutBits = append(cut, bgr[3*from:3*to]...), append(cutBits, bits[from:to]...)
	}
	draw.BGR(cut, part.Dx(), part.Dy()).Mask(mask.Encode(cutBits, part.Dx(), part.Dy()), draw.Colour(object))

	toWidth, toHeight := fit(part.Size(), m.GetPixelAspect())
	e, err := codec.NewJPEGEncoder(part.Dx(), part.Dy(), toWidth, toHeight, quality)
	if err != nil {
		return nil, fmt.Errorf("thumbnail: %w", err)
	}
	defer e.Close()
	picture, err := e.Encode(cut)
	if err != nil {
		return nil, fmt.Errorf("thumbnail: %w", err)
	}
	return picture, nil
}

// around is box with a quarter of its longer side on each side, as far as there is a picture.
func around(box image.Rectangle, width, height int) image.Rectangle {
	if box.Empty() {
		return box
	}
	return box.Inset(-max(8, max(box.Dx(), box.Dy())/4)).Intersect(image.Rect(0, 0, width, height))
}

// fit is the size of a thumbnail of that many pixels, each aspect times as wide as high.
func fit(size image.Point, aspect float64) (width, height int) {
	if aspect <= 0 { // unknown
		aspect = 1
	}
	w, h := float64(size.X)*max(aspect, 1), float64(size.Y)/min(aspect, 1)
	scale := min(1, Longest/max(w, h))
	pixels := func(f float64) int { return max(1, int(math.Round(f*scale))) }
	return pixels(w), pixels(h)
}

// Most pictures and bytes that a Ring keeps.
const (
	MaxKept  = 256
	MaxBytes = 4 << 20
)

// Ring keeps the newest thumbnails by their names. Its zero value is empty. Any goroutine may call its methods.
type Ring struct {
	mu    sync.Mutex
	kept  []named // the oldest first
	bytes int
}

type named struct {
	name    string
	picture []byte
}

// Add keeps a picture, and tells how many older ones it keeps no longer for it.
func (r *Ring) Add(name string, picture []byte) (removed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, named{name, picture})
	r.bytes += len(picture)
	for ; len(r.kept)-removed > MaxKept || r.bytes > MaxBytes; removed++ {
		r.bytes -= len(r.kept[removed].picture)
	}
	r.kept = slices.Delete(r.kept, 0, removed)
	return removed
}

// Clear removes all.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.bytes = nil, 0
}

// Get returns the picture of that name; nil if it is not kept.
func (r *Ring) Get(name string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.kept, func(n named) bool { return n.name == name }); i >= 0 {
		return r.kept[i].picture
	}
	return nil
}
