package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/segd/segd/internal/perceptron"
)

// training makes a perceptron by Adam (Kingma, Ba 2015) with decoupled weight decay
// (Loshchilov, Hutter 2019) and a rate that falls to 0 by a cosine. Same examples and seed,
// same bits.
type training struct {
	Units  []int // as of Read
	Epochs int
	Seed   uint64
}

// example is a group of rows, such as the superpixels in a box. All groups weigh the same.
type example struct {
	Inputs []float32 // rows of Units[0]
	Want   []float32 // probability of each row
}

const (
	batch        = 16 // examples
	workers      = 2  // of a batch; their number is part of the sums' order
	rate         = 2e-3
	decay        = 1e-3
	momentum     = 0.9 // Adam's β₁ and β₂
	squares      = 0.999
	adamEpsilon  = 1e-8
	leastOfScale = 1e-9 // variance
)

// Run trains. After each epoch it calls epoch, if not nil, with the mean cross entropy of the
// examples as they came, in nats, and with the perceptron as it is, valid during the call.
func (t training) Run(ctx context.Context, examples []example, epoch func(n int, loss float64, p *perceptron.Perceptron)) (*perceptron.Perceptron, error) {
	if len(examples) == 0 || t.Epochs < 1 {
		return nil, fmt.Errorf("%d examples, %d epochs; want 1 or more of both", len(examples), t.Epochs)
	}
	for _, e := range examples {
		if len(e.Want) == 0 || len(e.Inputs) != len(e.Want)*t.Units[0] {
			return nil, fmt.Errorf("an example of %d rows and %d inputs; want 1 row or more of %d", len(e.Want), len(e.Inputs), t.Units[0])
		}
	}
	r := rand.New(rand.NewPCG(t.Seed, 1))
	p := perceptron.New(t.Units)
	standardise(p, examples)
	for _, l := range p.Layers {
		for k := range l.Weights {
			if k%(l.In+1) != l.In {
				l.Weights[k] = float32(r.NormFloat64() * math.Sqrt(2/float64(l.In)))
			}
		}
	}
	a := newAdam(p, t.Epochs*((len(examples)+batch-1)/batch))
	var passes [workers]*pass
	for k := range passes {
		passes[k] = newPass(p)
	}
	for n := range t.Epochs {
		loss := 0.0
		order := r.Perm(len(examples))
		for at := 0; at < len(order); at += batch {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			some := order[at:min(at+batch, len(order))]
			var wg sync.WaitGroup
			for k, pass := range passes {
				wg.Go(func() {
					pass.reset()
					for q := k; q < len(some); q += workers {
						pass.learn(&examples[some[q]])
					}
				})
			}
			wg.Wait()
			for _, pass := range passes {
				loss += pass.loss
			}
			a.step(passes, len(some))
		}
		loss /= float64(len(examples))
		if math.IsNaN(loss) {
			return nil, errors.New("the loss is no number; want inputs that are finite")
		}
		if epoch != nil {
			epoch(n, loss, p)
		}
	}
	return p, nil
}

// standardise sets means and scales to those of the examples' rows.
func standardise(p *perceptron.Perceptron, examples []example) {
	d := len(p.Mean)
	mean, variance, rows := make([]float64, d), make([]float64, d), 0.0
	for _, e := range examples {
		rows += float64(len(e.Want))
		for k, v := range e.Inputs {
			mean[k%d] += float64(v)
		}
	}
	for c := range mean {
		mean[c] /= rows
	}
	for _, e := range examples {
		for k, v := range e.Inputs {
			variance[k%d] += (float64(v) - mean[k%d]) * (float64(v) - mean[k%d])
		}
	}
	for c, m := range mean {
		p.Mean[c], p.Scale[c] = float32(m), float32(1/math.Sqrt(variance[c]/rows+leastOfScale))
	}
}

// lossOf is the mean cross entropy of e's rows, in nats.
func lossOf(p *perceptron.Perceptron, e *example) float64 {
	pass := newPass(p)
	pass.learn(e)
	return pass.loss
}

// pass gathers losses and their gradient.
type pass struct {
	p              *perceptron.Perceptron
	loss           float64
	gradient       [][]float64 // of each layer's weights
	inputs         []float64
	values, deltas [][]float64
}

func newPass(p *perceptron.Perceptron) *pass {
	s := &pass{p: p, inputs: make([]float64, len(p.Mean)), values: p.Activations(), deltas: p.Activations()}
	for _, l := range p.Layers {
		s.gradient = append(s.gradient, make([]float64, len(l.Weights)))
	}
	return s
}

func (s *pass) reset() {
	s.loss = 0
	for _, g := range s.gradient {
		clear(g)
	}
}

func (s *pass) learn(e *example) {
	d, weight := len(s.inputs), 1/float64(len(e.Want))
	for k, want := range e.Want {
		for c, v := range e.Inputs[k*d : (k+1)*d] {
			s.inputs[c] = float64(v)
		}
		s.p.Forward(s.values, s.inputs)
		last := len(s.p.Layers)
		odds, want := s.values[last][0], float64(want)
		// −want·log(p) − (1 − want)·log(1 − p), which neither overflows nor needs p
		s.loss += weight * (max(odds, 0) - want*odds + math.Log1p(math.Exp(-math.Abs(odds))))
		s.deltas[last][0] = weight * (1/(1+math.Exp(-odds)) - want)
		for n := last - 1; n >= 0; n-- {
			s.backward(n)
		}
	}
}

// backward adds layer n's gradient, and sets the deltas of its inputs.
func (s *pass) backward(n int) {
	l := s.p.Layers[n]
	below := s.deltas[n]
	clear(below)
	for o, delta := range s.deltas[n+1] {
		row, gradient := l.Weights[o*(l.In+1):(o+1)*(l.In+1)], s.gradient[n][o*(l.In+1):(o+1)*(l.In+1)]
		for c, v := range s.values[n] {
			gradient[c] += delta * v
			below[c] += delta * float64(row[c])
		}
		gradient[l.In] += delta
	}
	for c, v := range s.values[n] {
		if v < 0 {
			below[c] *= perceptron.Leak
		}
	}
}

// adam are the moments of the gradients.
type adam struct {
	p           *perceptron.Perceptron
	first, next [][]float64
	taken, all  int // steps
}

func newAdam(p *perceptron.Perceptron, steps int) *adam {
	return &adam{p: p, first: newPass(p).gradient, next: newPass(p).gradient, all: steps}
}

func (a *adam) step(passes [workers]*pass, examples int) {
	a.taken++
	now := rate / 2 * (1 + math.Cos(math.Pi*float64(a.taken)/float64(a.all)))
	unbiased, unbiasedNext := 1-math.Pow(momentum, float64(a.taken)), 1-math.Pow(squares, float64(a.taken))
	for n, l := range a.p.Layers {
		for k, w := range l.Weights {
			g := 0.0
			for _, pass := range passes {
				g += pass.gradient[n][k]
			}
			g /= float64(examples)
			m, v := &a.first[n][k], &a.next[n][k]
			*m = momentum**m + (1-momentum)*g
			*v = squares**v + (1-squares)*g*g
			l.Weights[k] = float32(float64(w) - now*(*m/unbiased/(math.Sqrt(*v/unbiasedNext)+adamEpsilon)+decay*float64(w)))
		}
	}
}
