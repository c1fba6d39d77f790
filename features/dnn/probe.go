package dnn

import (
	"github.com/segd/segd/features"

	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// childVariable tells a child of Probe the options, and that it is one.
	childVariable = "SEGD_MODEL_CHECK"
	// probeTimeout is ample for reading a model and two frames on a slow board, buildTimeout for
	// TensorRT, which builds an engine first.
	probeTimeout = 60 * time.Second
	buildTimeout = 30 * time.Minute
	// maxReport bounds what is kept of a child's output.
	maxReport = 4 << 20
)

// request is what the child is told: how the model is used.
type request struct {
	Model    Options          `json:"model"`
	Detector *DetectorOptions `json:"detector,omitempty"` // of a detector, for which Model says nothing
}

// computing says what is asked for to compute it.
func (q *request) computing() Computing {
	if q.Detector != nil {
		return q.Detector.Computing
	}
	return q.Model.Computing
}

// by is q with another engine and device.
func (q request) by(engine, device string) request {
	c := &q.Model.Computing
	if q.Detector != nil {
		own := *q.Detector
		q.Detector, c = &own, &own.Computing
	}
	c.Engine, c.Device = engine, device
	return q
}

// timeout is how long the child may take.
func (q *request) timeout() time.Duration {
	if q.computing().Device == DeviceTensorRT {
		return buildTimeout
	}
	return probeTimeout
}

// report is what the child writes to its standard output.
type report struct {
	Info     *Info         `json:"info,omitempty"`
	Detector *DetectorInfo `json:"detector,omitempty"`
	Error    string        `json:"error,omitempty"`
	Refused  bool          `json:"refused,omitempty"` // the error is ErrRefused
}

// Probe opens a model in a child process, runs frames through it and reports what
// it is. OpenCV ends the process that gives it a bad model, and a library that is not ONNX
// Runtime's may do anything; here that befalls the child, and becomes an error with its last
// words. If the engine is ours to choose and it may have been ONNX Runtime, a second child
// tries the model without; if the device is, and it may have been the card, another without that.
//
// The child is this program, called as "model check --json PATH", which must call
// [ChildMain] before anything else or [Check] for these arguments. It has ended
// when Probe returns; it is killed when ctx ends or after a minute, with
// TensorRT, which may have to build an engine first, after half an hour.
func Probe(ctx context.Context, path string, opt Options) (Info, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Info{}, err
	}
	// What can be said without an engine is said better without it.
	if _, err := readSource(path, opt); err != nil {
		return Info{}, err
	}
	r, err := probe(ctx, path, request{Model: opt})
	if err != nil {
		return Info{}, err
	}
	return *r.Info, nil
}

// probe has a child try a model, and another by less where that crashed and may have been the culprit.
func probe(ctx context.Context, path string, q request) (report, error) {
	r, err := runChild(ctx, path, q)
	for _, less := range q.computing().less() {
		crash, ok := errors.AsType[*crash](err)
		if !ok {
			break
		}
		if r, err = runChild(ctx, path, q.by(less.engine, less.device)); err != nil {
			continue
		}
		less.culprit.Error = crash.words
		if q.Detector != nil {
			r.Detector.Engines = append(r.Detector.Engines, less.culprit)
		} else {
			r.Info.Engines = append(r.Info.Engines, less.culprit)
		}
	}
	return r, err
}

// lesser is what a model is tried by after a child has crashed, and what may have been the culprit.
type lesser struct {
	engine, device string
	culprit        EngineInfo
}

// less lists what is left to be tried, where that is ours to choose.
func (c Computing) less() (list []lesser) {
	if !WithOpenCV {
		return nil
	}
	if c.Engine == EngineAuto {
		list = append(list, lesser{EngineOpenCV, c.Device, EngineInfo{Name: EngineONNXRuntime, Device: DeviceCPU, Library: c.EngineLibrary}})
	}
	if c.Device == DeviceAuto && cudaDevices() > 0 {
		list = append(list, lesser{c.Engine, DeviceCPU, EngineInfo{Name: EngineOpenCV, Device: DeviceCUDA}})
		if c.Engine == EngineAuto {
			list = append(list, lesser{EngineOpenCV, DeviceCPU, EngineInfo{Name: EngineONNXRuntime, Device: DeviceCPU, Library: c.EngineLibrary}})
		}
	}
	return list
}

