package dnn

import (
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/internal/files"
)

// libraryName is ONNX Runtime's shared library.
const libraryName = "libonnxruntime.so"

var (
	errNoLibrary  = errors.New("there is no " + libraryName) // see LibraryFolders
	errNoProvider = errors.New("this ONNX Runtime computes on the processor only")
)

// LibraryFolders are where ONNX Runtime's shared library is looked for unless
// Computing.EngineLibrary says where it is: beside the program, in the folder of its package,
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
	err := fmt.Errorf("%w in %s", errNoLibrary, strings.Join(folders, ", "))
	if !WithOpenCV {
		err = fmt.Errorf("%w; %w", err, errWithoutOpenCV)
	}
	return "", err
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
	// Why a library does not load is told to the thread that tried, and the package asks in a call of its own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
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
	device           string
	session          *ort.DynamicAdvancedSession
	input            string
	taps             []string // tensors, as cut makes them

	mu     sync.Mutex             // guards what follows
	shapes map[inputOf][]tapShape // of the taps, for each input that was run
}

// tapShape is the shape of a tap. It does not change.
type tapShape struct {
	ort.Shape
	sides []int // the same
}

// inputOf is an input size for so many images.
type inputOf struct {
	size   image.Point
	images int
}

// openONNXRuntime prepares a model for ONNX Runtime on a device.
func (r *runner) openONNXRuntime(device string) (e *onnxRuntime, err error) {
	if r.src.graph == nil {
		return nil, fmt.Errorf("ONNX Runtime does not read %s models", r.src.format)
	}
	e = &onnxRuntime{device: device, input: r.src.graph.inputs[0].name, shapes: map[inputOf][]tapShape{}}
	if e.library, err = r.loadONNXRuntime(device); err != nil {
		return nil, err
	}
	e.version = ort.GetVersion()
	cut, taps, err := r.src.graph.cut(r.src.data, r.taps, r.batchOn(device) > 1)
	if err != nil {
		return nil, err
	}
	e.taps = taps
	if e.session, err = r.newSession(cut, e, device); err != nil {
		return nil, refuse("ONNX Runtime", onnxRuntimeWords(err.Error()))
	}
	return e, nil
}

// loadONNXRuntime loads the library, which has to compute on a device.
func (r *runner) loadONNXRuntime(device string) (library string, err error) {
	library = r.opt.EngineLibrary
	if library == "" {
		if library, err = findLibrary(); err != nil {
			return "", err
		}
	}
	if provider := providers[device]; provider != "" {
		// The library says no more than that it could not be loaded.
		if _, err := os.Stat(filepath.Join(filepath.Dir(library), provider)); err != nil {
			return "", fmt.Errorf("%w: no %s beside %s", errNoProvider, provider, library)
		}
	}
	err = files.Check(library, files.Library)
	if err == nil {
		err = loadLibrary(library)
	}
	if err != nil {
		return "", fmt.Errorf("ONNX Runtime: %w", err)
	}
	return library, nil
}

// onnxLayers lists the layers of the model, called as OpenCV calls them, and their shapes for an input size: what a run makes of
// which all are outputs.
func (r *runner) onnxLayers(size image.Point) (layers []Layer, err error) {
	if _, err := r.loadONNXRuntime(DeviceCPU); err != nil {
		return nil, err
	}
	graph := r.src.graph
	var taps []tap
	of := map[string]int{} // the tap that is a tensor
	var made []int         // by each layer: a tap
	add := func(l Layer, tensor, tapped string) {
		if _, ok := of[tensor]; !ok {
			of[tensor] = len(taps)
			taps = append(taps, tap{name: tapped})
		}
		layers, made = append(layers, l), append(made, of[tensor])
	}
	for i := range graph.nodes {
		n := &graph.nodes[i]
		if len(n.outputs) == 0 || n.outputs[0] == "" || n.op == "Constant" {
			continue
		}
		tapped := onnxTensorPrefix + n.outputs[0]
		l := Layer{Name: tapped, Type: n.op}
		if n.name != "" {
			l.Name = onnxNodePrefix + n.name
		}
		add(l, n.outputs[0], tapped)
	}
	for _, v := range graph.outputs {
		add(Layer{Name: v.name, Type: "Identity", Output: true}, v.name, v.name)
	}
	model, outputs, err := graph.cut(r.src.data, taps, false)
	if err != nil {
		return nil, err
	}
	e := &onnxRuntime{input: graph.inputs[0].name, taps: outputs}
	if e.session, err = r.newSession(model, e, DeviceCPU); err != nil {
		return nil, refuse("ONNX Runtime", onnxRuntimeWords(err.Error()))
	}
	defer func() { err = errors.Join(err, e.close()) }()
	in, err := ort.NewEmptyTensor[float32](ort.NewShape(1, inputChannels, int64(size.Y), int64(size.X)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Destroy()) }()
	values := make([]ort.Value, len(outputs))
	defer func() {
		for _, v := range values {
			if v != nil {
				err = errors.Join(err, v.Destroy())
			}
		}
	}()
	if err := e.session.Run([]ort.Value{in}, values); err != nil {
		return nil, refuse("ONNX Runtime", onnxRuntimeWords(err.Error()))
	}
	for i := range layers {
		for _, side := range values[made[i]].GetShape() {
			layers[i].Shape = append(layers[i].Shape, int(side))
		}
	}
	return layers, nil
}

