package layout

import (
	"errors"
	"math"
	"slices"

	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
)

// Kept is o as it is kept over a restart; nil if nothing is known of it.
func (o *Object) Kept() *checkpointv1.Layout {
	if !o.Known() {
		return nil
	}
	return &checkpointv1.Layout{
		Found: o.Found, Sequence: o.seq, Columns: int32(o.columns), Rows: int32(o.rows),
		First: flat(o.first), Now: flat(o.now), Occupied: slices.Clone(o.occupied),
		X: o.x, Y: o.y, Width: o.w, Height: o.h, FoundWidth: o.foundW, FoundHeight: o.foundH, Vx: o.vx, Vy: o.vy,
		Match: o.match, Typical: o.typical, Marked: slices.Clone([]float32(o.marked)), Lately: slices.Clone([]float32(o.lately)), Similarity: o.similarity,
		Certain: o.certain, Returned: o.returned, Apart: int32(o.apart), Age: int32(o.age), Unseen: int32(o.unseen),
		Left: o.left, Hits: int32(o.hits), Recalled: o.recalled, Stood: o.stood, Missed: int32(o.missed),
	}
}

// errState is of a state that Kept has not made.
var errState = errors.New("layout: faulty state of an object")

const (
	mostPlace = 1 << 12 // cells of a grid along a side, and then some
	mostSlim  = 128.    // one side of a cell to the other: of a pixel's row that crosses the picture
	mostCount = 1 << 30
)

// Resume makes o what it was when s was taken.
func (o *Object) Resume(s *checkpointv1.Layout) error {
	n := int(s.Rows) * int(s.Columns)
	sound := s.Rows >= fewestCells && s.Columns >= fewestCells && s.Rows <= mostCells && s.Columns <= mostCells &&
		len(s.First) == 3*n && len(s.Now) == 3*n && len(s.Occupied) == n &&
		features.IsAppearance(s.Marked) && features.IsAppearance(s.Lately)
	for _, v := range []float64{s.X, s.Y, s.Vx, s.Vy, s.Match, s.Typical, s.Similarity} {
		sound = sound && math.Abs(v) <= mostPlace
	}
	for _, v := range []float64{s.Width, s.Height, s.FoundWidth, s.FoundHeight} {
		sound = sound && v >= 0.5 && v <= mostPlace
	}
	for _, v := range []int32{s.Apart, s.Age, s.Unseen, s.Hits, s.Missed} {
		sound = sound && v >= 0 && v <= mostCount
	}
	// Its cells are about square, as place has them, or looking for it would take long.
	slim := s.Width / float64(s.Columns) / (s.Height / float64(s.Rows))
	sound = sound && slim >= 1/mostSlim && slim <= mostSlim
	for _, list := range [][]float32{s.First, s.Now, s.Occupied} {
		for _, v := range list {
			sound = sound && math.Abs(float64(v)) <= 1000
		}
	}
	if !sound {
		return errState
	}
	*o = Object{
		Found: s.Found, seq: s.Sequence, columns: int(s.Columns), rows: int(s.Rows),
		first: colours(s.First), now: colours(s.Now), occupied: slices.Clone(s.Occupied),
		x: s.X, y: s.Y, w: s.Width, h: s.Height, foundW: s.FoundWidth, foundH: s.FoundHeight, vx: s.Vx, vy: s.Vy,
		match: s.Match, typical: s.Typical, marked: features.Appearance(slices.Clone(s.Marked)), lately: features.Appearance(slices.Clone(s.Lately)), similarity: s.Similarity,
		certain: s.Certain, returned: s.Returned, apart: int(s.Apart), age: int(s.Age), unseen: int(s.Unseen),
		left: s.Left, hits: int(s.Hits), recalled: s.Recalled, stood: s.Stood, missed: int(s.Missed),
	}
	return nil
}

func flat(c []colour) []float32 {
	all := make([]float32, 0, 3*len(c))
	for _, v := range c {
		all = append(all, v[:]...)
	}
	return all
}

func colours(v []float32) []colour {
	all := make([]colour, len(v)/3)
	for i := range all {
		all[i] = colour(v[3*i:])
	}
	return all
}

// What one step of a stored colour is: as of a kept picture's, whose colours are in LabUnits.
const (
	storedL  = 1. * keptL / features.LabUnit
	storedAB = 1. * keptAB / features.LabUnit
)

// Kept is the background as it is kept over a restart; nil if nothing is known of it.
func (f *Follower) Kept() *checkpointv1.Background {
	b := &f.background
	n := len(b.seen)
	if n == 0 || len(f.covered) != n {
		return nil
	}
	s := &checkpointv1.Background{
		Width: int32(f.grid.width), Height: int32(f.grid.height), Still: int32(b.still),
		Colours: make([]byte, 3*n), Seen: make([]byte, n), Covered: make([]byte, n),
	}
	for i, c := range b.colour {
		to := s.Colours[3*i : 3*i+3]
		to[0] = rounded(c[0] / storedL)
		to[1] = rounded(c[1]/storedAB + keptZero)
		to[2] = rounded(c[2]/storedAB + keptZero)
		s.Seen[i] = rounded(b.seen[i])
		if f.covered[i] {
			s.Covered[i] = 1
		}
	}
	return s
}

// rounded is the nearest byte.
func rounded(v float32) byte { return byte(min(max(v+.5, 0), 255)) }

// Resume makes the background what it was when s was taken, of pictures as large as the one last
// looked at, if the camera stood: of another one nothing is taken.
func (f *Follower) Resume(s *checkpointv1.Background) (stood bool, err error) {
	n := int(s.Width) * int(s.Height)
	if int(s.Width) != f.grid.width || int(s.Height) != f.grid.height || s.Still < 0 ||
		len(s.Colours) != 3*n || len(s.Seen) != n || len(s.Covered) != n {
		return false, errors.New("layout: faulty state of a background")
	}
	if s.Still < stillFor {
		return false, nil
	}
	b := &f.background
	b.still = int(s.Still)
	b.colour, b.seen, f.covered = make([]colour, n), make([]float32, n), make([]bool, n)
	for i := range n {
		from := s.Colours[3*i : 3*i+3]
		b.colour[i] = colour{float32(from[0]) * storedL, (float32(from[1]) - keptZero) * storedAB, (float32(from[2]) - keptZero) * storedAB}
		b.seen[i], f.covered[i] = float32(s.Seen[i]), s.Covered[i] != 0
	}
	return true, nil
}
