package propagation

import (
	"math"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// place is where superpixels are looked for in a reference: within the radius of where the
// asked ones were before they moved by dx, dy.
type place struct {
	asked  []bool // N
	dx, dy float32
}

// search is the workspace of nearest.
type search struct {
	slots   []int32   // of the superpixels that are looked up together
	queries []float32 // their features
	inside  []disc    // boxes×slots
	boxes   []box     // of the places where one of them is looked up
	spans   [][2]int
	cosines []float32
}

// disc is where a superpixel is looked for; without a radius, nowhere.
type disc struct{ x, y, r2 float32 }

// box holds the discs' centres of one place.
type box struct {
	x0, y0, x1, y1 float64
	radius         float64 // the largest
	first, last    int     // cell rows of the reference
}

// Superpixels of one cell of the grid, and together at most, are looked up at once: what
// is near to one is near to all, and products of many by many take half as long as those of
// one. More of them have less in common.
const together = 8

// nearest sets dst, N×k and best first in each row, to the superpixels of ref that resemble
// those of p most, of those within its radius, in pixels, of any of the places where p's are asked
// for; p has N radii. Who is asked for nowhere has none. Cost O(asked·candidates·d).
func (s *search) nearest(dst []cosine.Match, p, ref *picture.Picture, places []place, k int, radii []float64) {
	for i := range dst {
		dst[i] = cosine.None
	}
	d := p.UnitDim()
	s.slots = s.slots[:0]
	col, row := 0, 0
	for slot, i := range p.Grid.Order {
		if !anywhere(places, i) {
			continue
		}
		cx, cy := p.Grid.CellAt(p.Centroid[2*i], p.Centroid[2*i+1])
		if len(s.slots) == together || len(s.slots) > 0 && (cy != row || cx != col) {
			s.lookUp(dst, p, ref, places, k, radii, d)
		}
		col, row = cx, cy
		s.slots = append(s.slots, int32(slot))
	}
	if len(s.slots) > 0 {
		s.lookUp(dst, p, ref, places, k, radii, d)
	}
}

func anywhere(places []place, i int32) bool {
	for k := range places {
		if places[k].asked[i] {
			return true
		}
	}
	return false
}

// lookUp does what nearest does for s.slots, and empties them.
func (s *search) lookUp(dst []cosine.Match, p, ref *picture.Picture, places []place, k int, radii []float64, d int) {
	s.gather(p, ref, places, radii, d)
	first, last, middle := s.rows()
	// From the middle row outwards: the sooner the best are found, the fewer come after.
	for step := 0; middle-step >= first || middle+step <= last; step++ {
		if row := middle - step; row >= first {
			s.lookUpRow(dst, p, ref, row, k, d)
		}
		if row := middle + step; step > 0 && row <= last {
			s.lookUpRow(dst, p, ref, row, k, d)
		}
	}
	s.slots = s.slots[:0]
}

// gather sets the queries, discs and boxes of s.slots.
func (s *search) gather(p, ref *picture.Picture, places []place, radii []float64, d int) {
	s.queries = s.queries[:0]
	for _, slot := range s.slots {
		s.queries = append(s.queries, p.UnitAt(int(slot))...)
	}
	s.inside, s.boxes = s.inside[:0], s.boxes[:0]
	for at := range places {
		place, b := &places[at], box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1), 0, 0, -1}
		for _, slot := range s.slots {
			i := p.Grid.Order[slot]
			if !place.asked[i] {
				s.inside = append(s.inside, disc{r2: -1})
				continue
			}
			x, y := p.Centroid[2*i]-place.dx, p.Centroid[2*i+1]-place.dy
			s.inside = append(s.inside, disc{x, y, float32(radii[i] * radii[i])})
			b.radius = max(b.radius, radii[i])
			b.x0, b.x1 = min(b.x0, float64(x)), max(b.x1, float64(x))
			b.y0, b.y1 = min(b.y0, float64(y)), max(b.y1, float64(y))
		}
		if b.x0 > b.x1 { // nothing is looked up there
			s.inside = s.inside[:len(s.boxes)*len(s.slots)]
			continue
		}
		b.first, _ = ref.Grid.CellRows(b.y0, b.radius)
		_, b.last = ref.Grid.CellRows(b.y1, b.radius)
		s.boxes = append(s.boxes, b)
	}
}

// rows returns the first and the last cell row that any box needs, and the middle one of
// the first box.
func (s *search) rows() (first, last, middle int) {
	first, last = math.MaxInt, -1
	for _, b := range s.boxes {
		if last < 0 {
			middle = (b.first + b.last) / 2
		}
		first, last = min(first, b.first), max(last, b.last)
	}
	return first, last, middle
}

// lookUpRow compares s.slots with what is in one cell row of ref.
func (s *search) lookUpRow(dst []cosine.Match, p, ref *picture.Picture, row, k, d int) {
	s.findSpans(ref, row)
	m := len(s.slots)
	for _, span := range s.spans {
		from, to := span[0], span[1]
		wide := min(ref.N-from, (to-from+3)&^3) // vector code does four at a time
		s.cosines = scratch.Grow(s.cosines, m*wide)
		cosine.Products(s.cosines, s.queries, ref.Unit[from*d:(from+wide)*d], d)
		for q, slot := range s.slots {
			i := int(p.Grid.Order[slot])
			best := dst[i*k : (i+1)*k]
			least := best[k-1].Cosine
			for at, c := range s.cosines[q*wide : q*wide+to-from] {
				if c > least && s.within(q, (*[2]float32)(ref.Grid.Centroid[2*(from+at):])) {
					cosine.Insert(best, cosine.Match{To: ref.Grid.Order[from+at], Cosine: c})
					least = best[k-1].Cosine
				}
			}
		}
	}
}

// within tells whether a point is in a disc of s.slots[q].
func (s *search) within(q int, at *[2]float32) bool {
	for ; q < len(s.inside); q += len(s.slots) {
		d := &s.inside[q]
		if dx, dy := at[0]-d.x, at[1]-d.y; dx*dx+dy*dy <= d.r2 {
			return true
		}
	}
	return false
}

// findSpans sets s.spans to the runs of ref's slots in one cell row that hold what is in any
// disc: each slot once.
func (s *search) findSpans(ref *picture.Picture, row int) {
	s.spans = s.spans[:0]
	for _, b := range s.boxes {
		if row < b.first || row > b.last {
			continue
		}
		away := ref.Grid.AwayFrom(row, b.y0, b.y1)
		if away > b.radius {
			continue
		}
		half := math.Sqrt(b.radius*b.radius-away*away) + 1e-3*b.radius // of the disc, at the row; and its rounding
		from, _ := ref.Grid.Span(row, b.x0, half)
		_, to := ref.Grid.Span(row, b.x1, half)
		if from >= to {
			continue
		}
		// Those it overlaps become one with it.
		kept := s.spans[:0]
		for _, o := range s.spans {
			if o[0] <= to && from <= o[1] {
				from, to = min(from, o[0]), max(to, o[1])
			} else {
				kept = append(kept, o)
			}
		}
		s.spans = append(kept, [2]int{from, to}) //nolint:gocritic // kept is its beginning
	}
}
