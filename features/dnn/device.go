package dnn

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// What computes a model: Computing.Device and Info.Device.
const (
	DeviceAuto     = "auto"
	DeviceCPU      = "cpu"
	DeviceCUDA     = "cuda"     // an NVIDIA card, by OpenCV or by ONNX Runtime
	DeviceTensorRT = "tensorrt" // the same, by ONNX Runtime's TensorRT
)

const (
	// DefaultBatch is how many images a card computes in a run at most, unless Computing.Batch says.
	DefaultBatch = 8
	// DefaultBatchWait is Computing.BatchWait's default: about as long as a card takes for a run.
	DefaultBatchWait = 2 * time.Millisecond
)

// batchOn is how many images go into a run on a device at most.
func (r *runner) batchOn(device string) int {
	switch {
	case r.opt.Batch > 0:
		return r.opt.Batch
	case device == DeviceCPU:
		return 1
	}
	return DefaultBatch
}

func (r *runner) newBackend(e engine, name, device string) *backend {
	return newBackend(e, name, device, r.batchOn(device), r.opt.BatchWait)
}

// tolerance is how far what a device makes may be from what the processor makes of the same.
func (r *runner) tolerance(device string) float64 {
	if r.opt.FP16 && device != DeviceCPU {
		return toleranceFP16
	}
	return tolerance
}

// choose settles what computes a model whose taps and nominal size are known: the card that is asked for, or
// one that is there, and the processor if it fails.
func (r *runner) choose() error {
	if err := r.chooseProcessor(); err != nil {
		return err
	}
	if r.opt.Device == DeviceCPU {
		return nil
	}
	if err := r.chooseCard(); err != nil && r.opt.Device != DeviceAuto {
		return fmt.Errorf("device %s: %w", r.opt.Device, err)
	}
	return nil
}

// chooseCard asks OpenCV first, then ONNX Runtime. Why neither can use a card is one error, on one line.
func (r *runner) chooseCard() error {
	device := r.opt.Device
	if device == DeviceAuto {
		device = DeviceCUDA
	}
	cv, ort := errOnlyONNXRuntime, errOnlyOpenCV
	if r.opt.Engine != EngineONNXRuntime && device != DeviceTensorRT {
		if cv = r.chooseOpenCVCard(); cv == nil {
			return nil
		}
	}
	if r.opt.Engine != EngineOpenCV {
		if ort = r.chooseONNXRuntimeCard(device); ort == nil {
			return nil
		}
	}
	return fmt.Errorf("%w; %w", cv, ort)
}

var (
	errOnlyONNXRuntime = errors.New("OpenCV is not to compute it")
	errOnlyOpenCV      = errors.New("ONNX Runtime is not to compute it")
	errNoCUDADevice    = errors.New("OpenCV sees no CUDA device, segd doctor says why")
)

func (r *runner) chooseOpenCVCard() error {
	e, err := newOpenCV(r.src, DeviceCUDA, r.opt.FP16, r.taps)
	if err != nil {
		return err
	}
	if cudaDevices() <= 0 {
		return errNoCUDADevice
	}
	return r.useCard(e, EngineInfo{Name: EngineOpenCV, Version: openCVVersion(), Device: DeviceCUDA})
}

func (r *runner) chooseONNXRuntimeCard(device string) error {
	about := EngineInfo{Name: EngineONNXRuntime, Device: device}
	e, err := r.openONNXRuntime(device)
	if err != nil {
		if !errors.Is(err, errNoProvider) && !errors.Is(err, errNoLibrary) { // it is there and does not work
			about.Error = err.Error()
			r.engines = append(r.engines, about)
		}
		return err
	}
	about.Version, about.Library = e.version, e.library
	return r.useCard(e, about)
}

