package tracker

import (
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/seed"
)

// BoxUnits are the inputs, hidden units and output of the perceptron that judges superpixels in a box.
var BoxUnits = seed.BoxUnits

// BoxCues are the superpixels of a scene that the perceptron judges when an annotation is one box, and the
// cues of each, a row of BoxUnits[0], as a tracker that begins with them would have them. The perceptron is
// learnt from these.
func BoxCues(scene *features.Scene, box []float64) (superpixels []int, rows []float64, err error) {
	projection, err := features.FitProjection(scene, maxDim)
	if err != nil {
		return nil, nil, err
	}
	superpixels, rows = seed.BoxCues(new(picture.Pool).Make(scene, projection, 1), box)
	return superpixels, rows, nil
}
