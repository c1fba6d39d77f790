package dnn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/segd/segd/features"
)

const (
	inputChannels = 3
	// sizeStep is what input sides are multiples of: the stride of the coarsest
	// features that usual backbones have.
	sizeStep = features.ModelStep
	// DefaultShortSide is Options.ShortSide's default.
	DefaultShortSide = features.ModelSide
	// maxSide bounds input sides and, beyond any sense, tensor dimensions.
	maxSide = 1 << 15
	// maxScale bounds how small, and how large, a model is shown an image.
	maxScale = 64
	// maxPixelAspect bounds how wide and how high a pixel is: 16×1 of them may be meant to be seen as 1:16.
	maxPixelAspect = 16 * 16
	// maxInput bounds the pixels of a model's input: 8K video.
	maxInput = 7680 * 4320
)

// DefaultMean and DefaultStd normalise the input of segd-p64: means of ImageNet in
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
	Computing
}

// Computing says what computes a model. The zero value is usable.
type Computing struct {
	// Threads is how many threads compute what Features was asked for; OpenCV's are for this
	// process as a whole, as the first model opened has them. 0: GOMAXPROCS, which is right for who does nothing else.
	Threads int `json:"threads,omitempty"`
	// Engine is EngineOpenCV; EngineONNXRuntime, which is an error if its library is not
	// there or does not take the model; "" or EngineAuto for ONNX Runtime where it is there and takes
	// the model, and OpenCV elsewhere.
	Engine string `json:"engine,omitempty"`
	// EngineLibrary is the path of ONNX Runtime's shared library; empty means the first
	// libonnxruntime.so in [LibraryFolders].
	EngineLibrary string `json:"engine_library,omitempty"`
	// Device is what computes: DeviceCPU; DeviceCUDA or DeviceTensorRT, which is an error where neither
	// engine can; "" or DeviceAuto for CUDA where one can. OpenCV is asked first, then ONNX Runtime.
	// When a card fails, the processor computes until it is there again.
	Device string `json:"device,omitempty"`
	// FP16 has a card compute in half precision, by OpenCV and by TensorRT; ONNX Runtime's CUDA does not.
	FP16 bool `json:"fp16,omitempty"`
	// Batch is how many images of a size, of all who use the model, are computed in one run at most;
	// 0: DefaultBatch on a card, one on the processor. BatchWait is how long an image waits for others,
	// 0: DefaultBatchWait; it waits for the run before it, however long that takes.
	Batch     int           `json:"batch,omitempty"`
	BatchWait time.Duration `json:"batch_wait,omitempty"`
	// EngineCache is the folder that keeps what TensorRT makes of a model for a card, which takes it
	// minutes; "" means segd in the user's folder of caches.
	EngineCache string `json:"engine_cache,omitempty"`
	// OnDevice is called when a card has failed, with what computes instead and why, and when it computes
	// again, without an error; nil: it is not told.
	OnDevice func(engine, device string, why error) `json:"-"`
}

// maxBatch bounds Computing.Batch, and maxBatchWait Computing.BatchWait: a frame's time at 10 a second.
const (
	maxBatch     = 64
	maxBatchWait = 100 * time.Millisecond
)

// withDefaults returns o with zeros replaced, or every fault in it.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("features/dnn: "+format, args...))
	}
	if o.ShortSide < 0 || o.ShortSide > maxSide {
		fault("short side of %d pixels; want 1 to %d, or 0 for %d", o.ShortSide, maxSide, DefaultShortSide)
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
	o.ShortSide = cmp.Or(o.ShortSide, DefaultShortSide)
	var err error
	o.Computing, err = o.Computing.withDefaults()
	return o, errors.Join(append(faults, err)...)
}

// withDefaults returns c with zeros replaced, or every fault in it.
func (c Computing) withDefaults() (Computing, error) {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("features/dnn: "+format, args...))
	}
	if c.Threads < 0 {
		fault("%d threads; want 1 or more, or 0 for one a core", c.Threads)
	}
	c.Threads = cmp.Or(c.Threads, runtime.GOMAXPROCS(0))
	switch c.Engine {
	case EngineAuto, EngineONNXRuntime:
	case EngineOpenCV:
		if !WithOpenCV {
			fault("engine %s: %w; want auto or onnxruntime", c.Engine, errWithoutOpenCV)
		}
	case "":
		c.Engine = EngineAuto
	default:
		fault("engine %q; want auto, opencv or onnxruntime", c.Engine)
	}
	switch c.Device {
	case DeviceAuto, DeviceCPU, DeviceCUDA:
	case "":
		c.Device = DeviceAuto
	case DeviceTensorRT:
		if c.Engine == EngineOpenCV && WithOpenCV { // else it is refused already
			fault("device %s by engine %s; want engine auto or %s", c.Device, c.Engine, EngineONNXRuntime)
		}
	default:
		fault("device %q; want auto, cpu, cuda or tensorrt", c.Device)
	}
	if c.Batch < 0 || c.Batch > maxBatch {
		fault("%d images in a batch; want 1 to %d, or 0 for %d on a card and one on the processor", c.Batch, maxBatch, DefaultBatch)
	}
	if c.BatchWait < 0 || c.BatchWait > maxBatchWait {
		fault("an image that waits %v for others; want at most %v, or 0 for %v", c.BatchWait, maxBatchWait, DefaultBatchWait)
	}
	c.BatchWait = cmp.Or(c.BatchWait, DefaultBatchWait)
	return c, errors.Join(faults...)
}

// settle has a model computed by what computed it in a child. Where that is a card and nothing was amiss, the
// engine that stands by is chosen as ever.
func (c *Computing) settle(engine, device string, engines []EngineInfo) {
	c.Device = device
	if device == DeviceCPU || slices.ContainsFunc(engines, func(e EngineInfo) bool { return e.Error != "" }) {
		c.Engine = engine
	}
}

// uncertain says that a child process has to try an engine that computes so, whatever the model: a library
// of a user may do anything, and so may what drives a card.
func (c Computing) uncertain() bool {
	return c.EngineLibrary != "" || c.Device == DeviceCUDA || c.Device == DeviceTensorRT || c.Device != DeviceCPU && cudaDevices() > 0
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
