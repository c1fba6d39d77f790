package outline

import (
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Classifier is a linear classifier of projected features. The zero value knows no label.
type Classifier struct {
	Rows       []float64 // for each label it knows the projection's Dim weights, and that of picture.Bias
	Projection *features.Projection
}

// scorer tells how pixels score under a classifier: by what the maps show at their places and
// by their own colours.
type scorer struct {
	known int       // labels; 0 if it says nothing of any
	says  []bool    // known: whether it says anything of the label; else all scores are 0
	width int       // of a row: weights of the maps' channels and of three colours, and a constant
	rows  []float32 // known×width, for features that are not projected
	whole []float32 // the same for those that are: Classifier.Rows
	ready bool      // the patch has the maps that the classifier knows
	maps  []cells
	sums  []float32 // of a pixel, by local label
}

// cells are the scores that a map's cells have for the labels of a part, made when they are
// asked for.
type cells struct {
	*features.Map
	x, y   features.Axis
	column int     // of its first channel in a row
	made   []int32 // by cell: where its scores are, but what is below first is of an earlier part
	first  int32
	scores []float32
}

// learn takes over a classifier.
func (s *scorer) learn(c Classifier) {
	s.known = 0
	if c.Projection == nil {
		return
	}
	dim := c.Projection.Dim()
	s.known, s.width = len(c.Rows)/(dim+1), c.Projection.Features()+1
	s.rows, s.says = scratch.Grow(s.rows, s.known*s.width), scratch.Zero(s.says, s.known)
	s.whole = scratch.Grow(s.whole, len(c.Rows))
	for k, v := range c.Rows {
		s.whole[k] = float32(v)
	}
	for l := range s.known {
		w, row := c.Rows[l*(dim+1):][:dim+1], s.rows[l*s.width:][:s.width]
		if s.says[l] = slices.ContainsFunc(w, func(v float64) bool { return v != 0 }); s.says[l] {
			row[s.width-1] = float32(c.Projection.Fold(row, w[:dim]) + picture.Bias*w[dim])
		} else {
			clear(row)
		}
	}
	if !slices.Contains(s.says, true) {
		s.known = 0
	}
}

// reset readies s for the first part of a patch.
func (s *scorer) reset(p *features.Patch) {
	for len(s.maps) < len(p.Maps) {
		s.maps = append(s.maps, cells{})
	}
	s.maps = s.maps[:len(p.Maps)]
	column := 0
	for k := range s.maps {
		c := &s.maps[k]
		c.Map, c.column = &p.Maps[k], column
		c.Axes(&c.x, &c.y, p)
		c.made, c.scores = scratch.Zero(c.made, c.Width*c.Height), append(c.scores[:0], 0)
		column += c.Channels
	}
	s.ready = s.known > 0 && column+4 == s.width
}

// of is the score of a superpixel for a label of groups; that of the background, 0, is the opposite of the largest of the others.
// It is -1 if the classifier does not know the label.
func (s *scorer) of(f scene, i int32, label uint8, groups []group) float32 {
	d := f.Dim + 1
	of := func(label uint8) float32 {
		if int(label) >= s.known {
			return -1
		}
		if !s.says[label] {
			return 0
		}
		return cosine.Dot(f.Rows[int(i)*d:][:d], s.whole[int(label)*d:][:d])
	}
	if label > 0 {
		return of(label)
	}
	most := float32(math.Inf(-1))
	for _, g := range groups {
		if g.label > 0 {
			most = max(most, of(g.label))
		}
	}
	return -most
}

// next readies s for another part, whose labels may be others.
func (s *scorer) next() {
	for k := range s.maps {
		s.maps[k].first = int32(len(s.maps[k].scores))
	}
}

// at returns the scores of the patch's pixel with that index for each of labels, the same ones
// since next. A label that the classifier does not know has -1, the background the opposite of the largest other one. They are there until the next call.
func (s *scorer) at(p *features.Patch, index int, labels []uint8) []float32 {
	const perLab = 1.0 / features.LabUnit
	s.sums = scratch.Grow(s.sums, len(labels))
	objects, sums := labels, s.sums
	if labels[0] == 0 && len(labels) > 1 {
		objects, sums = labels[1:], s.sums[1:]
	}
	pixel := (*[3]int16)(p.Pixels[3*index:])
	for l, label := range objects {
		if sums[l] = -1; int(label) < s.known {
			w := s.rows[(int(label)+1)*s.width-4:][:4]
			sums[l] = perLab*(w[0]*float32(pixel[0])+w[1]*float32(pixel[1])+w[2]*float32(pixel[2])) + w[3]
		}
	}
	for k := range s.maps {
		m := &s.maps[k]
		col, row := index%p.Cols, index/p.Cols
		right, down := m.x.Weight[col], m.y.Weight[row]
		cell := int(m.y.Cell[row])*m.Width + int(m.x.Cell[col])
		s.add(sums, m, objects, cell, (1-down)*(1-right))
		s.add(sums, m, objects, cell+1, (1-down)*right)
		s.add(sums, m, objects, cell+m.Width, down*(1-right))
		s.add(sums, m, objects, cell+m.Width+1, down*right)
	}
	if len(objects) < len(labels) {
		s.sums[0] = -slices.Max(sums)
	}
	return s.sums
}

// add adds so much of a cell's scores for labels to sums.
func (s *scorer) add(sums []float32, m *cells, labels []uint8, cell int, share float32) {
	if share == 0 { // as it is of cells beyond a map that is one cell wide
		return
	}
	at := m.made[cell]
	if at < m.first {
		at = int32(len(m.scores))
		m.made[cell] = at
		x := m.Data[cell*m.Channels:][:m.Channels]
		for _, label := range labels {
			v := float32(0)
			if int(label) < s.known && s.says[label] {
				v = cosine.Dot(x, s.rows[int(label)*s.width+m.column:][:m.Channels])
			}
			m.scores = append(m.scores, v)
		}
	}
	for l, v := range m.scores[at:][:len(labels)] {
		sums[l] += share * v
	}
}
