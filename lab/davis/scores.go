package davis

import (
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
)

// Scores are how well the masks of a sequence match the truth, frame by frame, whatever
// made them.
type Scores struct{ j, f []float64 }

// Add takes in the next frame's mask and truth, height×width row-major, non-zero on the
// object.
func (s *Scores) Add(got, want []uint8, width, height int) {
	s.add(got, want, width, height, boundaryReach(width, height))
}

// add is Add where outlines match within reach pixels.
func (s *Scores) add(got, want []uint8, width, height, reach int) {
	s.j = append(s.j, mask.IoU(mask.Encode(got, width, height), mask.Encode(want, width, height)))
	s.f = append(s.f, boundaryF(got, want, width, height, reach))
}

// Mean is J and F of a sequence of three frames or more, means as Sequence has them.
func (s *Scores) Mean() (j, f float64) {
	last := len(s.j) - 1
	return stats.Mean(s.j[1:last]), stats.Mean(s.f[1:last])
}
