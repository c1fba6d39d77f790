package features

import (
	"cmp"
	"image"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/segd/segd/internal/buffers"
)

// tile is a part of the image in which superpixels grow at first as if there were nothing
// else: what that takes stays in a core's cache, and several cores grow several.
type tile struct {
	image.Rectangle
	first int           // label of the first of its seeds
	seeds []image.Point // pixels of the image
	left  []later       // what waits in it after its turn
}

// later is a pixel that waits under a key.
type later struct {
	key uint32
	waiting
}

const (
	// tileSide is about how many pixels a tile measures.
	tileSide = 128
	// leastAcross is how many superpixels a tile measures at least, so that none is without.
	leastAcross = 4
	// tileReach is how far, in units of CIELAB, a pixel may be from a region to join it before
	// all tiles had their turn. What is farther from all those in its tile may well belong to
	// one beyond its border, a sliver of something that is there. At 8 mean J of eight DAVIS
	// sequences, three repeats, is .001 lower; at 5 it is that of an image grown in one.
	tileReach = 5
)

// tileKey is the key of tileReach.
var tileKey = distanceKey(LabUnit*LabUnit*tileReach*tileReach + keyBias)

// snic cuts images into superpixels. The zero value is ready.
type snic struct {
	pixels  []pixel // (height+2)×(width+2), framed by settled pixels; while an image is cut
	stride  uint32  // width+2
	regions []region
	spatial float32

	seeds, sorted []image.Point
	cols, rows    int
	tiles         []tile
	next          atomic.Int32 // tile that is not grown yet
	queues        []queue      // of the workers; the first grows the rest
}

// segmented is an image, or a part of one, and what becomes of it.
type segmented struct {
	bgr           []byte // from its first pixel on
	stride        int    // bytes from a row to the next
	width, height int
	hidden        []image.Rectangle // what is not to be seen of it
	labels        []int32           // height×width
	pixels        []int16           // height×width×3, CIELAB in LabUnits
	workers       int               // goroutines that grow tiles; 0: GOMAXPROCS
}

// segment grows superpixels over im.bgr, fills im.labels with their indices and im.pixels with
// its colours, and returns how many there are: count, which is in 1…width·height, if nothing is
// to be finer or hidden. What is hidden, or shut in by that without a seed, becomes Unseen.
func (s *snic) segment(im *segmented, count int, compactness float64, fine []Region) int {
	s.plan(im.width, im.height, count, fine, im.hidden)
	if len(im.hidden) > 0 {
		for i := range im.labels {
			im.labels[i] = Unseen
		}
	}
	s.spatial = spatialWeight(im.width, im.height, count, compactness)
	s.frame(im.width, im.height)
	s.regions = grown(s.regions, len(s.seeds))
	for k := range s.regions {
		s.regions[k] = region{}
	}
	workers := min(cmp.Or(im.workers, runtime.GOMAXPROCS(0)), len(s.tiles))
	for len(s.queues) < workers {
		s.queues = append(s.queues, queue{})
	}
	s.next.Store(0)
	if workers == 1 {
		s.work(im, 0)
	} else {
		parallel(workers, func(w int) { s.work(im, w) })
	}
	s.finish(im, &s.queues[0])
	release(&s.pixels)
	return len(s.seeds)
}

// work has a worker convert and grow tiles until there are no more.
func (s *snic) work(im *segmented, worker int) {
	q := &s.queues[worker]
	for k := int(s.next.Add(1)) - 1; k < len(s.tiles); k = int(s.next.Add(1)) - 1 {
		t := &s.tiles[k]
		s.load(im, t)
		q.reset()
		for i, p := range t.seeds {
			q.push(distanceKey(keyBias), makeWaiting(p.X+1, p.Y+1, int32(t.first+i)))
		}
		s.grow(im, q, t.Rectangle, tileKey)
		t.left = t.left[:0]
		for q.waits() || q.seek() {
			// Of a pixel's entries only that with the lowest key will ever count.
			if w := q.pop(); q.key == s.pixels[w.at(s.stride)].best() {
				t.left = append(t.left, later{q.key, w})
			}
		}
	}
}

