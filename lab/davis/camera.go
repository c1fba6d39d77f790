package davis

import (
	"image"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
)

// gauge measures how far the camera moves from one picture to the next, away from the object.
type gauge struct {
	motion    features.CameraMotion
	thumbnail features.Thumbnail
}

// step takes the next picture, as features.CameraMotion does.
func (g *gauge) step(p *offline.Picture) (motion float64, ok bool) {
	g.thumbnail.Set(p.BGR, p.Width, p.Height)
	motion, _, ok = g.motion.Step(&g.thumbnail, func(block image.Rectangle) bool {
		block = block.Inset(-1).Intersect(image.Rect(0, 0, p.Width, p.Height))
		for y := block.Min.Y; y < block.Max.Y; y++ {
			for x := block.Min.X; x < block.Max.X; x++ {
				if p.Truth[y*p.Width+x] != 0 {
					return true
				}
			}
		}
		return false
	})
	return motion, ok
}

// What Sequence.Camera says.
const standing, moving = "standing", "moving"

// stands decides whether the camera does.
func (s *Sequence) stands() {
	if s.Camera = moving; s.CameraMotion < features.StandingMotion {
		s.Camera = standing
	}
}

// byCamera is the means over the sequences of one kind; nil of none.
func (r *Report) byCamera(kind string) *ByCamera {
	var j, f []float64
	for _, s := range r.Sequences {
		if s.Camera == kind {
			j, f = append(j, s.J), append(f, s.F)
		}
	}
	if j == nil {
		return nil
	}
	return &ByCamera{Sequences: len(j), MeanJ: stats.Mean(j), MeanF: stats.Mean(f)}
}