// ProbeDetector does with a detector what Probe does with a feature model.
func ProbeDetector(ctx context.Context, path string, opt DetectorOptions) (DetectorInfo, error) {
	opt, _, err := opt.withDefaults()
	if err != nil {
		return DetectorInfo{}, err
	}
	if _, err := readDetector(path); err != nil {
		return DetectorInfo{}, err
	}
	r, err := probe(ctx, path, request{Detector: &opt})
	if err != nil {
		return DetectorInfo{}, err
	}
	return *r.Detector, nil
}

// crash is how a child ended that wrote no report. It is ErrRefused.
type crash struct{ path, engine, words string }

func (c *crash) Error() string {
	return fmt.Sprintf("features/dnn: model %s: %s refuses it: %s", c.path, c.engine, c.words)
}

func (c *crash) Is(target error) bool { return target == ErrRefused }

// runChild has one child try a model.
func runChild(ctx context.Context, path string, q request) (report, error) {
	if os.Getenv(childVariable) != "" {
		return report{}, errors.New("features/dnn: a model is probed in a child that probes one: the program does not answer \"model check --json PATH\"")
	}
	self, err := os.Executable()
	if err != nil {
		return report{}, fmt.Errorf("features/dnn: finding this program to probe %s: %w", path, err)
	}
	options, err := json.Marshal(q)
	if err != nil {
		return report{}, fmt.Errorf("features/dnn: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout())
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "model", "check", "--json", path)
	cmd.Env = append(os.Environ(), childVariable+"="+string(options))
	cmd.WaitDelay = time.Second
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return report{}, fmt.Errorf("features/dnn: probing model %s: %w", path, context.Cause(ctx))
	}
	return readReport(path, q.computing().Engine, stdout.Bytes(), stderr.String(), err)
}

// readReport makes sense of what a child left behind.
func readReport(path, engine string, stdout []byte, stderr string, exit error) (report, error) {
	var r report
	decoded := json.Unmarshal(stdout, &r)
	switch {
	case decoded == nil && r.Refused:
		return report{}, refusal(r.Error)
	case decoded == nil && r.Error != "":
		return report{}, errors.New(r.Error)
	case exit != nil:
		name := "OpenCV"
		if engine == EngineONNXRuntime || !WithOpenCV {
			name = "ONNX Runtime"
		}
		return report{}, &crash{path, name, lastWords(stderr, exit)}
	case decoded != nil || r.Info == nil && r.Detector == nil:
		return report{}, fmt.Errorf("features/dnn: probing model %s: the child wrote %.80q instead of a report", path, stdout)
	}
	return r, nil
}

// lastWords finds OpenCV's complaint in what a dying process wrote: the importer's
// "[ERROR:…] global … DNN/ONNX: ERROR during processing node with … [Clip]:(name)"
// and the exception's "what():  OpenCV(4.6.0) file:line: error: (code) text in
// function 'f'".
func lastWords(stderr string, exit error) string {
	var words []string
	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		if _, after, ok := strings.Cut(line, "DNN/ONNX: "); ok && strings.HasPrefix(line, "[ERROR") {
			words = append(words, strings.TrimSpace(after))
		}
		if _, after, ok := strings.Cut(line, "what():"); ok {
			// The message may go on, until an empty line or Go's own report.
			for _, more := range lines[i+1:] {
				if strings.TrimSpace(more) == "" || strings.HasPrefix(more, "SIGABRT") {
					break
				}
				after += " " + more
			}
			words = append(words, openCVWords(strings.TrimSpace(after)))
			break
		}
	}
	if len(words) == 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
		words = append(words, strings.TrimSpace(fmt.Sprintf("the child process ended with %v: %.200s", exit, first)))
	}
	return strings.Join(words, ": ")
}

