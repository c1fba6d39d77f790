package features

import (
	"math"
	"math/bits"
)

const (
	// keyShift leaves six bits of mantissa in a queue key: neighbouring keys differ
	// by 0.8 to 1.6 % of the squared distance. Finer keys change J on DAVIS by less
	// than 0.001 and cost cache.
	keyShift = 17
	// keyBias is added to a squared distance before it is quantised, so that the
	// keys are linear below it and logarithmic above: differences much below one
	// unit of Lab squared are noise.
	keyBias = 1.0 / 16
	// labelled is the key of a pixel that has its label; queue keys start at 1.
	labelled = 0
	unseen   = math.MaxUint32
	// none ends a list of nodes.
	none = -1
)

var (
	keyBase = math.Float32bits(keyBias)>>keyShift - 1
	// bucketCount covers every key up to that of +Inf.
	bucketCount = math.Float32bits(float32(math.Inf(1)))>>keyShift - keyBase + 1
)

// distanceKey quantises a squared distance, monotonously.
func distanceKey(d float32) uint32 { return math.Float32bits(d+keyBias)>>keyShift - keyBase }

// pixel is what growing needs to know of one pixel, in one place for the cache.
type pixel struct {
	l, a, b float32
	// best is the lowest key this pixel waits under, labelled once it is settled.
	best uint32
}

// region is a growing superpixel: the running mean of its pixels.
type region struct {
	l, a, b, x, y float32
	n             float32
}

// node is a pixel waiting to join a region.
type node struct {
	at    int32 // index into snic.pixels
	label int32
	x, y  uint16
	next  int32
}

// bucket is a first-in-first-out list of nodes with the same key.
type bucket struct{ head, tail int32 }

// snic is the workspace of the segmentation. The zero value is ready.
type snic struct {
	pixels  []pixel // (height+2)×(width+2), framed by labelled pixels
	regions []region
	nodes   []node
	buckets []bucket
	filled  []uint64 // one bit a bucket: not empty
}

// segment grows count superpixels over a BGR24 image and writes their indices to
// labels (height×width). count is in 1…width·height and is what comes out.
func (s *snic) segment(labels []int32, bgr []byte, width, height, count int, compactness float64) {
	s.load(bgr, width, height)
	s.seed(width, height, count)
	// Distances are |Δlab|² + m²/S²·|Δxy|², S² being the mean area: the paper's with
	// both sides multiplied by m², which leaves the colour in Lab units.
	spatial := compactness * compactness * float64(count) / (float64(width) * float64(height))
	s.grow(labels, width, height, float32(spatial))
}

// load converts the image to CIELAB inside a frame of settled pixels, so that
// growing needs no bounds of its own.
func (s *snic) load(bgr []byte, width, height int) {
	stride := width + 2
	s.pixels = grown(s.pixels, stride*(height+2))
	frame := pixel{best: labelled}
	for i := range stride {
		s.pixels[i] = frame
		s.pixels[(height+1)*stride+i] = frame
	}
	for y := range height {
		row := s.pixels[(y+1)*stride:][:stride]
		row[0], row[width+1] = frame, frame
		src := bgr[3*y*width:][:3*width]
		dst := row[1 : width+1]
		for x := range dst {
			p := src[3*x:][:3:3]
			l, a, b := lab.at(p[0], p[1], p[2])
			dst[x] = pixel{l, a, b, unseen}
		}
	}
}