// finish grows what the tiles left, over their borders, too.
func (s *snic) finish(im *segmented, all *queue) {
	all.reset()
	for k := range s.tiles {
		for _, l := range s.tiles[k].left {
			all.push(l.key, l.waiting)
		}
	}
	for k := range s.tiles {
		t := &s.tiles[k]
		if x := t.Max.X; x < im.width {
			for y := t.Min.Y; y < t.Max.Y; y++ {
				s.meet(im, all, image.Pt(x-1, y), image.Pt(x, y))
				s.meet(im, all, image.Pt(x, y), image.Pt(x-1, y))
			}
		}
		if y := t.Max.Y; y < im.height {
			for x := t.Min.X; x < t.Max.X; x++ {
				s.meet(im, all, image.Pt(x, y-1), image.Pt(x, y))
				s.meet(im, all, image.Pt(x, y), image.Pt(x, y-1))
			}
		}
	}
	s.grow(im, all, image.Rect(0, 0, im.width, im.height), keyCount)
}

// meet queues to for the region of its neighbour from, if that has one and to has none.
func (s *snic) meet(im *segmented, q *queue, from, to image.Point) {
	at := func(p image.Point) *pixel { return &s.pixels[uint32(p.Y+1)*s.stride+uint32(p.X+1)] }
	p := at(to)
	if at(from).best() != settled || p.best() == settled {
		return
	}
	label := im.labels[from.Y*im.width+from.X]
	if label == Unseen {
		return
	}
	r := &s.regions[label]
	dx, dy := r.to(uint32(to.X+1), uint32(to.Y+1))
	far := float32(s.spatial*(float32(dx*dx)+float32(dy*dy))) + keyBias
	if key := p.key(r.mean(), far); key < p.best() {
		*p = p.under(key)
		q.push(key, makeWaiting(to.X+1, to.Y+1, label))
	}
}

