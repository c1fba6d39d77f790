package features

import (
	"image"
	"math"
	"unsafe"
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

// snic is the workspace of the segmentation. The zero value is ready.
type snic struct {
	pixels  []pixel // (height+2)×(width+2), framed by settled pixels
	regions []region
	queue   queue
}

// segment grows superpixels over a BGR24 image, writes their indices to labels
// (height×width) and returns how many there are: count, which is in 1…width·height, if
// nothing is to be finer.
func (s *snic) segment(labels []int32, bgr []byte, width, height, count int, compactness float64, fine []Region) int {
	s.load(bgr, width, height)
	s.seed(width, height, count, fine)
	s.grow(labels, width, height, spatialWeight(width, height, count, compactness))
	return len(s.regions)
}

// spatialWeight makes squared distances |Δlab|² + m²/S²·|Δxy|² in LabUnits, with S²
// the mean area: the paper's, both sides multiplied by m².
func spatialWeight(width, height, count int, compactness float64) float32 {
	return float32(LabUnit * LabUnit * compactness * compactness * float64(count) / (float64(width) * float64(height)))
}

// load converts the image to CIELAB inside a frame of settled pixels, so that
// growing needs no bounds of its own.
func (s *snic) load(bgr []byte, width, height int) {
	stride := width + 2
	s.pixels = grown(s.pixels, stride*(height+2))
	clear(s.pixels[:stride])
	clear(s.pixels[(height+1)*stride:])
	for y := range height {
		row := s.pixels[(y+1)*stride:][:stride]
		row[0], row[width+1] = pixel{}, pixel{}
		src := bgr[3*y*width:][:3*width]
		dst := row[1 : width+1]
		for x := range dst {
			p := src[3*x:][:3:3]
			l, a, b := lab.at(p[0], p[1], p[2])
			dst[x] = pixel{l, a, b, unseen}
		}
	}
}

// seed queues seeds on distinct pixels, exactly count if nothing is to be finer: in rows
// about as far apart as the seeds in a row are, some rows having one seed more than
// others so that the total comes out exact whatever the size. What is to be finer has
// seeds of its own instead; it is all in the image.
func (s *snic) seed(width, height, count int, fine []Region) {
	s.queue.reset()
	s.regions = s.regions[:0]
	rows := seedRows(width, height, count)
	for r := range rows {
		n := count*(r+1)/rows - count*r/rows
		y := (2*r + 1) * height / (2 * rows)
		for c := range n {
			s.addSeed(image.Pt((2*c+1)*width/(2*n), y), fine)
		}
	}
	for k, f := range fine {
		cols, rows := f.grid()
		for r := range rows {
			for c := range cols {
				s.addSeed(f.Min.Add(image.Pt((2*c+1)*f.Dx()/(2*cols), (2*r+1)*f.Dy()/(2*rows))), fine[:k])
			}
		}
	}
}

// addSeed queues a seed unless it lies in a region.
func (s *snic) addSeed(at image.Point, but []Region) {
	for _, f := range but {
		if at.In(f.Rectangle) {
			return
		}
	}
	s.queue.push(distanceKey(keyBias), waiting{uint16(at.X + 1), uint16(at.Y + 1), int32(len(s.regions))})
	s.regions = append(s.regions, region{share: 1})
}

// seedRows chooses how many rows the seeds stand in.
func seedRows(width, height, count int) int {
	rows := int(math.Round(math.Sqrt(float64(count) * float64(height) / float64(width))))
	least := (count + width - 1) / width // a row holds at most width seeds
	return min(max(rows, least, 1), height, count)
}

// grow settles the nearest waiting pixel until all have a label. The neighbours are
// written out because this is where the time goes.
//
// A neighbour is queued only if its key is lower than the lowest it waits under:
// any other entry's turn would come when the pixel is settled.
func (s *snic) grow(labels []int32, width, height int, spatial float32) {
	stride := uint32(width + 2)
	pixels, regions, q := s.pixels, s.regions, &s.queue
	for left := width * height; left > 0; {
		w := q.pop()
		next := q.later()
		ahead := min(int(uint32(next.y)*stride+uint32(next.x)), len(pixels)-1) // later may be of a larger image
		prefetch(&pixels[ahead], uintptr(stride)*unsafe.Sizeof(pixel{}))
		at := uint32(w.y)*stride + uint32(w.x)
		p := &pixels[at]
		if p.best == settled {
			continue
		}
		p.best = settled
		labels[int(w.y-1)*width+int(w.x-1)] = w.label
		left--

		r := &regions[w.label]
		x, y := float32(int32(w.x)), float32(int32(w.y))
		r.add(p, x, y)
		mean := colour{int32(r.l), int32(r.a), int32(r.b)}
		dx, dy := x-r.x, y-r.y
		// (dx±1)² + dy² and dx² + (dy±1)²
		far := float32(spatial*(float32(dx*dx)+float32(dy*dy)+1)) + keyBias
		dx, dy = float32(2*spatial*dx), float32(2*spatial*dy)

		west, east, north, south := &pixels[at-1], &pixels[at+1], &pixels[at-stride], &pixels[at+stride]
		kw, ke := west.key(mean, far-dx), east.key(mean, far+dx)
		kn, ks := north.key(mean, far-dy), south.key(mean, far+dy)
		if kw < uint32(west.best) {
			west.best = uint16(kw)
			q.push(kw, waiting{w.x - 1, w.y, w.label})
		}
		if ke < uint32(east.best) {
			east.best = uint16(ke)
			q.push(ke, waiting{w.x + 1, w.y, w.label})
		}
		if kn < uint32(north.best) {
			north.best = uint16(kn)
			q.push(kn, waiting{w.x, w.y - 1, w.label})
		}
		if ks < uint32(south.best) {
			south.best = uint16(ks)
			q.push(ks, waiting{w.x, w.y + 1, w.label})
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
