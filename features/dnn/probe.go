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
	"strings"
	"time"
)

const (
	// childVariable tells a child of Probe the options, and that it is one.
	childVariable = "SEGD_MODEL_CHECK"
	// probeTimeout is ample for reading a model and two frames on a slow board.
	probeTimeout = 60 * time.Second
	// maxReport bounds what is kept of a child's output.
	maxReport = 4 << 20
)

// report is what the child writes to its standard output.
type report struct {
	Info    *Info  `json:"info,omitempty"`
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"` // the error is ErrRefused
}

// Probe opens a model in a child process, runs frames through it and reports what
// it is. OpenCV ends the process that gives it a bad model, and a library that is not ONNX
// Runtime's may do anything; here that befalls the child, and becomes an error with its last
// words. If the engine is ours to choose and it may have been ONNX Runtime, a second child
// tries the model without.
//
// The child is this program, called as "model check --json PATH", which must call
// [ChildMain] before anything else or [Check] for these arguments. It has ended
// when Probe returns; it is killed when ctx ends or after a minute.
func Probe(ctx context.Context, path string, opt Options) (Info, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Info{}, err
	}
	// What can be said without an engine is said better without it.
	if _, err := readSource(path, opt); err != nil {
		return Info{}, err
	}
	if os.Getenv(childVariable) != "" {
		return Info{}, errors.New("features/dnn: Probe called in a child of Probe: the program does not answer \"model check --json PATH\"")
	}
	info, err := probe(ctx, path, opt)
	if crash, ok := errors.AsType[*crash](err); ok && opt.Engine == EngineAuto {
		// It may have been ONNX Runtime.
		opt.Engine = EngineOpenCV
		if info, err = probe(ctx, path, opt); err == nil {
			info.Engines = append(info.Engines, EngineInfo{Name: EngineONNXRuntime, Library: opt.EngineLibrary, Error: crash.words})
		}
	}
	return info, err
}

// crash is how a child ended that wrote no report. It is ErrRefused.
type crash struct{ path, engine, words string }

func (c *crash) Error() string {
	return fmt.Sprintf("features/dnn: model %s: %s refuses it: %s", c.path, c.engine, c.words)
}

func (c *crash) Is(target error) bool { return target == ErrRefused }

// probe has one child try a model.
func probe(ctx context.Context, path string, opt Options) (Info, error) {
	self, err := os.Executable()
	if err != nil {
		return Info{}, fmt.Errorf("features/dnn: finding this program to probe %s: %w", path, err)
	}
	options, err := json.Marshal(opt)
	if err != nil {
		return Info{}, fmt.Errorf("features/dnn: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "model", "check", "--json", path)
	cmd.Env = append(os.Environ(), childVariable+"="+string(options))
	cmd.WaitDelay = time.Second
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return Info{}, fmt.Errorf("features/dnn: probing model %s: %w", path, context.Cause(ctx))
	}
	return readReport(path, opt.Engine, stdout.Bytes(), stderr.String(), err)
}

// readReport makes sense of what a child left behind.
func readReport(path, engine string, stdout []byte, stderr string, exit error) (Info, error) {
	var r report
	decoded := json.Unmarshal(stdout, &r)
	switch {
	case decoded == nil && r.Refused:
		return Info{}, refusal(r.Error)
	case decoded == nil && r.Error != "":
		return Info{}, errors.New(r.Error)
	case exit != nil:
		name := "OpenCV"
		if engine == EngineONNXRuntime {
			name = "ONNX Runtime"
		}
		return Info{}, &crash{path, name, lastWords(stderr, exit)}
	case decoded != nil || r.Info == nil:
		return Info{}, fmt.Errorf("features/dnn: probing model %s: the child wrote %.80q instead of a report", path, stdout)
	}
	return *r.Info, nil
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

// ChildProbe opens a model in this process, runs two frames through it and reports
// what it is. A model that an engine dislikes may end the process: this is what the
// child of Probe does. A child of Probe uses its parent's options.
func ChildProbe(path string, opt Options) (Info, error) {
	if parent := os.Getenv(childVariable); parent != "" {
		opt = Options{}
		if err := json.Unmarshal([]byte(parent), &opt); err != nil {
			return Info{}, fmt.Errorf("features/dnn: %s: %w", childVariable, err)
		}
	}
	m, err := openUnchecked(path, opt)
	if err != nil {
		return Info{}, err
	}
	defer m.Close()
	info := m.Info()
	grey := bytes.Repeat([]byte{128}, 3*info.NominalWidth*info.NominalHeight)
	// The first frame lays out memory, the second is timed.
	maps, err := m.Features(nil, grey, info.NominalWidth, info.NominalHeight, features.View{})
	if err != nil {
		return Info{}, err
	}
	start := time.Now()
	if _, err := m.Features(maps, grey, info.NominalWidth, info.NominalHeight, features.View{}); err != nil {
		return Info{}, err
	}
	info.Milliseconds = float64(time.Since(start).Microseconds()) / 1000
	return info, nil
}

// Check runs ChildProbe and writes {"info":…} or {"error":…} to w as one JSON
// object, as "model check --json PATH" must. It returns ChildProbe's error too.
func Check(w io.Writer, path string, opt Options) error {
	info, err := ChildProbe(path, opt)
	r := report{Info: &info}
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