// providers are the libraries that ONNX Runtime computes by on a card.
var providers = map[string]string{
	DeviceCUDA:     "libonnxruntime_providers_cuda.so",
	DeviceTensorRT: "libonnxruntime_providers_tensorrt.so",
}

// newSession hands a model to ONNX Runtime.
func (r *runner) newSession(model []byte, e *onnxRuntime, device string) (_ *ort.DynamicAdvancedSession, err error) {
	opt, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opt.Destroy()) }()
	for _, set := range []func() error{
		func() error { return opt.SetIntraOpNumThreads(r.opt.Threads) },
		func() error { return opt.SetInterOpNumThreads(1) },
		// Threads that wait for work take the cores from the superpixels.
		func() error { return opt.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
		// A block of memory for each input size that there ever was saves no time.
		func() error { return opt.SetMemPattern(false) },
		func() error { return r.addProviders(opt, e.input, device) },
	} {
		if err := set(); err != nil {
			return nil, err
		}
	}
	return ort.NewDynamicAdvancedSessionWithONNXData(model, []string{e.input}, e.taps, opt)
}

// addProviders has a session computed by a device.
func (r *runner) addProviders(opt *ort.SessionOptions, input, device string) error {
	if device == DeviceTensorRT {
		cache, err := r.engineCache()
		if err != nil {
			return err
		}
		trt, err := ort.NewTensorRTProviderOptions()
		if err != nil {
			return err
		}
		err = trt.Update(r.tensorRTOptions(input, cache))
		if err == nil {
			err = opt.AppendExecutionProviderTensorRT(trt)
		}
		if err := errors.Join(err, trt.Destroy()); err != nil {
			return err
		}
	}
	if device == DeviceCPU {
		return nil
	}
	// What TensorRT leaves is CUDA's, too.
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	err = cuda.Update(map[string]string{
		"cudnn_conv_algo_search": "HEURISTIC", // trying all of them takes seconds for every size of a window
		"use_tf32":               "0",         // as exact as the processor
	})
	if err == nil {
		err = opt.AppendExecutionProviderCUDA(cuda)
	}
	return errors.Join(err, cuda.Destroy())
}

// tensorRTOptions has one engine take every input there may be: to build one takes a minute, and
// without a profile each size would have its own.
func (r *runner) tensorRTOptions(input, cache string) map[string]string {
	profile := func(images int, size image.Point) string {
		return fmt.Sprintf("%s:%dx%dx%dx%d", input, images, inputChannels, size.Y, size.X)
	}
	least, most := image.Pt(sizeStep, sizeStep), r.nominal.Mul(2)
	if r.src.fixed != (image.Point{}) {
		least, most = r.src.fixed, r.src.fixed
	}
	options := map[string]string{
		"trt_engine_cache_enable": "1",
		"trt_engine_cache_path":   cache,
		"trt_timing_cache_enable": "1",
		"trt_timing_cache_path":   cache,
		"trt_profile_min_shapes":  profile(1, least),
		"trt_profile_opt_shapes":  profile(r.batchOn(DeviceTensorRT), r.nominal),
		"trt_profile_max_shapes":  profile(r.batchOn(DeviceTensorRT), most),
	}
	if r.opt.FP16 {
		options["trt_fp16_enable"] = "1"
	}
	return options
}

