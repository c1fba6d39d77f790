package seed

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

// perceptron tells by its cues how likely a superpixel in a box is the object. It has two
// hidden layers of leaky units.
type perceptron struct {
	mean, scale []float32 // of the inputs
	layers      [3]layer
}

type layer struct {
	in      int
	weights []float32 // out×(in+1), the constant last
}

const (
	leak    = 0.1 // slope of a unit below 0
	extreme = 5.0 // standard deviations at which an input is cut off
)

var perceptronUnits = [...]int{cueInputs, 64, 32, 1}

//go:embed box.weights
var boxWeights []byte

// boxPerceptron is the one in the binary: means and scales of the inputs and the layers'
// weights, float32, little endian. docs/quality.md says what it has learnt from.
var boxPerceptron = sync.OnceValue(func() *perceptron {
	data := boxWeights
	take := func(n int) []float32 {
		values := make([]float32, n)
		for k := range values {
			values[k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*k:]))
		}
		data = data[4*n:]
		return values
	}
	p := &perceptron{mean: take(cueInputs), scale: take(cueInputs)}
	for l := range p.layers {
		in, out := perceptronUnits[l], perceptronUnits[l+1]
		p.layers[l] = layer{in, take(out * (in + 1))}
	}
	if len(data) != 0 {
		panic(fmt.Sprintf("seed: %d bytes behind the weights of box.weights; want none", len(data)))
	}
	return p
})

// odds are the log odds of the object by one superpixel's cues.
func (p *perceptron) odds(cues []float64) float64 {
	values := make([]float64, len(cues))
	for k, c := range cues {
		values[k] = max(-extreme, min(extreme, (c-float64(p.mean[k]))*float64(p.scale[k])))
	}
	for n, l := range p.layers {
		next := make([]float64, len(l.weights)/(l.in+1))
		for o := range next {
			row := l.weights[o*(l.in+1) : (o+1)*(l.in+1)]
			sum := float64(row[l.in])
			for k, v := range values {
				sum += float64(row[k]) * v
			}
			if n+1 < len(p.layers) && sum < 0 {
				sum *= leak
			}
			next[o] = sum
		}
		values = next
	}
	return values[0]
}
