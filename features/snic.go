package features

import (
	"cmp"
	"image"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// pixel is what growing needs to know of one pixel, in eight bytes for the cache.
type pixel struct {
	l, a, b int16 // CIELAB, LabUnit to one
	// best is the lowest key this pixel waits under, or settled, or unseen.
	best uint16
}

// colour is a region's mean colour, in LabUnits.
type colour struct{ l, a, b int32 }

// key is the queue's key for a pixel at a squared distance of far (in position,
// scaled to match colours, keyBias included) from a region of colour c. Explicit
// conversions keep the compiler from fusing operations, which would make results
// depend on the machine.
func (p *pixel) key(c colour, far float32) uint32 {
	l, a, b := int32(p.l)-c.l, int32(p.a)-c.a, int32(p.b)-c.b
	return distanceKey(float32(l*l+a*a+b*b) + far)
}

// region is a growing superpixel: the running mean of its pixels.
type region struct {
	l, a, b, x, y float32
	share         float32 // of the next pixel in the mean
	n             float32
}

// mean is the region's colour.
func (r *region) mean() colour { return colour{int32(r.l), int32(r.a), int32(r.b)} }

// add takes a pixel at (x, y) into the mean.
func (r *region) add(p *pixel, x, y float32) {
	r.l += float32((float32(p.l) - r.l) * r.share)
	r.a += float32((float32(p.a) - r.a) * r.share)
	r.b += float32((float32(p.b) - r.b) * r.share)
	r.x += float32((x - r.x) * r.share)
	r.y += float32((y - r.y) * r.share)
	r.n++
	r.share = 1 / (r.n + 1)
}

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
	pixels  []pixel // (height+2)×(width+2), framed by settled pixels
	stride  uint32  // width+2
	regions []region
	spatial float32

	seeds, sorted []image.Point
	cols, rows    int
	tiles         []tile
	next          atomic.Int32 // tile that nobody grows yet
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
		s.regions[k] = region{share: 1}
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
			q.push(distanceKey(keyBias), waiting{uint16(p.X + 1), uint16(p.Y + 1), int32(t.first + i)})
		}
		s.grow(im, q, t.Rectangle, tileKey)
		t.left = t.left[:0]
		for q.waits() || q.seek() {
			// Of a pixel's entries only that with the lowest key will ever count.
			if w := q.pop(); q.key == uint32(s.pixels[uint32(w.y)*s.stride+uint32(w.x)].best) {
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
	if at(from).best != settled || p.best == settled {
		return
	}
	label := im.labels[from.Y*im.width+from.X]
	if label == Unseen {
		return
	}
	r := &s.regions[label]
	dx, dy := float32(to.X+1)-r.x, float32(to.Y+1)-r.y
	far := float32(s.spatial*(float32(dx*dx)+float32(dy*dy))) + keyBias
	if key := p.key(r.mean(), far); key < uint32(p.best) {
		p.best = uint16(key)
		q.push(key, waiting{uint16(to.X + 1), uint16(to.Y + 1), label})
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
	if n := s.cols * s.rows; len(s.tiles) != n {
		s.tiles = make([]tile, n)
	}
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
	s.pixels = grown(s.pixels, (width+2)*(height+2))
	clear(s.pixels[:width+2])
	clear(s.pixels[(height+1)*(width+2):])
	for y := range height {
		row := s.pixels[(y+1)*(width+2):][:width+2]
		row[0], row[width+1] = pixel{}, pixel{}
	}
}

// load converts a tile to CIELAB.
func (s *snic) load(im *segmented, t *tile) {
	width := t.Dx()
	for y := t.Min.Y; y < t.Max.Y; y++ {
		at := y*im.width + t.Min.X
		src, out := im.bgr[y*im.stride+3*t.Min.X:][:3*width], im.pixels[3*at:][:3*width]
		dst := s.pixels[(y+1)*int(s.stride)+t.Min.X+1:][:width]
		for x := range dst {
			p := src[3*x:][:3:3]
			l, a, b := lab.at(p[0], p[1], p[2])
			dst[x] = pixel{l, a, b, unseen}
			q := out[3*x:][:3:3]
			q[0], q[1], q[2] = l, a, b
		}
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

// grow settles the nearest waiting pixel, and queues its neighbours within bounds, until none
// waits under a key below until. The neighbours are written out because this is where the
// time goes.
//
// A neighbour is queued only if its key is lower than the lowest it waits under:
// any other entry's turn would come when the pixel is settled.
func (s *snic) grow(im *segmented, q *queue, bounds image.Rectangle, until uint32) {
	stride, spatial := s.stride, s.spatial
	pixels, regions, labels, width := s.pixels, s.regions, im.labels, im.width
	// The outermost pixels, counted from 1.
	x0, x1, y0, y1 := uint16(bounds.Min.X+1), uint16(bounds.Max.X), uint16(bounds.Min.Y+1), uint16(bounds.Max.Y)
	for q.waits() || q.seek() {
		if q.key >= until {
			return
		}
		w := q.pop()
		at := uint32(w.y)*stride + uint32(w.x)
		p := &pixels[at]
		if p.best == settled {
			continue
		}
		p.best = settled
		labels[int(w.y-1)*width+int(w.x-1)] = w.label

		r := &regions[w.label]
		x, y := float32(int32(w.x)), float32(int32(w.y))
		r.add(p, x, y)
		mean := r.mean()
		dx, dy := x-r.x, y-r.y
		// (dx±1)² + dy² and dx² + (dy±1)²
		far := float32(spatial*(float32(dx*dx)+float32(dy*dy)+1)) + keyBias
		dx, dy = float32(2*spatial*dx), float32(2*spatial*dy)

		west, east, north, south := &pixels[at-1], &pixels[at+1], &pixels[at-stride], &pixels[at+stride]
		if w.x > x0 && west.best != settled {
			if k := west.key(mean, far-dx); k < uint32(west.best) {
				west.best = uint16(k)
				q.push(k, waiting{w.x - 1, w.y, w.label})
			}
		}
		if w.x < x1 && east.best != settled {
			if k := east.key(mean, far+dx); k < uint32(east.best) {
				east.best = uint16(k)
				q.push(k, waiting{w.x + 1, w.y, w.label})
			}
		}
		if w.y > y0 && north.best != settled {
			if k := north.key(mean, far-dy); k < uint32(north.best) {
				north.best = uint16(k)
				q.push(k, waiting{w.x, w.y - 1, w.label})
			}
		}
		if w.y < y1 && south.best != settled {
			if k := south.key(mean, far+dy); k < uint32(south.best) {
				south.best = uint16(k)
				q.push(k, waiting{w.x, w.y + 1, w.label})
			}
		}
	}
}

// grown returns s with length n, reallocated only if it is too short. Its
// contents are unspecified.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
