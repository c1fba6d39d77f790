package dnn

import (
	"errors"
	"fmt"
	"math"
	"runtime"
)

const (
	inputChannels = 3
	// sizeStep is what input sides are multiples of: the stride of the coarsest
	// features that usual backbones have.
	sizeStep = 32
	// DefaultShortSide is Options.ShortSide's default.
	DefaultShortSide = 480
	// maxSide bounds input sides and, beyond any sense, tensor dimensions.
	maxSide = 1 << 15
	// maxScale bounds how small, and how large, a model is shown an image.
	maxScale = 64
	// maxInput bounds the pixels of a model's input: 8K video.
	maxInput = 7680 * 4320
)

// DefaultMean and DefaultStd normalise the input of segd-s64: means of ImageNet in
// BGR order, and one deviation for all channels. NanoDet wants the same means and
// Std {57.375, 57.12, 58.395}.
var (
	DefaultMean = [3]float64{103.53, 116.28, 123.675}
	DefaultStd  = [3]float64{57.375, 57.375, 57.375}
)

// Options say how a model is used. The zero value is usable.
type Options struct {
	// Taps are the layers whose outputs become feature maps, in this order, named as
	// Info.Layers lists them (what ends in "!" in front may be left out). Empty means the
	// model's own outputs if they are feature maps, else one layer a stride: see
	// [Info].
	Taps []string `json:"taps,omitempty"`
	// ShortSide is about what the shorter side of an image is scaled to before the
	// model sees it; both sides become multiples of 32. 0 means DefaultShortSide.
	// Models with an input size of their own keep that.
	ShortSide int `json:"short_side,omitempty"`
	// Mean and Std normalise the input to (v−Mean)/Std, v in 0…255, in the channel
	// order of the model. If Std is zero both have their defaults; Std {1, 1, 1}
	// with a zero Mean switches normalisation off.
	Mean [3]float64 `json:"mean"`
	Std  [3]float64 `json:"std"`
	// RGB says that the model wants its channels in that order instead of BGR.
	RGB bool `json:"rgb,omitempty"`
	// Prototxt is the network description of a Caffe model; empty means the weights'
	// path with .prototxt for .caffemodel.
	Prototxt string `json:"prototxt,omitempty"`
	// Threads is how many threads compute what Features was asked for; OpenCV's are for this
	// process as a whole. 0: GOMAXPROCS, which is right for who does nothing else.
	Threads int `json:"threads,omitempty"`
	// Engine is EngineOpenCV; EngineONNXRuntime, which is an error if its library is not
	// there or does not take the model; "" or EngineAuto for the faster of the two. They are
	// timed once in a process for a model.
	Engine string `json:"engine,omitempty"`
	// EngineLibrary is the path of ONNX Runtime's shared library; empty means the first
	// libonnxruntime.so in [LibraryFolders].
	EngineLibrary string `json:"engine_library,omitempty"`
	// Device is what computes: "cpu"; "cuda", which is an error without a CUDA device
	// and an OpenCV built for it; "" or "auto" for CUDA where there is one.
	Device string `json:"device,omitempty"`
}

// withDefaults returns o with zeros replaced, or every fault in it.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("features/dnn: "+format, args...))
	}
	if o.ShortSide < 0 || o.ShortSide > maxSide {
		fault("short side of %d pixels; want 1 to %d, or 0 for %d", o.ShortSide, maxSide, DefaultShortSide)
	}
	if o.Threads < 0 {
		fault("%d threads; want 1 or more, or 0 for one a core", o.Threads)
	}
	switch o.Device {
	case "", "auto", deviceCPU, deviceCUDA:
	default:
		fault("device %q; want auto, cpu or cuda", o.Device)
	}
	switch o.Engine {
	case EngineAuto, EngineOpenCV, EngineONNXRuntime:
	case "":
		o.Engine = EngineAuto
	default:
		fault("engine %q; want auto, opencv or onnxruntime", o.Engine)
	}
	seen := map[string]bool{}
	for _, t := range o.Taps {
		if t == "" || seen[t] {
			fault("tap %q is empty or named twice", t)
		}
		seen[t] = true
	}
	if o.Std == [3]float64{} {
		if o.Mean != [3]float64{} {
			fault("mean %v without std; want both or neither", o.Mean)
		}
		o.Mean, o.Std = DefaultMean, DefaultStd
	}
	for c := range o.Std {
		if !(o.Std[c] > 0) || math.IsInf(o.Std[c], 0) || math.IsNaN(o.Mean[c]) || math.IsInf(o.Mean[c], 0) {
			fault("mean %v and std %v; want finite numbers, std above 0", o.Mean, o.Std)
			break
		}
	}
	if o.ShortSide == 0 {
		o.ShortSide = DefaultShortSide
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	return o, errors.Join(faults...)
}

// inputSize chooses the model's input for an image: the shorter side about short,
// both multiples of sizeStep, the aspect kept as nearly as that allows.
func inputSize(width, height, short int) (w, h int) {
	scale := float64(short) / float64(min(width, height))
	step := func(side int) int {
		return max(1, int(math.Round(float64(side)*scale/sizeStep))) * sizeStep
	}
	return step(width), step(height)
}
