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

	mu     sync.Mutex                // guards what follows
	shapes map[image.Point][][]int64 // of the taps, for each input size that was run
	spare  [][]float32               // memory of networks that were closed
}

// openONNXRuntime prepares a model for ONNX Runtime.
func (r *runner) openONNXRuntime() (e *onnxRuntime, err error) {
	switch {
	case r.src.graph == nil:
		return nil, fmt.Errorf("ONNX Runtime does not read %s models", r.src.format)
	case r.device != deviceCPU:
		return nil, fmt.Errorf("ONNX Runtime does not compute on device %s here", r.device)
	}
	e = &onnxRuntime{library: r.opt.EngineLibrary, input: r.src.graph.inputs[0].name, shapes: map[image.Point][][]int64{}}
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
		// A block of memory for each input size that there ever was saves no time.
		func() error { return opt.SetMemPattern(false) },
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
	size    image.Point
	binding *ort.IoBinding
	in      *bound
	out     []*bound // once a run has told their shapes
}

// bound is memory of Go's that ONNX Runtime reads or writes.
type bound struct {
	*ort.Tensor[float32]
	shape []int     // the tensor's own, without a copy
	data  []float32 // may be longer
}

func (e *onnxRuntime) newBound(shape []int64) (*bound, error) {
	t, values := &bound{shape: make([]int, len(shape))}, 1
	for i, n := range shape {
		if n < 1 || n > maxInput {
			return nil, fmt.Errorf("a tensor of %v values", shape)
		}
		t.shape[i] = int(n)
		values *= int(n)
	}
	t.data = e.memory(values)
	var err error
	t.Tensor, err = ort.NewTensor(shape, t.data)
	return t, err
}

// maxSpare is how many pieces of memory wait for the next network: an input and a tap. Networks
// of windows that grow and shrink come and go, and fresh memory takes a fifth of a forward pass.
const maxSpare = 2

// memory returns so many values or more, of any value.
func (e *onnxRuntime) memory(values int) []float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, s := range e.spare { // the smallest first
		if len(s) >= values {
			e.spare = slices.Delete(e.spare, i, i+1)
			return s
		}
	}
	return make([]float32, values)
}

// free destroys a tensor and keeps its memory, or what is larger.
func (e *onnxRuntime) free(t *bound) error {
	err := t.Destroy()
	e.mu.Lock()
	defer e.mu.Unlock()
	at, _ := slices.BinarySearchFunc(e.spare, len(t.data), func(s []float32, n int) int { return len(s) - n })
	if e.spare = slices.Insert(e.spare, at, t.data); len(e.spare) > maxSpare {
		e.spare = slices.Delete(e.spare, 0, 1)
	}
	return err
}

func (e *onnxRuntime) layOut(size image.Point) (network, error) {
	n := &onnxRuntimeNetwork{engine: e, size: size}
	var err error
	if n.in, err = e.newBound([]int64{1, inputChannels, int64(size.Y), int64(size.X)}); err != nil {
		return nil, err
	}
	e.mu.Lock()
	shapes, known := e.shapes[size]
	e.mu.Unlock()
	if known {
		if err := n.bind(shapes); err != nil {
			return nil, errors.Join(err, n.close())
		}
	}
	return n, nil
}

func (e *onnxRuntime) step() int { return sizeStep }

// keep is enough for a whole picture and a few crops: a network is nothing but memory, of inputs
// and taps 28 bytes a pixel for the embedded model.
func (e *onnxRuntime) keep() int { return 1 << 19 }

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
	shapes := make([][]int64, len(made))
	for i, v := range made {
		if _, ok := v.(*ort.Tensor[float32]); !ok {
			return fmt.Errorf("tap %s is not of float32", n.engine.taps[i])
		}
		shapes[i] = v.GetShape()
	}
	if err := n.bind(shapes); err != nil {
		return err
	}
	for i, v := range made {
		copy(n.out[i].data, v.(*ort.Tensor[float32]).GetData())
	}
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	n.engine.shapes[n.size] = shapes
	return nil
}

// bind lays out memory for taps of known shapes.
func (n *onnxRuntimeNetwork) bind(shapes [][]int64) (err error) {
	if n.binding, err = n.engine.session.CreateIoBinding(); err != nil {
		return err
	}
	if err := n.binding.BindInput(n.engine.input, n.in.Tensor); err != nil {
		return err
	}
	for i, shape := range shapes {
		t, err := n.engine.newBound(shape)
		if err != nil {
			return fmt.Errorf("tap %s: %w", n.engine.taps[i], err)
		}
		n.out = append(n.out, t)
		if err := n.binding.BindOutput(n.engine.taps[i], t.Tensor); err != nil {
			return err
		}
	}
	return nil
}

// unbind undoes bind.
func (n *onnxRuntimeNetwork) unbind() (err error) {
	if n.binding != nil {
		err = n.binding.Destroy()
	}
	for _, t := range n.out {
		err = errors.Join(err, n.engine.free(t))
	}
	n.binding, n.out = nil, nil
	return err
}

func (n *onnxRuntimeNetwork) output(dst []float32, i int) (data []float32, shape []int, err error) {
	t := n.out[i]
	if len(t.shape) != 3 && len(t.shape) != 4 || t.shape[0] != 1 {
		return nil, nil, errShape
	}
	return append(dst[:0], t.GetData()...), t.shape[1:], nil
}

func (n *onnxRuntimeNetwork) close() error { return errors.Join(n.unbind(), n.engine.free(n.in)) }
