package features

import "image"

// pixel is what growing needs to know of one pixel: l, a and b in LabUnits, and the lowest key it
// waits under, or settled, or unseen; 16 bits each, from the lowest on. It is read and written as a
// whole: of what was just written in part a processor would have to wait for the whole.
type pixel uint64

func makePixel(l, a, b int16, best uint16) pixel {
	return pixel(uint16(l)) | pixel(uint16(a))<<16 | pixel(uint16(b))<<32 | pixel(best)<<48
}

func (p pixel) lab() (l, a, b int16) { return int16(p), int16(p >> 16), int16(p >> 32) }

func (p pixel) best() uint32 { return uint32(p >> 48) }

// under is p with another best.
func (p pixel) under(best uint32) pixel { return p&(1<<48-1) | pixel(best)<<48 }

// colour is a region's mean colour, in LabUnits.
type colour struct{ l, a, b int32 }

// key is the queue's key for a pixel at a squared distance of far (in position,
// scaled to match colours, keyBias included) from a region of colour c.
func (p pixel) key(c colour, far float32) uint32 {
	pl, pa, pb := p.lab()
	l, a, b := int32(pl)-c.l, int32(pa)-c.a, int32(pb)-c.b
	return distanceKey(float32(l*l+a*a+b*b) + far)
}

// region is a growing superpixel: sums of its pixels, which are exact up to 2²⁴. Vector code knows
// its layout. Explicit conversions keep the compiler from fusing operations, which would make
// results depend on the machine.
type region struct {
	l, a, b, n float32 // in LabUnits
	x, y, _    float32 // counted from 1
	share      float32 // 1/n
}

// add takes a pixel at (x, y) into the region.
func (r *region) add(p pixel, x, y uint32) {
	l, a, b := p.lab()
	r.l += float32(l)
	r.a += float32(a)
	r.b += float32(b)
	r.x += float32(int32(x))
	r.y += float32(int32(y))
	r.n++
	r.share = 1 / r.n
}

// mean is the region's colour.
func (r *region) mean() colour {
	return colour{int32(r.l * r.share), int32(r.a * r.share), int32(r.b * r.share)}
}

// to is how far (x, y) lies from the region's centroid.
func (r *region) to(x, y uint32) (dx, dy float32) {
	return float32(int32(x)) - float32(r.x*r.share), float32(int32(y)) - float32(r.y*r.share)
}

// growth is what grow works on, for vector code.
type growth struct {
	pixels  *pixel
	regions *region
	labels  *int32
	stride  int // pixels from a row to the next, two more than labels
	spatial float32
	least   uint32 // no key is lower
}

// batch is pixels that are settled together, those inside bounds and those at their border, and
// the neighbours to be queued. Vector code writes up to three more of these than there are.
type batch struct {
	inner, outer [chunkSize]waiting
	keys         [4*chunkSize + 3]uint32
	to           [4*chunkSize + 3]waiting
}

// steps lead west, east, north and south.
var steps = [4]waiting{^waiting(0), 1, ^waiting(1<<16 - 1), 1 << 16}

// grow settles the nearest waiting pixels, and queues their neighbours within bounds, until none
// waits under a key below until.
//
// This is where the time goes: a processor that takes pixels one by one guesses wrong about almost
// every one, and waits for its memory. So what waits under one key is settled together, a chunk
// of the queue at a time: first all pixels are looked up, then their regions get them, then all of
// their neighbours are looked at. Keys do not fall, so that there is much under each: what is
// nearer than the pixel it is reached from waits under that one's key.
//
// A neighbour is queued only if its key is lower than the lowest it waits under:
// any other entry's turn would come when the pixel is settled.
func (s *snic) grow(im *segmented, q *queue, bounds image.Rectangle, until uint32) {
	if len(s.regions) == 0 { // nothing of the image is to be seen
		return
	}
	stride, pixels, b := s.stride, s.pixels, &q.batch
	g := growth{pixels: &pixels[0], regions: &s.regions[0], labels: &im.labels[0], stride: int(stride), spatial: s.spatial}
	// The outermost pixels, counted from 1, and how many lie between them.
	x0, y0 := uint32(bounds.Min.X+1), uint32(bounds.Min.Y+1)
	wide, high := uint32(bounds.Dx()-2), uint32(bounds.Dy()-2)
	for q.waits() || q.seek() {
		if q.key >= until {
			return
		}
		g.least = q.key
		inner, outer := 0, 0
		for _, w := range q.take() {
			x, y := w.x(), w.y()
			p := &pixels[y*stride+x]
			best := p.best()
			*p = p.under(settled)
			if x-x0-1 < wide && y-y0-1 < high {
				b.inner[inner%chunkSize] = w
				inner += int(-best >> 31) // 1 but for a pixel that is settled
			} else if best != settled {
				b.outer[outer%chunkSize] = w
				outer++
			}
		}
		s.join(&g, im, b.inner[:inner])
		s.join(&g, im, b.outer[:outer])
		n := s.reach(&g, b, b.inner[:inner])
		n = s.reachInside(&g, b, n, b.outer[:outer], bounds)
		for i, to := range b.to[:n] {
			p, key := &pixels[to.at(stride)], b.keys[i]
			if key < p.best() {
				*p = p.under(key)
				q.push(key, to)
			}
		}
	}
}

// join takes settled pixels into their regions.
func (s *snic) join(g *growth, im *segmented, settled []waiting) {
	if len(settled) == 0 {
		return
	}
	if vector {
		joinVector(g, &settled[0], len(settled))
		return
	}
	for _, w := range settled {
		im.labels[int(w.y()-1)*im.width+int(w.x()-1)] = w.label()
		s.regions[w.label()].add(s.pixels[w.at(s.stride)], w.x(), w.y())
	}
}

// reach sets b.keys and b.to to those neighbours of settled pixels that may have to be queued, and
// returns how many there are.
func (s *snic) reach(g *growth, b *batch, settled []waiting) (n int) {
	if vector && len(settled) > 0 {
		return reachVector(g, &settled[0], len(settled), &b.keys[0], &b.to[0])
	}
	return s.reachInside(g, b, 0, settled, image.Rect(-1, -1, maxSide+1, maxSide+1))
}

// reachInside is reach for neighbours within bounds, behind the first n.
func (s *snic) reachInside(g *growth, b *batch, n int, settled []waiting, bounds image.Rectangle) int {
	for _, w := range settled {
		r := &s.regions[w.label()]
		mean := r.mean()
		dx, dy := r.to(w.x(), w.y())
		// (dx±1)² + dy² and dx² + (dy±1)²
		far := float32(g.spatial*(float32(dx*dx)+float32(dy*dy)+1)) + keyBias
		dx, dy = float32(2*g.spatial*dx), float32(2*g.spatial*dy)
		for i, far := range [4]float32{far - dx, far + dx, far - dy, far + dy} {
			to := w + steps[i]
			if !image.Pt(int(to.x())-1, int(to.y())-1).In(bounds) { // another goroutine's
				continue
			}
			p := s.pixels[to.at(s.stride)]
			if key := max(p.key(mean, far), g.least); key < p.best() {
				b.keys[n], b.to[n] = key, to
				n++
			}
		}
	}
	return n
}
