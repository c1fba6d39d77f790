// Package perceptron has multilayer perceptrons that say how likely something is by numbers
// known of it. They are small, run on one goroutine and are safe to share.
//
// In go rows of inputs; out come log odds. segd reads what lab/cmd/boxtrain has trained.
package perceptron

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Perceptron has hidden layers of leaky units and one output, log odds.
type Perceptron struct {
	Mean, Scale []float32 // of the inputs, which are standardised
	Layers      []Layer
}

// Layer is one of units that are connected to all of In inputs.
type Layer struct {
	In      int
	Weights []float32 // out×(In+1), the constant last
}

const (
	Leak    = 0.1 // slope of a unit below 0
	extreme = 5.0 // standard deviations at which an input is cut off
)

// New is a perceptron of zeros with the given numbers of inputs, of hidden units and, last, one.
func New(units []int) *Perceptron {
	p := &Perceptron{Mean: make([]float32, units[0]), Scale: make([]float32, units[0])}
	for l, in := range units[:len(units)-1] {
		p.Layers = append(p.Layers, Layer{in, make([]float32, units[l+1]*(in+1))})
	}
	return p
}

// values are all numbers of p in the order in which they are written.
func (p *Perceptron) values() [][]float32 {
	all := [][]float32{p.Mean, p.Scale}
	for _, l := range p.Layers {
		all = append(all, l.Weights)
	}
	return all
}

// Read returns the perceptron that Append wrote, which has the given numbers of inputs,
// of units of each hidden layer and, last, of outputs, which is 1.
func Read(data []byte, units ...int) (*Perceptron, error) {
	p := New(units)
	want := 0
	for _, values := range p.values() {
		want += 4 * len(values)
	}
	if len(data) != want {
		return nil, fmt.Errorf("perceptron: %d bytes of weights; want %d, those of layers of %v", len(data), want, units)
	}
	for _, values := range p.values() {
		for k := range values {
			values[k] = math.Float32frombits(binary.LittleEndian.Uint32(data))
			data = data[4:]
		}
	}
	return p, nil
}

// Append appends means, scales and the layers' weights to data: float32, little endian.
func (p *Perceptron) Append(data []byte) []byte {
	for _, values := range p.values() {
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return data
}

// Odds are the log odds by one row of inputs.
func (p *Perceptron) Odds(inputs []float64) float64 {
	values := p.Activations()
	p.Forward(values, inputs)
	return values[len(p.Layers)][0]
}

// Activations has room for the inputs of each layer and the output, which Forward sets.
func (p *Perceptron) Activations() [][]float64 {
	values := [][]float64{make([]float64, len(p.Mean))}
	for _, l := range p.Layers {
		values = append(values, make([]float64, len(l.Weights)/(l.In+1)))
	}
	return values
}

// Forward sets values by one row of inputs.
func (p *Perceptron) Forward(values [][]float64, inputs []float64) {
	for k, v := range inputs {
		values[0][k] = max(-extreme, min(extreme, (v-float64(p.Mean[k]))*float64(p.Scale[k])))
	}
	for n, l := range p.Layers {
		for o := range values[n+1] {
			row := l.Weights[o*(l.In+1) : (o+1)*(l.In+1)]
			sum := float64(row[l.In])
			for k, v := range values[n] {
				sum += float64(row[k]) * v
			}
			if n+1 < len(p.Layers) && sum < 0 {
				sum *= Leak
			}
			values[n+1][o] = sum
		}
	}
}
