package dnn

import (
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// What computes a model: Options.Engine and Info.Engine.
const (
	EngineAuto        = "auto"
	EngineOpenCV      = "opencv"
	EngineONNXRuntime = "onnxruntime"
)

// An engine computes the taps of a model.
type engine interface {
	// layOut prepares the model for an input size.
	layOut(size image.Point) (network, error)
	// step is what the sides of inputs that show a part of an image are multiples of, unless
	// they show all there is: the more it takes to lay the model out, the fewer sizes there are
	// to be.
	step() int
	// keep bounds the pixels of all inputs that it stays laid out for, beside those in use: the
	// more it takes to lay the model out, the more. One may be larger.
	keep() int
	close() error
}

// A network is a model laid out for one input size. One goroutine at a time may use it.
type network interface {
	// input is the normalised image to be looked at, 1×3×height×width.
	input() ([]float32, error)
	// run computes the taps of what input holds.
	run() error
	// output writes tap i of the last run to dst, as long as that is made: height×width×channels of
	// planes, else rows×columns. The shape is the network's, until the next call.
	output(dst []float32, i int) (data []float32, shape []int, err error)
	close() error
}

// EngineInfo is how an engine fared with a model.
type EngineInfo struct {
	Name    string `json:"name"` // EngineOpenCV or EngineONNXRuntime
	Version string `json:"version,omitempty"`
	// Library is the file it was loaded from; OpenCV is linked.
	Library string `json:"library,omitempty"`
	// Milliseconds is what a frame of the nominal size takes, the fastest of a few; 0 if
	// there was no choice to be made.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Error is why it is not used.
	Error string `json:"error,omitempty"`
}

// choose settles what computes a model whose device, taps and nominal size are known.
func (r *runner) choose() error {
	cv := &openCV{src: r.src, device: r.device, taps: r.taps}
	r.engine, r.chosen = cv, EngineOpenCV
	r.engines = []EngineInfo{{Name: EngineOpenCV, Version: openCVVersion()}}
	if r.opt.Engine == EngineOpenCV {
		return nil
	}
	ort, err := r.openONNXRuntime()
	if err != nil && r.opt.Engine == EngineONNXRuntime {
		return err
	}
	about := EngineInfo{Name: EngineONNXRuntime}
	if err == nil {
		about.Version, about.Library = ort.version, ort.library
		if r.opt.Engine == EngineAuto {
			c := r.compare(cv, ort)
			r.engines[0].Milliseconds, about.Milliseconds, err = c.milliseconds[0], c.milliseconds[1], c.err
		}
		if err == nil && about.Milliseconds <= r.engines[0].Milliseconds {
			r.engine, r.chosen = ort, EngineONNXRuntime
		} else if err := ort.close(); err != nil {
			return err
		}
	}
	if err != nil {
		about.Error = err.Error()
	}
	r.engines = append(r.engines, about)
	return nil
}

const (
	// trials is how many frames an engine is timed with, after one that lays out memory.
	trials = 3
	// tolerance is how far the taps of two engines may be apart: the norm of their
	// difference for the norm of the taps. That they add in different orders is worth 1e-6.
	tolerance = 1e-3
)

// comparison is what two engines took for a frame, and how they contradict each other.
type comparison struct {
	milliseconds [2]float64
	err          error
}

// compared are the comparisons that were made in this process, by what was compared.
var (
	comparing sync.Mutex
	compared  = map[string]comparison{}
)

// compare times two engines at the nominal size, once in a process.
func (r *runner) compare(a, b engine) comparison {
	comparing.Lock()
	defer comparing.Unlock()
	key := fmt.Sprint(r.sha256, r.nominal, r.opt.Threads, r.taps)
	c, ok := compared[key]
	if !ok {
		c = compare(a, b, r.nominal, len(r.taps))
		compared[key] = c
	}
	return c
}

// compare gives two engines the same noise.
func compare(a, b engine, size image.Point, taps int) (c comparison) {
	var made [2][][]float32
	for i, e := range []engine{a, b} {
		if c.milliseconds[i], made[i], c.err = trial(e, size, taps); c.err != nil {
			return c
		}
	}
	for t := range taps {
		if len(made[0][t]) != len(made[1][t]) {
			c.err = fmt.Errorf("tap %d has %d values, and %d by OpenCV", t, len(made[1][t]), len(made[0][t]))
			return c
		}
		var apart, norm float64
		for i, v := range made[0][t] {
			d := float64(made[1][t][i] - v)
			apart, norm = apart+d*d, norm+float64(v)*float64(v)
		}
		if !(apart <= tolerance*tolerance*norm) {
			c.err = fmt.Errorf("tap %d differs from OpenCV's by %.2g of its norm", t, math.Sqrt(apart/norm))
			return c
		}
	}
	return c
}

// trial times an engine, and returns what it made of the noise.
func trial(e engine, size image.Point, taps int) (milliseconds float64, made [][]float32, err error) {
	n, err := e.layOut(size)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	in, err := n.input()
	if err != nil {
		return 0, nil, err
	}
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range in {
		in[i] = float32(noise.NormFloat64())
	}
	fastest := time.Duration(math.MaxInt64)
	for i := range 1 + trials {
		start := time.Now()
		if err := n.run(); err != nil {
			return 0, nil, err
		}
		if i > 0 {
			fastest = min(fastest, time.Since(start))
		}
	}
	for i := range taps {
		data, _, err := n.output(nil, i)
		if err != nil {
			return 0, nil, err
		}
		made = append(made, data)
	}
	return float64(fastest.Microseconds()) / 1000, made, nil
}

// ErrRefused says that an engine did not take a model, or not this input.
var ErrRefused = errors.New("the engine refuses it")

// refusal is ErrRefused in an engine's own words.
type refusal string

func (r refusal) Error() string { return string(r) }

func (r refusal) Is(target error) bool { return target == ErrRefused }

// refuse is a refusal by an engine, on one line.
func refuse(engine, words string) error {
	return refusal(engine + " refuses it: " + strings.Join(strings.Fields(words), " "))
}
