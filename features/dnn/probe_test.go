package dnn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clipper is a model whose Clip has its bounds as inputs, which makes OpenCV 4.6
// throw while it reads the file.
func clipper() onnxFile {
	return onnxFile{
		inputs:  []message{value("image", elemFloat, 1, 3, 64, 64)},
		outputs: []message{value("clipped", elemFloat, 1, 3, 64, 64)},
		nodes:   []message{node("Clip", "clip", []string{"image", "low", "high"}, []string{"clipped"})},
		weights: []message{tensor("low", nil, 0), tensor("high", nil, 6)},
	}
}

// unfit is a model whose weights are for another number of channels.
func unfit() onnxFile {
	f := averager(64, 64)
	f.outputs = []message{value("out", elemFloat, 1, 2, 64, 64)}
	f.nodes = []message{node("Conv", "conv", []string{"image", "w"}, []string{"out"}, ints("kernel_shape", 1, 1))}
	f.weights = []message{tensor("w", []int{2, 5, 1, 1}, make([]float32, 10)...)}
	return f
}

func TestProbe(t *testing.T) {
	info, err := Probe(t.Context(), averager(96, 64).write(t), raw)
	if err != nil {
		t.Fatal(err)
	}
	if info.Format != "onnx" || info.InputWidth != 96 || info.InputHeight != 64 || info.Channels() != 3 ||
		len(info.SHA256) != 64 || info.Milliseconds <= 0 || len(info.Layers) == 0 {
		t.Errorf("%+v", info)
	}
	if len(info.Taps) != 1 || !slices.Equal(info.Taps[0].Shape, []int{1, 3, 16, 24}) {
		t.Errorf("taps %v", info.Taps)
	}
}

