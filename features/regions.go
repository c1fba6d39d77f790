package features

import (
	"image"
	"math"
)

// run is a horizontal run of pixels with one label: row y, columns x0…x1−1.
type run struct{ y, x0, x1, label int32 }

// none ends a list of links.
const none = -1

// link is an edge being counted, in the list of its smaller end.
type link struct {
	j, next int32
	length  int32
}

// sums accumulates one superpixel.
type sums struct {
	l, a, b int64 // in LabUnits
	x, y    int64 // x doubled
	n       int32
}

// regionStats is the workspace of measure. The zero value is ready.
type regionStats struct {
	sums  []sums
	runs  []run // by label, then in scan order
	scan  []run // in scan order
	start []int32
	first []int32 // head of each superpixel's list of links
	links []link
}

// measure appends area, mean colour, centroid and edges of a patch's superpixels to dst, sets
// the patch's boxes, and leaves the runs of the k-th of them, in the patch's pixels, in
// s.runs[s.start[k]:s.start[k+1]]. The patch's labels, which count from 0, become those of the
// scene.
func (s *regionStats) measure(dst *Scene, p *Patch) {
	s.sums = grown(s.sums, p.N)
	clear(s.sums)
	s.first = grown(s.first, p.N)
	for i := range s.first {
		s.first[i] = none
	}
	s.links, s.scan = s.links[:0], s.scan[:0]

	w := p.Cols
	for y := range p.Rows {
		row := p.Labels[y*w:][:w]
		s.scanRow(row, p.Pixels[colours*y*w:][:colours*w], int32(y))
		if y > 0 {
			s.border(p.Labels[(y-1)*w:][:w], row)
		}
	}
	s.sortRuns(p.N)
	s.write(dst, p)
	if p.First > 0 {
		for i, l := range p.Labels {
			if l != Unseen {
				p.Labels[i] = l + int32(p.First)
			}
		}
	}
}

// scanRow adds a row's runs to the sums, to s.scan and to the links.
func (s *regionStats) scanRow(row []int32, pixels []int16, y int32) {
	for x := 0; x < len(row); {
		label, x0 := row[x], x
		var l, a, b int64
		for ; x < len(row) && row[x] == label; x++ {
			p := pixels[colours*x:][:colours:colours]
			l += int64(p[0])
			a += int64(p[1])
			b += int64(p[2])
		}
		if label == Unseen {
			continue
		}
		n := x - x0
		t := &s.sums[label]
		t.l += l
		t.a += a
		t.b += b
		t.x += int64(x0+x-1) * int64(n) // twice the sum of x0…x−1
		t.y += int64(y) * int64(n)
		t.n += int32(n)
		s.scan = append(s.scan, run{y, int32(x0), int32(x), label})
		if x0 > 0 && row[x0-1] != Unseen {
			s.touch(row[x0-1], label, 1)
		}
	}
}

// border counts the pixel pairs between two rows.
func (s *regionStats) border(above, below []int32) {
	below = below[:len(above)]
	for x := 0; x < len(above); {
		i, j := above[x], below[x]
		if i == j {
			x++
			continue
		}
		x0 := x
		for x++; x < len(above) && above[x] == i && below[x] == j; x++ {
		}
		if i != Unseen && j != Unseen {
			s.touch(i, j, int32(x-x0))
		}
	}
}

// touch adds n pixel pairs to the edge between i and j. Lists are short (a
// superpixel has about six neighbours, three of them larger) and kept sorted.
func (s *regionStats) touch(i, j, n int32) {
	if i > j {
		i, j = j, i
	}
	at := &s.first[i]
	for *at != none && s.links[*at].j < j {
		at = &s.links[*at].next
	}
	if *at != none && s.links[*at].j == j {
		s.links[*at].length += n
		return
	}
	l := link{j, *at, n}
	*at = int32(len(s.links)) // before append, which may move what at points into
	s.links = append(s.links, l)
}

// sortRuns orders the runs by label, a counting sort that keeps the scan order.
func (s *regionStats) sortRuns(n int) {
	s.start = grown(s.start, n+2)
	clear(s.start)
	// Counts go two places up, so that after the scatter start[k] is where k begins.
	for i := range s.scan {
		s.start[s.scan[i].label+2]++
	}
	for k := 2; k < n+2; k++ {
		s.start[k] += s.start[k-1]
	}
	s.runs = grown(s.runs, len(s.scan))
	for i := range s.scan {
		r := s.scan[i]
		at := &s.start[r.label+1]
		s.runs[*at] = r
		*at++
	}
}

// write appends sums as means and links as edges, in pixels of the image.
func (s *regionStats) write(dst *Scene, p *Patch) {
	side := float64(p.Shrink)
	// Where the middle of the patch's pixel (0, 0) lies.
	x0, y0 := float64(p.Min.X)+(side-1)/2, float64(p.Min.Y)+(side-1)/2
	p.Boxes = grown(p.Boxes, p.N)
	for k := range s.sums {
		p.Boxes[k] = box(s.runs[s.start[k]:s.start[k+1]])
		t := &s.sums[k]
		share := 1 / float64(t.n)
		dst.Area = append(dst.Area, t.n*int32(p.Shrink*p.Shrink))
		dst.Lab = append(dst.Lab, float32(float64(t.l)/LabUnit*share), float32(float64(t.a)/LabUnit*share), float32(float64(t.b)/LabUnit*share))
		dst.Centroid = append(dst.Centroid, float32(x0+side*float64(t.x)/2*share), float32(y0+side*float64(t.y)*share))
	}
	for i, at := range s.first {
		for i += p.First; at != none; at = s.links[at].next {
			l := &s.links[at]
			j := int(l.j) + p.First
			dst.Edges = append(dst.Edges, Edge{int32(i), int32(j), float32(side * float64(l.length)), labDistance(dst.Lab, i, j)})
		}
	}
}

// box is what a superpixel's runs, of which there is one at least, lie in.
func box(runs []run) image.Rectangle {
	x0, x1 := runs[0].x0, runs[0].x1
	for _, r := range runs[1:] {
		x0, x1 = min(x0, r.x0), max(x1, r.x1)
	}
	return image.Rect(int(x0), int(runs[0].y), int(x1), int(runs[len(runs)-1].y)+1)
}

// labDistance is the distance between rows i and j of an N×3 table of colours.
func labDistance(lab []float32, i, j int) float32 {
	p, q := lab[3*i:][:3], lab[3*j:][:3]
	dl, da, db := p[0]-q[0], p[1]-q[1], p[2]-q[2]
	return float32(math.Sqrt(float64(dl*dl + da*da + db*db)))
}