// engineCache is the folder for what TensorRT makes of this model. TensorRT names its files by the
// card, too.
func (r *runner) engineCache() (string, error) {
	folder := r.opt.EngineCache
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("where to keep TensorRT's engines: %w", err)
		}
		folder = filepath.Join(user, "segd")
	}
	folder = filepath.Join(folder, "tensorrt", r.sha256[:16])
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of TensorRT's engines: %w", err)
	}
	return folder, nil
}

// onnxRuntimeWords shortens what ONNX Runtime says of a card and of libraries, in which the names of functions
// and files are longer than what is wrong: "…cc:114 std::conditional_t<…> CUDA failure 100: no
// CUDA-capable device is detected ; GPU=-1 ; hostname=…", "…cc:1962 … FAIL : Failed to load library …".
func onnxRuntimeWords(s string) string {
	for _, begin := range []string{"CUDA failure ", "CUDNN failure ", "Failed to load library "} {
		if i := strings.LastIndex(s, begin); i >= 0 {
			s, _, _ = strings.Cut(s[i:], " ; GPU=")
		}
	}
	return s
}

func (e *onnxRuntime) close() error { return e.session.Destroy() }

// onnxRuntimeNetwork has the memory for one input size. The session is the same for all.
type onnxRuntimeNetwork struct {
	engine *onnxRuntime
	size   image.Point
	in     []float32         // of all images
	out    [][]float32       // of all images, once a run has told the shapes
	runs   []*onnxRuntimeRun // by the number of images that they take, made when they are first run
	last   *onnxRuntimeRun   // that was run
}

// onnxRuntimeRun binds the memory for so many images.
type onnxRuntimeRun struct {
	images  int
	in      *ort.Tensor[float32]
	binding *ort.IoBinding // once a run has told the shapes
	out     []*ort.Tensor[float32]
	shapes  []tapShape // of out
}

