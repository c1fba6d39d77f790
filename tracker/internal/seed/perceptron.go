package seed

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/internal/perceptron"
	"github.com/segd/segd/tracker/internal/picture"
)

// BoxUnits are the inputs, hidden units and output of the perceptron that tells by its cues
// how likely a superpixel in a box is the object.
var BoxUnits = [...]int{cueInputs, 64, 32, 1}

// boxWeights are its weights, made by lab/cmd/boxtrain; its README.md says from what.
//
//go:embed box.weights
var boxWeights []byte

var boxPerceptron = sync.OnceValue(func() *perceptron.Perceptron {
	p, err := perceptron.Read(boxWeights, BoxUnits[:]...)
	if err != nil {
		panic(fmt.Errorf("seed: box.weights: %w", err))
	}
	return p
})

// BoxCues are the superpixels of p that the perceptron judges when an annotation is one box,
// and the cues of each, a row of BoxUnits[0]. It is learnt from these.
func BoxCues(p *picture.Picture, box []float64) (superpixels []int, rows []float64) {
	m := &Marks{}
	m.Reset(p.N)
	w := &work{Seeder: &Seeder{before: make([]int32, p.N)}, Picture: p, pixels: p.Map(), Marks: m, q: make([]float64, 2*p.N), y: make([]int32, p.N), labels: 2}
	ann := &annotation.Annotation{Width: p.Width, Height: p.Height, Objects: []annotation.Object{{ID: 1, Box: box}}}
	w.fix(ann, []Object{{Label: 1, Defined: true}})
	b := w.newBoxed(1, box)
	if len(b.in) == 0 {
		return nil, nil
	}
	return b.in, b.cues()
}
