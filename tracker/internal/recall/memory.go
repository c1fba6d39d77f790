package recall

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// Sighting is a frame and what it shows of the objects.
type Sighting struct {
	propagation.Reference
	Confident []bool // L, or less: whether the label's object was seen beyond doubt

	looks []float32 // L×Dim mean directions of the objects' features
}

// Reset makes s the sighting of p, which shows nothing yet.
func (s *Sighting) Reset(p *picture.Picture, labels int) {
	s.Picture = p
	s.Soft = scratch.Zero(s.Soft, p.N*labels)
	s.Trust = s.Trust[:0]
	s.Observed, s.Confident = append(s.Observed[:0], true), append(s.Confident[:0], false) // the background
	s.Corrected = s.Corrected[:0]
	s.looks = s.looks[:0]
}

// See adds the next label's object: whether it is in sight, and beyond doubt.
func (s *Sighting) See(visible, confident bool) {
	s.Observed, s.Confident = append(s.Observed, visible), append(s.Confident, confident)
}

// Finish makes s, whose labels are known, ready for others to look up: b is what it was
// taken for, corrected says where an annotation changed that.
func (s *Sighting) Finish(b *propagation.Belief, corrected []bool, labels int) {
	s.Trust = append(s.Trust[:0], b.Trust...)
	s.Corrected = append(s.Corrected[:0], corrected...)
	s.measure(labels)
}

// measure sets what the objects look like, by s.Soft.
func (s *Sighting) measure(labels int) {
	d := s.Dim
	s.looks = scratch.Zero(s.looks, labels*d)
	for slot, i := range s.Grid.Order {
		for l := 1; l < labels; l++ {
			if s.Soft[int(i)*labels+l] > 0.5 {
				for k, v := range s.UnitAt(slot)[:d] {
					s.looks[l*d+k] += v
				}
			}
		}
	}
	for l := 1; l < labels; l++ {
		sum := 0.0
		for _, v := range s.looks[l*d : (l+1)*d] {
			sum += float64(v) * float64(v)
		}
		scale := float32(1 / math.Max(math.Sqrt(sum), 1e-12))
		for k := l * d; k < (l+1)*d; k++ {
			s.looks[k] *= scale
		}
	}
}

// doubt has s say nothing of the superpixels whose label was less likely than what is beyond doubt, by their
// probabilities q: some are of what hides an object.
func (s *Sighting) doubt(q []float64) {
	for at, soft := range s.Soft {
		if soft > 0 && q[at] < trackstate.ConfidentScore {
			s.Soft[at] = 0
		}
	}
}

// alike is the least cosine between the looks of an object that both sightings show,
// −1 if there is none.
func (s *Sighting) alike(other *Sighting) float64 {
	least, common := 1.0, false
	for l := 1; l < min(len(s.Confident), len(other.Confident)); l++ {
		if !s.Confident[l] || !other.Confident[l] {
			continue
		}
		dot := 0.0
		for k, v := range s.looks[l*s.Dim : (l+1)*s.Dim] {
			dot += float64(v) * float64(other.looks[l*s.Dim+k])
		}
		least, common = min(least, dot), true
	}
	if !common {
		return -1
	}
	return least
}

// Distrust makes s say nothing of a label any more.
func (s *Sighting) Distrust(label, labels int) {
	s.Reference.Distrust(label, labels)
	if label < len(s.Confident) {
		s.Confident[label] = false
	}
}

// Drop makes a label background and closes the gap it leaves.
func (s *Sighting) Drop(label, labels int) {
	s.Reference.Drop(label, labels)
	if label < len(s.Confident) { // not so for an object marked later
		s.Confident = slices.Delete(s.Confident, label, label+1)
		s.looks = slices.Delete(s.looks, label*s.Dim, (label+1)*s.Dim)
	}
}

// Clone shares nothing with s but the picture.
func (s *Sighting) Clone() *Sighting {
	return &Sighting{Reference: s.Reference.Clone(), Confident: slices.Clone(s.Confident), looks: slices.Clone(s.looks)}
}

// Remember takes in a sighting that leaves the window, if some object was seen in it
// beyond doubt, and returns one that it has no use for, if any: that one, or another. b has the
// probabilities of the superpixels' labels; what is below trackstate.ConfidentScore is not remembered.
// Of more than Recall.Memory the later one of the two that show their objects most alike is
// dropped, where the annotated frames count as earlier; the latest always stays. So what
// is kept are the objects' most different looks, and their last.
func (r *Recall) Remember(s *Sighting, b *propagation.Belief, annotated []*Sighting) (dropped *Sighting) {
	if r.Memory == 0 || !slices.Contains(s.Confident, true) {
		return s
	}
	s.doubt(b.Q)
	s.LoseRows()
	r.remembered = append(r.remembered, s)
	if len(r.remembered) <= r.Memory {
		return nil
	}
	drop, most := 0, math.Inf(-1)
	for k, later := range r.remembered[:len(r.remembered)-1] {
		for _, earlier := range [][]*Sighting{r.remembered[:k], annotated} {
			for _, e := range earlier {
				if c := later.alike(e); c > most {
					drop, most = k, c
				}
			}
		}
	}
	dropped = r.remembered[drop]
	r.remembered = slices.Delete(r.remembered, drop, drop+1)
	return dropped
}

// Remembered lists what is remembered. It is for reading, but for labels that come and
// go, and until the next call of a method.
func (r *Recall) Remembered() []*Sighting { return r.remembered }

// Distrust makes what is remembered say nothing of a label any more. What shows no other
// object beyond doubt is forgotten, and handed to dropped.
func (r *Recall) Distrust(label, labels int, dropped func(*Sighting)) {
	r.remembered = slices.DeleteFunc(r.remembered, func(s *Sighting) bool {
		s.Distrust(label, labels)
		useless := !slices.Contains(s.Confident, true)
		if useless {
			dropped(s)
		}
		return useless
	})
}