// openCVWords shortens OpenCV's "OpenCV(4.6.0) ./modules/dnn/src/x.cpp:1: error:
// (-215:Assertion failed) a == b in function 'f'\n" to what follows the last
// "error: ", as one exception may quote another, and puts it on one line.
func openCVWords(s string) string {
	if i := strings.LastIndex(s, " error: "); i >= 0 {
		s = s[i+len(" error: "):]
	}
	words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == ">" }) // how it marks further lines
	return strings.Join(words, " ")
}

// childProbe opens a model in this process, runs two frames through it and reports
// what it is. A model that an engine dislikes may end the process: this is what the
// child of Probe does. A child of Probe uses its parent's options.
func childProbe(path string, opt Options) (report, error) {
	q := request{Model: opt}
	if parent := os.Getenv(childVariable); parent != "" {
		q = request{}
		if err := json.Unmarshal([]byte(parent), &q); err != nil {
			return report{}, fmt.Errorf("features/dnn: %s: %w", childVariable, err)
		}
	}
	if q.Detector != nil {
		info, err := tryDetector(path, *q.Detector)
		return report{Detector: &info}, err
	}
	info, err := tryModel(path, q.Model)
	return report{Info: &info}, err
}

// tryModel is childProbe of a feature model.
func tryModel(path string, opt Options) (Info, error) {
	m, err := openUnchecked(path, opt)
	if err != nil {
		return Info{}, err
	}
	defer m.Close()
	info := m.Info()
	var sight features.Sight
	info.Milliseconds, err = timed(info.NominalWidth, info.NominalHeight, func(grey []byte) (err error) {
		sight, err = m.Features(sight, grey, info.NominalWidth, info.NominalHeight, features.View{})
		return err
	})
	return info, err
}

// timed runs two grey frames: the first lays out memory, and it returns what the second took.
func timed(width, height int, run func(bgr []byte) error) (milliseconds float64, err error) {
	grey := bytes.Repeat([]byte{128}, 3*width*height)
	for range 2 {
		start := time.Now()
		if err := run(grey); err != nil {
			return 0, err
		}
		milliseconds = float64(time.Since(start).Microseconds()) / 1000
	}
	return milliseconds, nil
}

// tryDetector is childProbe of a detector.
func tryDetector(path string, opt DetectorOptions) (DetectorInfo, error) {
	d, err := openDetectorUnchecked(path, opt)
	if err != nil {
		return DetectorInfo{}, err
	}
	defer d.Close()
	info := d.Info()
	info.Milliseconds, err = timed(info.InputWidth, info.InputHeight, func(grey []byte) error {
		_, err := d.Detect(nil, grey, info.InputWidth, info.InputHeight, 1)
		return err
	})
	return info, err
}

// Check opens a model in this process, runs frames through it and writes {"info":…},
// {"detector":…} or {"error":…} to w as one JSON object, as "model check --json PATH" must. In a
// child of Probe or ProbeDetector, the options are the parent's. It returns the model's error too.
func Check(w io.Writer, path string, opt Options) error {
	r, err := childProbe(path, opt)
	if err != nil {
		r = report{Error: err.Error(), Refused: errors.Is(err, ErrRefused)}
	}
	return errors.Join(err, json.NewEncoder(w).Encode(r))
}

// ChildMain does a child's work and ends the process if Probe started it; else it
// returns at once. Programs and tests that open models by path call it first in
// main or TestMain.
func ChildMain() {
	if os.Getenv(childVariable) == "" {
		return
	}
	if len(os.Args) != 5 {
		fmt.Fprintf(os.Stderr, "features/dnn: %s is set but the arguments are %q\n", childVariable, os.Args[1:])
		os.Exit(2)
	}
	if Check(os.Stdout, os.Args[4], Options{}) != nil {
		os.Exit(2)
	}
	os.Exit(0)
}

// limited is a buffer that keeps the first maxReport bytes.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(0, maxReport-l.Len()))])
	return len(p), nil
}
