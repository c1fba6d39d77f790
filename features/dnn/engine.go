package dnn

import (
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// What computes a model: Computing.Engine and Info.Engine.
const (
	EngineAuto        = "auto"
	EngineOpenCV      = "opencv"
	EngineONNXRuntime = "onnxruntime"
)

// An engine computes the taps of a model on a device.
type engine interface {
	// layOut prepares the model for an input size and at most so many images in a run.
	layOut(size image.Point, images int) (network, error)
	// step is what the sides of inputs that show a part of an image are multiples of, unless
	// they show all there is: the more it takes to lay the model out, the fewer sizes there are
	// to be.
	step() int
	// keep bounds the pixels of all inputs that it is laid out for, of all images there may be in them, those in
	// use left out: the more it takes to lay the model out, the more. One that is larger by itself may be there besides.
	keep() int
	close() error
}

// A network is a model laid out for one input size. One goroutine at a time may use it, but outputs of
// several images may be read at once. The shapes that it returns are its own, until the next call for that image.
type network interface {
	// input is the normalised images to be looked at, images×3×height×width; it may be longer.
	input() ([]float32, error)
	// run computes the taps of the first so many images that input holds.
	run(images int) error
	// output writes tap i of an image in the last run to dst, as long as that is made:
	// height×width×channels of planes, else as lend has it.
	output(dst []float32, i, image int) (data []float32, shape []int, err error)
	// lend is tap i of an image, which is not of planes, in the network's memory, until it runs again.
	lend(i, image int) (data []float32, shape []int, err error)
	close() error
}

// EngineInfo is how an engine fared with a model.
type EngineInfo struct {
	Name    string `json:"name"` // EngineOpenCV or EngineONNXRuntime
	Version string `json:"version,omitempty"`
	// Device is what it computes on: DeviceCPU and so on.
	Device string `json:"device"`
	// Library is the file it was loaded from; OpenCV is linked.
	Library string `json:"library,omitempty"`
	// Milliseconds is what a frame of the nominal size takes, the fastest of a few; 0: it was not tried.
	Milliseconds float64 `json:"milliseconds,omitempty"`
	// Error is why it is not used.
	Error string `json:"error,omitempty"`
	// Unbatched is why it computes one image at a time although there may be more.
	Unbatched string `json:"unbatched,omitempty"`
}

// chooseProcessor settles what computes a model on the processor, its taps and nominal size known.
func (r *runner) chooseProcessor() error {
	r.engines = nil
	if cv, err := newOpenCV(r.src, DeviceCPU, false, r.taps); err == nil {
		r.engines = []EngineInfo{{Name: EngineOpenCV, Version: openCVVersion(), Device: DeviceCPU}}
		r.cpu = r.newBackend(cv, EngineOpenCV, DeviceCPU)
	}
	if r.opt.Engine == EngineOpenCV {
		r.tryBatch(r.cpu, &r.engines[0])
		return nil
	}
	ort, err := r.openONNXRuntime(DeviceCPU)
	if err != nil && (r.opt.Engine == EngineONNXRuntime || r.cpu == nil) {
		return err
	}
	about := EngineInfo{Name: EngineONNXRuntime, Device: DeviceCPU}
	if err == nil {
		about.Version, about.Library = ort.version, ort.library
		if r.opt.Engine == EngineAuto {
			about.Milliseconds, _, err = trial(ort, r.nominal, len(r.taps), 2) // the first lays out memory
		}
		if err == nil {
			r.cpu = r.newBackend(ort, EngineONNXRuntime, DeviceCPU)
		} else {
			err = errors.Join(err, ort.close())
		}
	}
	if err != nil {
		about.Error = err.Error()
	}
	r.engines = append(r.engines, about)
	if r.cpu == nil {
		return err
	}
	for i := range r.engines {
		if r.engines[i].Name == r.cpu.name {
			r.tryBatch(r.cpu, &r.engines[i])
		}
	}
	return nil
}

const (
	// trials is how many frames a card is timed with; the first makes it ready.
	trials = 3
	// tolerance is how far the taps of two engines may be apart: the norm of their
	// difference for the norm of the taps. That they add in different orders is worth 1e-6.
	tolerance = 1e-3
	// toleranceFP16 is that where one of them computes in half precision.
	toleranceFP16 = 3e-2
)

// apart says by how much taps contradict those of another engine, if they do.
func apart(want, made [][]float32, whose string, tolerance float64) error {
	for t := range want {
		if len(want[t]) != len(made[t]) {
			return fmt.Errorf("tap %d has %d values, and %s has %d", t, len(made[t]), whose, len(want[t]))
		}
		var apart, norm float64
		for i, v := range want[t] {
			d := float64(made[t][i] - v)
			apart, norm = apart+d*d, norm+float64(v)*float64(v)
		}
		if !(apart <= tolerance*tolerance*norm) {
			return fmt.Errorf("tap %d differs from %s by %.2g of its norm", t, whose, math.Sqrt(apart/norm))
		}
	}
	return nil
}

// fillNoise fills inputs with what no two runs have alike, unless they were asked for the same.
func fillNoise(input []float32, seed uint64) {
	noise := rand.New(rand.NewPCG(1, seed))
	for i := range input {
		input[i] = float32(noise.NormFloat64())
	}
}

// trial times an engine with so many frames, and returns the least time and what it made of the noise.
func trial(e engine, size image.Point, taps, frames int) (milliseconds float64, made [][]float32, err error) {
	n, err := e.layOut(size, 1)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	in, err := n.input()
	if err != nil {
		return 0, nil, err
	}
	fillNoise(in, 2)
	fastest := time.Duration(math.MaxInt64)
	for range frames {
		start := time.Now()
		if err := n.run(1); err != nil {
			return 0, nil, err
		}
		fastest = min(fastest, time.Since(start))
	}
	made, err = outputs(n, taps, 0)
	return float64(fastest.Microseconds()) / 1000, made, err
}

// outputs are the taps of an image.
func outputs(n network, taps, image int) (made [][]float32, err error) {
	for i := range taps {
		data, _, err := n.output(nil, i, image)
		if err != nil {
			return nil, err
		}
		made = append(made, data)
	}
	return made, nil
}

// tryBatch has a backend take one image at a time if the model makes something else of one
// among others, and says why.
func (r *runner) tryBatch(c *backend, about *EngineInfo) {
	if c.most == 1 {
		return
	}
	if err := batchTrial(c.engine, r.nominal, len(r.taps), r.tolerance(c.device)); err != nil {
		c.most, about.Unbatched = 1, err.Error()
	}
}

// batchTrial says how two images in a run differ from each in one of its own.
func batchTrial(e engine, size image.Point, taps int, tolerance float64) (err error) {
	n, err := e.layOut(size, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	in, err := n.input()
	if err != nil {
		return err
	}
	values := inputChannels * size.X * size.Y
	var alone [2][][]float32
	for i := range alone {
		fillNoise(in[:values], uint64(i))
		if err := n.run(1); err != nil {
			return err
		}
		if alone[i], err = outputs(n, taps, 0); err != nil {
			return err
		}
	}
	for i := range alone {
		fillNoise(in[i*values:][:values], uint64(i))
	}
	if err := n.run(len(alone)); err != nil {
		return err
	}
	for i, want := range alone {
		made, err := outputs(n, taps, i)
		if err != nil {
			return err
		}
		if err := apart(want, made, "an image's alone", tolerance); err != nil {
			return err
		}
	}
	return nil
}

// What a tap may turn out not to be.
var (
	errNoMap = errors.New("it is not a stack of float32 planes")
	errShape = errors.New("it is neither images×channels×height×width nor images×rows×columns of float32")
)

var errWithoutOpenCV = errors.New("this segd is built without OpenCV (go build -tags opencv builds one with it)")

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
