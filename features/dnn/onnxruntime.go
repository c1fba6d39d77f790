package dnn

import (
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// libraryName is ONNX Runtime's shared library.
const libraryName = "libonnxruntime.so"

// errNoLibrary: see LibraryFolders.
var errNoLibrary = errors.New("there is no " + libraryName)

// LibraryFolders are where ONNX Runtime's shared library is looked for unless
// Options.EngineLibrary says where it is: beside the program, in the folder of its package,
// and where scripts/setup puts it.
func LibraryFolders() []string {
	folders := []string{"/usr/local/lib/segd", "/usr/lib/segd"}
	if self, err := os.Executable(); err == nil {
		at := filepath.Dir(self)
		folders = slices.Insert(folders, 0, at, filepath.Join(at, "../lib/segd"))
	}
	return folders
}

// findLibrary returns the path of ONNX Runtime's library.
func findLibrary() (string, error) {
	folders := LibraryFolders()
	for _, f := range folders {
		path := filepath.Join(f, libraryName)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in %s", errNoLibrary, strings.Join(folders, ", "))
}

// loaded is the library that this process has loaded, of which there can be one only.
var loaded struct {
	sync.Mutex
	library string
}

// loadLibrary loads ONNX Runtime from path, for as long as the process lives.
func loadLibrary(path string) error {
	loaded.Lock()
	defer loaded.Unlock()
	switch loaded.library {
	case path:
		return nil
	case "":
	default:
		return fmt.Errorf("%s: this process has loaded %s already", path, loaded.library)
	}
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return err
	}
	loaded.library = path
	return nil
}

// onnxRuntime computes a model with ONNX Runtime.
type onnxRuntime struct {
	library, version string
	session          *ort.DynamicAdvancedSession
	input            string
	taps             []string // tensors, as cut makes them
}

// openONNXRuntime prepares a model for ONNX Runtime.
func (r *runner) openONNXRuntime() (e *onnxRuntime, err error) {
	switch {
	case r.src.graph == nil:
		return nil, fmt.Errorf("ONNX Runtime does not read %s models", r.src.format)
	case r.device != deviceCPU:
		return nil, fmt.Errorf("ONNX Runtime does not compute on device %s here", r.device)
	}
	e = &onnxRuntime{library: r.opt.EngineLibrary, input: r.src.graph.inputs[0].name}
	if e.library == "" {
		if e.library, err = findLibrary(); err != nil {
			return nil, err
		}
	}
	if err := loadLibrary(e.library); err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %w", err)
	}
	e.version = ort.GetVersion()
	cut, taps, err := r.src.graph.cut(r.src.data, r.taps)
	if err != nil {
		return nil, err
	}
	e.taps = taps
	if e.session, err = newSession(cut, e.input, e.taps, r.opt.Threads); err != nil {
		return nil, refuse("ONNX Runtime", err.Error())
	}
	return e, nil
}

// newSession hands a model to ONNX Runtime.
func newSession(model []byte, input string, taps []string, threads int) (_ *ort.DynamicAdvancedSession, err error) {
	opt, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opt.Destroy()) }()
	for _, set := range []func() error{
		func() error { return opt.SetIntraOpNumThreads(threads) },
		func() error { return opt.SetInterOpNumThreads(1) },
		// Threads that wait for work take the cores from the superpixels.
		func() error { return opt.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
	} {
		if err := set(); err != nil {
			return nil, err
		}
	}
	return ort.NewDynamicAdvancedSessionWithONNXData(model, []string{input}, taps, opt)
}

func (e *onnxRuntime) close() error { return e.session.Destroy() }

// onnxRuntimeNetwork has the memory for one input size. The session is the same for all.
type onnxRuntimeNetwork struct {
	engine  *onnxRuntime
	binding *ort.IoBinding
	in      *bound
	out     []*bound // once a run has told their shapes
}

// bound is memory of Go's that ONNX Runtime reads or writes.
type bound struct {
	*ort.Tensor[float32]
	shape []int // the tensor's own, without a copy
}

func newBound(shape []int64) (*bound, error) {
	t := new(bound)
	for _, n := range shape {
		if n < 1 || n > maxInput {
			return nil, fmt.Errorf("a tensor of %v values", shape)
		}
		t.shape = append(t.shape, int(n))
	}
	var err error
	t.Tensor, err = ort.NewEmptyTensor[float32](shape)
	return t, err
}

func (e *onnxRuntime) layOut(size image.Point) (network, error) {
	n := &onnxRuntimeNetwork{engine: e}
	var err error
	if n.in, err = newBound([]int64{1, inputChannels, int64(size.Y), int64(size.X)}); err != nil {
		return nil, err
	}
	return n, nil
}

func (e *onnxRuntime) step() int { return sizeStep }

func (n *onnxRuntimeNetwork) input() ([]float32, error) { return n.in.GetData(), nil }

func (n *onnxRuntimeNetwork) run() error {
	if n.binding == nil {
		if err := n.runFirst(); err != nil {
			return errors.Join(err, n.unbind())
		}
		return nil
	}
	if err := n.engine.session.RunWithBinding(n.binding); err != nil {
		return refuse("ONNX Runtime", err.Error())
	}
	return nil
}

// runFirst is the first run, which tells the shapes of the taps, and lays out memory for them.
func (n *onnxRuntimeNetwork) runFirst() (err error) {
	made := make([]ort.Value, len(n.engine.taps))
	defer func() {
		for _, v := range made {
			if v != nil {
				err = errors.Join(err, v.Destroy())
			}
		}
	}()
	if err := n.engine.session.Run([]ort.Value{n.in.Tensor}, made); err != nil {
		return refuse("ONNX Runtime", err.Error())
	}
	if n.binding, err = n.engine.session.CreateIoBinding(); err != nil {
		return err
	}
	if err := n.binding.BindInput(n.engine.input, n.in.Tensor); err != nil {
		return err
	}
	for i, v := range made {
		computed, ok := v.(*ort.Tensor[float32])
		if !ok {
			return fmt.Errorf("tap %s is not of float32", n.engine.taps[i])
		}
		t, err := newBound(v.GetShape())
		if err != nil {
			return fmt.Errorf("tap %s: %w", n.engine.taps[i], err)
		}
		copy(t.GetData(), computed.GetData())
		n.out = append(n.out, t)
		if err := n.binding.BindOutput(n.engine.taps[i], t.Tensor); err != nil {
			return err
		}
	}
	return nil
}

// unbind undoes runFirst.
func (n *onnxRuntimeNetwork) unbind() error {
	var errs []error
	if n.binding != nil {
		errs = append(errs, n.binding.Destroy())
	}
	for _, t := range n.out {
		errs = append(errs, t.Destroy())
	}
	n.binding, n.out = nil, nil
	return errors.Join(errs...)
}

func (n *onnxRuntimeNetwork) output(dst []float32, i int) (data []float32, shape []int, err error) {
	t := n.out[i]
	if len(t.shape) != 3 && len(t.shape) != 4 || t.shape[0] != 1 {
		return nil, nil, errShape
	}
	return append(dst[:0], t.GetData()...), t.shape[1:], nil
}

func (n *onnxRuntimeNetwork) close() error { return errors.Join(n.unbind(), n.in.Destroy()) }
