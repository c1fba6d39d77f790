package message

import (
	"image"
	"slices"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
)

const (
	// maxThings bounds the things of a frame that are offered to a user.
	maxThings = 32
	// leastThing is the score from which on they are: a user sees which are right.
	leastThing = 0.2
)

// Things are those that a scene's model finds, without parts of others of their class, the best scores first, numbered from 1. The
// mask of one is what the mask head sees in its box; without a mask head it is the box.
func Things(s *features.Scene) ([]*segdv1.Object, error) {
	all := []*segdv1.Object{}
	var kept []features.Detection
	bits := make([]uint8, s.Width*s.Height)
	for _, d := range s.Found {
		if len(all) == maxThings || d.Score < leastThing {
			break
		}
		if partOfAny(s, d, kept) {
			continue
		}
		shaped, err := s.Shape(bits, d.Box)
		if err != nil {
			return nil, err
		}
		if !shaped {
			fill(bits, s.Width, d.Box, 1)
		}
		m := mask.EncodeIn(bits, s.Width, s.Height, d.Box)
		fill(bits, s.Width, d.Box, 0)
		if m.Area() == 0 {
			continue
		}
		kept = append(kept, d)
		all = append(all, &segdv1.Object{
			Id: uint32(len(kept)), Label: d.Class, Class: d.Class, State: segdv1.State_STATE_VISIBLE,
			Box: box(d.Box), Area: int32(m.Area()), Score: d.Score, Counts: m.String(),
		})
	}
	return all, nil
}

// partOfAny tells whether d is a part of one of some things.
func partOfAny(s *features.Scene, d features.Detection, things []features.Detection) bool {
	return slices.ContainsFunc(things, func(t features.Detection) bool { return d.Class == t.Class && s.Part(d.Box, t.Box) })
}

func fill(bits []uint8, width int, box image.Rectangle, value uint8) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		line := bits[y*width+box.Min.X:][:box.Dx()]
		for i := range line {
			line[i] = value
		}
	}
}