// useCard has a card compute from now on, if it makes the same as the processor.
func (r *runner) useCard(e engine, about EngineInfo) error {
	_, want, err := trial(r.cpu.engine, r.nominal, len(r.taps), 1)
	var made [][]float32
	if err == nil {
		about.Milliseconds, made, err = trial(e, r.nominal, len(r.taps), trials)
	}
	if err == nil {
		err = apart(want, made, "the processor's", r.tolerance(about.Device))
	}
	if err != nil {
		about.Error = err.Error()
		r.engines = append(r.engines, about)
		return errors.Join(err, e.close())
	}
	r.card = r.newBackend(e, about.Name, about.Device)
	r.tryBatch(r.card, &about)
	r.engines = append(r.engines, about)
	return nil
}

const (
	// firstPause is how long a card that failed is left alone, and mostPause how long after it failed
	// again and again.
	firstPause = 5 * time.Second
	mostPause  = 5 * time.Minute
)

// failover is whether a card has failed, and when it is tried again.
type failover struct {
	mu    sync.Mutex
	is    bool
	tried bool // a caller tries it
	until time.Time
	pause time.Duration
	times uint64 // that it failed, having computed before
}

// backend is what computes the next image: the card, unless it has failed and is left alone.
func (r *runner) backend() *backend {
	if r.card == nil {
		return r.cpu
	}
	f := &r.failover
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is {
		now := time.Now()
		if now.Before(f.until) {
			return r.cpu
		}
		f.tried, f.until = true, now.Add(f.pause) // the caller that asks now tries it, others wait how that goes
	}
	return r.card
}

// failOver has the processor compute for a while, as the card has failed.
func (r *runner) failOver(why error) {
	f := &r.failover
	f.mu.Lock()
	before := f.is
	if !before {
		f.times++
	}
	if !before || f.tried { // and not one of those that were at it when it failed
		f.is, f.tried = true, false
		f.pause = min(max(firstPause, 2*f.pause), mostPause)
		f.until = time.Now().Add(f.pause)
	}
	f.mu.Unlock()
	// What it was laid out for may be lost with it. An error of closing that says nothing new.
	_ = r.card.drop()
	if !before && r.opt.OnDevice != nil {
		r.opt.OnDevice(r.cpu.name, r.cpu.device, why)
	}
}

// failBack is called when the card has computed an image.
func (r *runner) failBack() {
	f := &r.failover
	f.mu.Lock()
	back := f.tried
	if back {
		f.is, f.tried, f.pause = false, false, 0
	}
	f.mu.Unlock()
	if back && r.opt.OnDevice != nil {
		r.opt.OnDevice(r.card.name, r.card.device, nil)
	}
}

// chosen is what computes where nothing has failed.
func (r *runner) chosen() *backend {
	if r.card != nil {
		return r.card
	}
	return r.cpu
}

// NeedsCore says whether the processor computes the next image.
func (r *runner) NeedsCore() bool {
	if r.card == nil {
		return true
	}
	r.failover.mu.Lock()
	defer r.failover.mu.Unlock()
	return r.failover.is
}

// Status is what computes a model now, and what has since it was opened.
type Status struct {
	Engine, Device string
	// Failed says that a card has, and that the processor computes for it; Failures is how often it did.
	Failed   bool
	Failures uint64
	Work     map[string]Work // by device
}

// Work is what a device has computed.
type Work struct {
	Runs   uint64 // forward passes
	Images uint64 // in them
}

// Status tells how the model is computed.
func (r *runner) Status() Status {
	s := Status{Work: map[string]Work{}}
	for _, c := range []*backend{r.cpu, r.card} {
		if c != nil {
			s.Engine, s.Device = c.name, c.device
			c.mu.Lock()
			s.Work[c.device] = c.work
			c.mu.Unlock()
		}
	}
	r.failover.mu.Lock()
	defer r.failover.mu.Unlock()
	if s.Failed, s.Failures = r.failover.is, r.failover.times; s.Failed {
		s.Engine, s.Device = r.cpu.name, r.cpu.device
	}
	return s
}