// parallel calls do(0…n−1) at once, the last on this goroutine, and returns when all have
// returned. If one panics so does it then, with a *Panic.
func parallel(n int, do func(i int)) {
	var others sync.WaitGroup
	panics := make([]*Panic, n)
	one := func(i int) {
		defer func() {
			if v := recover(); v != nil {
				panics[i] = &Panic{Value: v, Stack: debug.Stack()}
			}
		}()
		do(i)
	}
	for i := range n - 1 {
		others.Go(func() { one(i) })
	}
	one(n - 1)
	others.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

// plan sets seeds and divides them and the image into tiles.
func (s *snic) plan(width, height, count int, fine []Region, hidden []image.Rectangle) {
	s.seed(width, height, count, fine, hidden)
	down := seedRows(width, height, count)
	tiles := func(side, seeds int) int {
		return max(1, min(int(math.Round(float64(side)/tileSide)), seeds/leastAcross))
	}
	s.cols, s.rows = tiles(width, count/down), tiles(height, down)
	s.tiles = slices.Grow(s.tiles[:0], s.cols*s.rows)[:s.cols*s.rows] // with what was left in each before
	for k := range s.tiles {
		c, r := k%s.cols, k/s.cols
		s.tiles[k] = tile{
			Rectangle: image.Rect(c*width/s.cols, r*height/s.rows, (c+1)*width/s.cols, (r+1)*height/s.rows),
			left:      s.tiles[k].left,
		}
	}
	// Sorted by tile, each tile's in the order they were set.
	for _, p := range s.seeds {
		s.tiles[s.tileOf(p, width, height)].first++
	}
	s.sorted = grown(s.sorted, len(s.seeds))
	first := 0
	for k := range s.tiles {
		t := &s.tiles[k]
		n := t.first
		t.first, t.seeds = first, s.sorted[first:first:first+n]
		first += n
	}
	for _, p := range s.seeds {
		t := &s.tiles[s.tileOf(p, width, height)]
		t.seeds = append(t.seeds, p)
	}
}

// tileOf is the place of the tile that holds a pixel.
func (s *snic) tileOf(p image.Point, width, height int) int {
	within := func(at, side, n int) int {
		k := at * n / side
		if at >= (k+1)*side/n { // rounding put it one too far
			k++
		}
		return k
	}
	return within(p.Y, height, s.rows)*s.cols + within(p.X, width, s.cols)
}

// spatialWeight makes squared distances |Δlab|² + m²/S²·|Δxy|² in LabUnits, with S²
// the mean area: the paper's, both sides multiplied by m².
func spatialWeight(width, height, count int, compactness float64) float32 {
	return float32(LabUnit * LabUnit * compactness * compactness * float64(count) / (float64(width) * float64(height)))
}

// frame makes room for the image inside a frame of settled pixels, so that growing needs no
// bounds of its own there.
func (s *snic) frame(width, height int) {
	s.stride = uint32(width + 2)
	s.pixels = buffers.Get[pixel]((width + 2) * (height + 2))
	clear(s.pixels[:width+2])
	clear(s.pixels[(height+1)*(width+2):])
	for y := range height {
		row := s.pixels[(y+1)*(width+2):][:width+2]
		row[0], row[width+1] = 0, 0
	}
}

// load converts a tile to CIELAB.
func (s *snic) load(im *segmented, t *tile) {
	width := t.Dx()
	for y := t.Min.Y; y < t.Max.Y; y++ {
		at := y*im.width + t.Min.X
		src, out := im.bgr[y*im.stride+3*t.Min.X:][:3*width], im.pixels[3*at:][:3*width]
		dst := s.pixels[(y+1)*int(s.stride)+t.Min.X+1:][:width]
		lab.row(out, dst, src)
	}
	for _, h := range im.hidden {
		h = h.Intersect(t.Rectangle)
		for y := h.Min.Y; y < h.Max.Y; y++ {
			clear(s.pixels[(y+1)*int(s.stride)+h.Min.X+1:][:h.Dx()])
		}
	}
}

// seed sets seeds on distinct pixels, exactly count if nothing is to be finer: in rows
// about as far apart as the seeds in a row are, some rows having one seed more than
// others so that the total comes out exact whatever the size. What is to be finer has
// seeds of its own instead; it is all in the image. What is hidden has none.
func (s *snic) seed(width, height, count int, fine []Region, hidden []image.Rectangle) {
	s.seeds = s.seeds[:0]
	rows := seedRows(width, height, count)
	for r := range rows {
		n := count*(r+1)/rows - count*r/rows
		y := (2*r + 1) * height / (2 * rows)
		for c := range n {
			s.addSeed(image.Pt((2*c+1)*width/(2*n), y), fine, hidden)
		}
	}
	for k, f := range fine {
		cols, rows := f.grid()
		for r := range rows {
			for c := range cols {
				s.addSeed(f.Min.Add(image.Pt((2*c+1)*f.Dx()/(2*cols), (2*r+1)*f.Dy()/(2*rows))), fine[:k], hidden)
			}
		}
	}
}

// addSeed sets a seed unless it lies in a region or is hidden.
func (s *snic) addSeed(at image.Point, but []Region, hidden []image.Rectangle) {
	for _, f := range but {
		if at.In(f.Rectangle) {
			return
		}
	}
	for _, h := range hidden {
		if at.In(h) {
			return
		}
	}
	s.seeds = append(s.seeds, at)
}

// seedRows chooses how many rows the seeds stand in.
func seedRows(width, height, count int) int {
	rows := int(math.Round(math.Sqrt(float64(count) * float64(height) / float64(width))))
	least := (count + width - 1) / width // a row holds at most width seeds
	return min(max(rows, least, 1), height, count)
}

// grown returns s with length n, reallocated only if it is too short. Its
// contents are unspecified.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