// seed queues exactly count seeds on distinct pixels: rows about as far apart as
// the seeds in a row, which take turns in having one seed more so that the total
// comes out exact for any count.
func (s *snic) seed(width, height, count int) {
	if s.buckets == nil {
		s.buckets = make([]bucket, bucketCount+1)
		s.filled = make([]uint64, (bucketCount+64)/64)
	}
	for i := range s.buckets {
		s.buckets[i] = bucket{none, none}
	}
	clear(s.filled)
	s.nodes = s.nodes[:0]
	s.regions = grown(s.regions, count)
	clear(s.regions)

	rows := seedRows(width, height, count)
	k := int32(0)
	for r := range rows {
		n := count*(r+1)/rows - count*r/rows
		y := (2*r + 1) * height / (2 * rows)
		for c := range n {
			x := (2*c + 1) * width / (2 * n)
			s.nodes = append(s.nodes, node{int32((y+1)*(width+2) + x + 1), k, uint16(x), uint16(y), k + 1})
			k++
		}
	}
	s.nodes[k-1].next = none
	s.buckets[1] = bucket{0, k - 1}
	s.filled[0] = 1 << 1
}

// seedRows chooses how many rows the seeds stand in.
func seedRows(width, height, count int) int {
	rows := int(math.Round(math.Sqrt(float64(count) * float64(height) / float64(width))))
	least := (count + width - 1) / width // a row holds at most width seeds
	return min(max(rows, least, 1), height, count)
}

// grow settles the nearest waiting pixel until none is left. It is one function
// because everything in it runs once a pixel or more.
func (s *snic) grow(labels []int32, width, height int, spatial float32) {
	stride := int32(width + 2)
	steps := [4]struct {
		at     int32
		dx, dy int32
	}{{-1, -1, 0}, {1, 1, 0}, {-stride, 0, -1}, {stride, 0, 1}}
	pixels, regions, buckets, filled := s.pixels, s.regions, s.buckets, s.filled
	nodes := s.nodes
	free := int32(none)
	key := uint32(1) // no bucket below it holds anything
	for left := width * height; left > 0; {
		// The lowest filled bucket.
		word := key / 64
		set := filled[word] >> (key % 64)
		if set != 0 {
			key += uint32(bits.TrailingZeros64(set))
		} else {
			for word++; filled[word] == 0; word++ {
			}
			key = word*64 + uint32(bits.TrailingZeros64(filled[word]))
		}
		q := &buckets[key]
		id := q.head
		n := &nodes[id]
		at, label, x, y := n.at, n.label, n.x, n.y
		q.head = n.next
		if q.head == none {
			filled[key/64] &^= 1 << (key % 64)
		}
		n.next = free
		free = id

		p := &pixels[at]
		if p.best == labelled {
			continue
		}
		p.best = labelled
		labels[int(y)*width+int(x)] = label
		left--

		r := &regions[label]
		r.n++
		share := 1 / r.n
		fx, fy := float32(x), float32(y)
		r.l += (p.l - r.l) * share
		r.a += (p.a - r.a) * share
		r.b += (p.b - r.b) * share
		r.x += (fx - r.x) * share
		r.y += (fy - r.y) * share
		ml, ma, mb, mx, my := r.l, r.a, r.b, r.x, r.y

		for i := range steps {
			st := &steps[i]
			t := &pixels[at+st.at]
			if t.best == labelled {
				continue
			}
			dl, da, db := t.l-ml, t.a-ma, t.b-mb
			dx, dy := fx+float32(st.dx)-mx, fy+float32(st.dy)-my
			k := distanceKey(dl*dl + da*da + db*db + spatial*(dx*dx+dy*dy))
			// A pixel that waits under this key or a lower one will be settled before
			// this entry's turn comes, so the entry would change nothing.
			if k >= t.best {
				continue
			}
			t.best = k
			id := free
			if id != none {
				free = nodes[id].next
			} else {
				id = int32(len(nodes))
				nodes = append(nodes, node{})
			}
			nodes[id] = node{at + st.at, label, uint16(int32(x) + st.dx), uint16(int32(y) + st.dy), none}
			b := &buckets[k]
			if filled[k/64]&(1<<(k%64)) == 0 {
				filled[k/64] |= 1 << (k % 64)
				b.head = id
				key = min(key, k)
			} else {
				nodes[b.tail].next = id
			}
			b.tail = id
		}
	}
	s.nodes = nodes
}

// grown returns s with length n, reallocated only if it is too short. Its
// contents are unspecified.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