func (e *onnxRuntime) layOut(size image.Point, images int) (network, error) {
	values := images * inputChannels * size.X * size.Y
	if values < 1 || size.X*size.Y > maxInput {
		return nil, fmt.Errorf("an input of %d×%d pixels", size.X, size.Y)
	}
	n := &onnxRuntimeNetwork{
		engine: e, size: size, in: buffers.Get[float32](values), out: make([][]float32, len(e.taps)),
		runs: make([]*onnxRuntimeRun, 1+images),
	}
	if _, err := n.runFor(1); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (e *onnxRuntime) step() int { return sizeStep }

// keep is for a card, where networks are of several images. On the processor a network is nothing but memory,
// which others take afterwards: of inputs and taps 37 bytes a pixel for the embedded model. To lay one out is some 30 small
// pieces of Go's heap, so those of a few windows stay, 5 MiB together.
func (e *onnxRuntime) keep() int {
	if e.device != DeviceCPU {
		return 1 << 22
	}
	return 1 << 17
}

func (n *onnxRuntimeNetwork) input() ([]float32, error) { return n.in, nil }

// runFor returns what binds the memory for so many images, as far as shapes are known.
func (n *onnxRuntimeNetwork) runFor(images int) (*onnxRuntimeRun, error) {
	if n.runs[images] != nil {
		return n.runs[images], nil
	}
	r := &onnxRuntimeRun{images: images}
	var err error
	shape := ort.NewShape(int64(images), inputChannels, int64(n.size.Y), int64(n.size.X))
	if r.in, err = ort.NewTensor(shape, n.in[:shape.FlattenedSize()]); err != nil {
		return nil, err
	}
	n.runs[images] = r // from here on close frees it
	n.engine.mu.Lock()
	shapes, known := n.engine.shapes[inputOf{n.size, images}]
	n.engine.mu.Unlock()
	if known {
		err = n.bind(r, shapes)
	}
	return r, err
}

func (n *onnxRuntimeNetwork) run(images int) error {
	r, err := n.runFor(images)
	if err != nil {
		return err
	}
	n.last = r
	if r.binding == nil {
		if err := n.runFirst(r); err != nil {
			return errors.Join(err, r.unbind())
		}
		return nil
	}
	if err := n.engine.session.RunWithBinding(r.binding); err != nil {
		return refuse("ONNX Runtime", onnxRuntimeWords(err.Error()))
	}
	return nil
}

// runFirst is the first run of so many images, which tells the shapes of the taps, and lays out memory
// for them.
func (n *onnxRuntimeNetwork) runFirst(r *onnxRuntimeRun) (err error) {
	made := make([]ort.Value, len(n.engine.taps))
	defer func() {
		for _, v := range made {
			if v != nil {
				err = errors.Join(err, v.Destroy())
			}
		}
	}()
	if err := n.engine.session.Run([]ort.Value{r.in}, made); err != nil {
		return refuse("ONNX Runtime", onnxRuntimeWords(err.Error()))
	}
	shapes := make([]tapShape, len(made))
	for i, v := range made {
		if _, ok := v.(*ort.Tensor[float32]); !ok {
			return fmt.Errorf("tap %s is not of float32", n.engine.taps[i])
		}
		shapes[i].Shape = v.GetShape()
		for _, side := range shapes[i].Shape {
			shapes[i].sides = append(shapes[i].sides, int(side))
		}
	}
	if err := n.bind(r, shapes); err != nil {
		return err
	}
	for i, v := range made {
		copy(n.out[i], v.(*ort.Tensor[float32]).GetData())
	}
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	n.engine.shapes[inputOf{n.size, r.images}] = shapes
	return nil
}

// bind lays out memory for taps of known shapes.
func (n *onnxRuntimeNetwork) bind(r *onnxRuntimeRun, shapes []tapShape) (err error) {
	if r.binding, err = n.engine.session.CreateIoBinding(); err != nil {
		return err
	}
	if err := r.binding.BindInput(n.engine.input, r.in); err != nil {
		return err
	}
	r.shapes, r.out = shapes, make([]*ort.Tensor[float32], 0, len(shapes))
	for i, shape := range shapes {
		t, err := n.outputTensor(i, r.images, shape.Shape)
		if err != nil {
			return fmt.Errorf("tap %s: %w", n.engine.taps[i], err)
		}
		r.out = append(r.out, t)
		if err := r.binding.BindOutput(n.engine.taps[i], t); err != nil {
			return err
		}
	}
	return nil
}

// outputTensor is tap i of so many images, in the memory that there is for all.
func (n *onnxRuntimeNetwork) outputTensor(i, images int, shape ort.Shape) (*ort.Tensor[float32], error) {
	values := 1
	for _, side := range shape {
		if side < 1 || side > maxInput {
			return nil, fmt.Errorf("a tensor of %v values", shape)
		}
		values *= int(side)
	}
	if n.out[i] == nil {
		n.out[i] = buffers.Get[float32](values * (len(n.runs) - 1) / images)
	}
	return ort.NewTensor(shape, n.out[i][:values])
}

// unbind undoes bind.
func (r *onnxRuntimeRun) unbind() (err error) {
	if r.binding != nil {
		err = r.binding.Destroy()
	}
	for _, t := range r.out {
		err = errors.Join(err, t.Destroy())
	}
	r.binding, r.out, r.shapes = nil, nil, nil
	return err
}

func (n *onnxRuntimeNetwork) output(dst []float32, i, image int) (data []float32, shape []int, err error) {
	data, shape, err = n.lend(i, image) // planes have their channels last there
	return append(buffers.Fit(dst, len(data))[:0], data...), shape, err
}

func (n *onnxRuntimeNetwork) lend(i, image int) (data []float32, shape []int, err error) {
	shape = n.last.shapes[i].sides
	if len(shape) != 3 && len(shape) != 4 || shape[0] != n.last.images {
		return nil, nil, errShape
	}
	all := n.last.out[i].GetData()
	values := len(all) / n.last.images
	return all[image*values:][:values], shape[1:], nil
}

func (n *onnxRuntimeNetwork) close() (err error) {
	for _, r := range n.runs {
		if r != nil {
			err = errors.Join(err, r.unbind(), r.in.Destroy())
		}
	}
	for _, out := range n.out {
		buffers.Put(out)
	}
	buffers.Put(n.in)
	return err
}