// TestProbePassesOptions checks that the child uses the taps it is told.
func TestProbePassesOptions(t *testing.T) {
	info, err := Probe(t.Context(), backbone().write(t), Options{Taps: []string{"s8.conv"}, ShortSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Taps) != 1 || info.Taps[0].Name != "onnx_node!s8.conv" || info.NominalHeight != 64 {
		t.Errorf("taps %v at %d", info.Taps, info.NominalHeight)
	}
}

func TestProbeEmbedded(t *testing.T) {
	info, err := Probe(t.Context(), EmbeddedName, Options{ShortSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	if info.Path != EmbeddedName || info.Channels() != 64 {
		t.Errorf("%+v", info)
	}
}

func TestOpenRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: children that try models")
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	garbled := slices.Clone(embedded)
	for i := 2000; i < len(garbled); i += 1000 {
		garbled[i] ^= 0xff
	}
	type test struct {
		name    string
		path    string
		opt     Options
		refused bool
		want    []string
	}
	tests := []test{
		{"missing", filepath.Join(dir, "none.onnx"), Options{}, false, []string{"none.onnx", "no such file"}},
		{"not a model", file("text.onnx", []byte("hello")), Options{}, false, []string{"text.onnx: not an ONNX file", "want .onnx or .caffemodel"}},
		{"truncated", file("half.onnx", embedded[:99999]), Options{}, false, []string{"half.onnx: the ONNX file is truncated at 99999 bytes"}},
		{"options", averager(64, 64).write(t), Options{Computing: Computing{Threads: -1}}, false, []string{"-1 threads"}},
		{"tap", averager(64, 64).write(t), Options{Taps: []string{"nose"}}, false, []string{`no layer "nose"; it has "mean"`}},
	}
	caffe := file("net2.caffemodel", []byte("x"))
	if WithOpenCV {
		tests = append(tests, []test{
			{"aborts", clipper().write(t), Options{}, true, []string{"model.onnx: OpenCV refuses it", "Clip"}},
			{"weights do not fit", unfit().write(t), Options{}, true, []string{"model.onnx: ", "OpenCV refuses it"}},
			{"Caffe without description", file("net.caffemodel", []byte("x")), Options{}, false, []string{"net.caffemodel: its description", "net.prototxt"}},
			{"Caffe without sense", caffe, Options{Prototxt: file("net2.prototxt", []byte("layers and layers"))}, true, []string{"net2.caffemodel: OpenCV refuses it"}},
		}...)
	} else {
		tests = append(tests, []test{
			{"weights do not fit", unfit().write(t), Options{}, true, []string{"model.onnx: ONNX Runtime refuses it"}},
			{"Caffe", caffe, Options{}, false, []string{"net2.caffemodel: this segd is built without OpenCV", "which reads Caffe models; want .onnx"}},
			{"OpenCV", averager(64, 64).write(t), Options{Computing: Computing{Engine: EngineOpenCV}}, false, []string{"engine opencv: this segd is built without OpenCV", "; want auto or onnxruntime"}},
		}...)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Open(tt.path, tt.opt)
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			t.Log(err)
			if errors.Is(err, ErrRefused) != tt.refused {
				t.Errorf("is ErrRefused: %v, want %v: %v", !tt.refused, tt.refused, err)
			}
			if s := err.Error(); strings.Contains(s, "\n") || len(s) > 1000 || !strings.HasPrefix(s, "features/dnn: ") {
				t.Errorf("not one clear line: %q", s)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
	t.Run("garbled weights", func(t *testing.T) {
		// Whatever becomes of it, it must not take this process along.
		if m, err := Open(file("garbled.onnx", garbled), Options{ShortSide: 64}); err == nil {
			m.Close()
		}
	})
}

func TestProbeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Probe(ctx, averager(64, 64).write(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}

// TestProbeInChild checks that a program that does not answer as a child does not
// start children of its own.
func TestProbeInChild(t *testing.T) {
	t.Setenv(childVariable, "{}")
	if _, err := Probe(t.Context(), averager(64, 64).write(t), Options{}); err == nil || !strings.Contains(err.Error(), "model check --json") {
		t.Errorf("error %v", err)
	}
}

func TestLastWords(t *testing.T) {
	exit := errors.New("signal: aborted (core dumped)")
	tests := []struct{ name, stderr, want string }{
		{
			"importer",
			"[ERROR:0@0.014] global ./modules/dnn/src/onnx/onnx_importer.cpp (1018) handleNode DNN/ONNX: ERROR during processing node with 3 inputs and 1 outputs: [Clip]:(onnx_node!clip) from domain='ai.onnx'\n" +
				"terminate called after throwing an instance of 'cv::Exception'\n" +
				"  what():  OpenCV(4.6.0) ./modules/dnn/src/onnx/onnx_importer.cpp:1040: error: (-2:Unspecified error) in function 'handleNode'\n" +
				"> Node [Clip@ai.onnx]:(onnx_node!clip) parse error: boom\n\nSIGABRT: abort\nPC=0x7f\n",
			"ERROR during processing node with 3 inputs and 1 outputs: [Clip]:(onnx_node!clip) from domain='ai.onnx': boom",
		},
		{"another exception", "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nSIGABRT: abort\n", "std::bad_alloc"},
		{"a crash", "SIGSEGV: segmentation violation\nPC=0x1\n", "the child process ended with signal: aborted (core dumped): SIGSEGV: segmentation violation"},
		{"silence", "", "the child process ended with signal: aborted (core dumped):"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lastWords(tt.stderr, exit); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestReadReport(t *testing.T) {
	if _, err := readReport("x.onnx", EngineOpenCV, []byte("usage: …"), "", nil); err == nil || !strings.Contains(err.Error(), `"usage: …" instead of a report`) {
		t.Errorf("error %v", err)
	}
	if _, err := readReport("x.onnx", EngineOpenCV, []byte(`{"error":"no"}`), "", errors.New("exit status 2")); err == nil || err.Error() != "no" {
		t.Errorf("error %v", err)
	}
	if i, err := readReport("x.onnx", EngineOpenCV, []byte(`{"info":{"path":"p"}}`), "a warning", nil); err != nil || i.Info.Path != "p" {
		t.Errorf("%v, %v", i, err)
	}
}

func TestCheckWritesJSON(t *testing.T) {
	var out bytes.Buffer
	if err := Check(&out, averager(64, 64).write(t), Options{}); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Info == nil || r.Info.InputWidth != 64 || r.Error != "" {
		t.Errorf("%s: %v", out.Bytes(), err)
	}
	out.Reset()
	if err := Check(&out, "none.onnx", Options{}); err == nil {
		t.Error("no error for a missing file")
	}
	r = report{}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Info != nil || !strings.Contains(r.Error, "none.onnx") {
		t.Errorf("%s: %v", out.Bytes(), err)
	}
}
