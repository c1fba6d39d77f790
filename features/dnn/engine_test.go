package dnn

import (
	"image"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/features"
)

// needONNXRuntime skips a test where scripts/setup could not get the library.
func needONNXRuntime(t testing.TB) {
	t.Helper()
	if _, err := findLibrary(); err != nil {
		t.Skip(err)
	}
}

// engines are those that compute here.
func engines() []string {
	if !WithOpenCV {
		return []string{EngineONNXRuntime}
	}
	return []string{EngineOpenCV, EngineONNXRuntime}
}

// needOpenCV skips a test of a program that is built without.
func needOpenCV(t testing.TB) {
	t.Helper()
	if !WithOpenCV {
		t.Skip(errWithoutOpenCV)
	}
}

// distance is the norm of the difference of two maps for the norm of the first.
func distance(a, b []float32) float64 {
	var apart, norm float64
	for i := range a {
		d := float64(a[i] - b[i])
		apart, norm = apart+d*d, norm+float64(a[i])*float64(a[i])
	}
	return math.Sqrt(apart / norm)
}

// Both engines make the same of every tap that OpenCV names, at the size of the picture,
// at another and of a shrunk picture.
func TestEnginesAgree(t *testing.T) {
	needONNXRuntime(t)
	needOpenCV(t)
	nameless := backbone()
	conv, weight := picker("", "s4.small", "s4", 0, 1, 2)
	nameless.nodes[3], nameless.weights = conv, append(nameless.weights, weight)
	for _, tt := range []struct {
		name string
		path string
		opt  Options
	}{
		{"embedded", EmbeddedName, Options{ShortSide: 64}},
		{"a backbone's stages", backbone().write(t), Options{ShortSide: 64}},
		{"taps in another order", backbone().write(t), Options{ShortSide: 64, Taps: []string{"s8.conv", "s4.conv"}}},
		{"a node without a name", nameless.write(t), Options{ShortSide: 64, Taps: []string{"s4"}}},
		{"one size only", averager(96, 64).write(t), raw},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var models [2]*Model
			for i, engine := range []string{EngineOpenCV, EngineONNXRuntime} {
				opt := tt.opt
				opt.Engine = engine
				models[i] = mustOpen(t, tt.path, opt)
				if got := models[i].Info().Engine; got != engine {
					t.Fatalf("computed by %s, want %s", got, engine)
				}
			}
			if a, b := models[0].Info().Taps, models[1].Info().Taps; !slices.EqualFunc(a, b, func(a, b Layer) bool { return a.Name == b.Name && slices.Equal(a.Shape, b.Shape) }) {
				t.Fatalf("taps %v, and %v", a, b)
			}
			for _, size := range []struct{ w, h, shrink int }{{113, 64, 1}, {64, 96, 1}, {128, 128, 2}, {113, 64, 1}} {
				var made [2]features.Sight
				for i, m := range models {
					var err error
					if made[i], err = m.Features(features.Sight{}, noise(size.w, size.h), size.w, size.h, features.View{Scale: 1 / float64(size.shrink)}); err != nil {
						t.Fatal(err)
					}
				}
				for k, a := range made[0].Maps {
					b := made[1].Maps[k]
					d := distance(a.Data, b.Data)
					if a.Data, b.Data = nil, nil; !equalMaps(a, b) || !(d < 1e-5) {
						t.Errorf("%v, map %d: %+v by OpenCV, %+v by ONNX Runtime; apart by %.2g", size, k, a, b, d)
					}
				}
			}
		})
	}
}

func equalMaps(a, b features.Map) bool {
	return a.Channels == b.Channels && a.Height == b.Height && a.Width == b.Width &&
		a.StrideX == b.StrideX && a.StrideY == b.StrideY && a.OffsetX == b.OffsetX && a.OffsetY == b.OffsetY
}

// ONNX Runtime is chosen, and what a frame takes is told.
func TestEngineAuto(t *testing.T) {
	needONNXRuntime(t)
	m := mustOpen(t, EmbeddedName, Options{ShortSide: 96})
	info := m.Info()
	last := len(engines()) - 1
	if !slices.EqualFunc(info.Engines, engines(), func(e EngineInfo, name string) bool { return e.Name == name }) || info.Engine != EngineONNXRuntime {
		t.Fatalf("%s of engines %+v", info.Engine, info.Engines)
	}
	if first, ort := info.Engines[0], info.Engines[last]; first.Version == "" || !(ort.Milliseconds > 0) || ort.Version == "" || ort.Library == "" || ort.Error != "" {
		t.Errorf("engines %+v", info.Engines)
	}
	// A child may choose otherwise, and is followed.
	opened, err := Open(averager(96, 64).write(t), raw)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if info := opened.Info(); len(info.Engines) != 1+last || info.Engines[last].Error != "" || !(info.Engines[last].Milliseconds > 0) {
		t.Errorf("engines %+v", info.Engines)
	}
}

// Where one engine only can be used, that is said, and is an error if it was the other
// that was asked for.
func TestEngineUnfit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s: children that try engines")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := averager(96, 64).write(t)
	detector, names := finders()["YOLOv8"].file(false).write(t), twoNames(t)
	for _, tt := range []struct {
		name, library string
		want          []string
	}{
		{"no such library", filepath.Join(dir, "none.so"), []string{"none.so", "no such file"}},
		{"not a library", text, []string{"text.so", "file too short"}},
		{"another library", library(t, "int segd_test(void) { return 1; }"), []string{"OrtGetApiBase"}},
		{"one that ends the process", library(t, "#include <stdlib.h>\nvoid *OrtGetApiBase(void) { abort(); }"), []string{"SIGABRT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{EmbeddedName, model} {
				opt := Options{ShortSide: 64, Computing: Computing{EngineLibrary: tt.library, Engine: EngineONNXRuntime}}
				open := func() (*Model, error) {
					if path == EmbeddedName {
						return Embedded(opt)
					}
					return Open(path, opt)
				}
				if m, err := open(); err == nil {
					m.Close()
					t.Errorf("%s: no error", path)
				} else if !containsAll(err.Error(), tt.want...) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "OpenCV") {
					t.Errorf("%s: %v; want %q", path, err, tt.want)
				}
				opt.Engine = EngineAuto
				m, err := open()
				if !WithOpenCV { // nothing else is there to compute it
					if err == nil || !containsAll(err.Error(), tt.want...) {
						t.Errorf("%s: %v; want %q", path, err, tt.want)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				defer m.Close()
				if info := m.Info(); info.Engine != EngineOpenCV || len(info.Engines) != 2 || !containsAll(info.Engines[1].Error, tt.want...) {
					t.Errorf("%s: %s, %+v; want %q", path, info.Engine, info.Engines, tt.want)
				}
			}
			d, err := OpenDetector(detector, DetectorOptions{NamesFile: names, Computing: Computing{EngineLibrary: tt.library}})
			if !WithOpenCV {
				if err == nil || !containsAll(err.Error(), tt.want...) {
					t.Errorf("a detector: %v; want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if info := d.Info(); info.Engine != EngineOpenCV || len(info.Engines) != 2 || !containsAll(info.Engines[1].Error, tt.want...) {
				t.Errorf("a detector: %s, %+v; want %q", info.Engine, info.Engines, tt.want)
			}
		})
	}
	if _, err := Embedded(Options{Computing: Computing{Engine: "tensorflow"}}); err == nil || !strings.Contains(err.Error(), `engine "tensorflow"; want auto, opencv or onnxruntime`) {
		t.Errorf("engine tensorflow: %v", err)
	}
}

func containsAll(s string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// library compiles a shared library.
func library(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lib.so")
	gcc := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path)
	gcc.Stdin = strings.NewReader(source)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return path
}

// made is an engine whose only tap is always the same.
type made struct {
	tap []float32
	err error
}

func (m made) layOut(image.Point, int) (network, error) { return m, nil }
func (m made) step() int                                { return sizeStep }
func (m made) keep() int                                { return 0 }
func (m made) input() ([]float32, error)                { return make([]float32, 3), nil }
func (m made) run(int) error                            { return m.err }
func (m made) output(_ []float32, _, _ int) ([]float32, []int, error) {
	return m.tap, []int{1, 1, len(m.tap)}, nil
}
func (m made) lend(int, int) ([]float32, []int, error) { return nil, nil, errShape }
func (m made) close() error                            { return nil }

// A card that makes something else of a picture than the processor does is not used.
func TestApart(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name string
		made []float32
		want string
	}{
		{"the same", []float32{1, 2, 3}, ""},
		{"nearly the same", []float32{1, 2, 3.001}, ""},
		{"other values", []float32{1, 2, 3.1}, "tap 0 differs from the processor's by 0.027"},
		{"none", []float32{1, 2}, "tap 0 has 2 values, and the processor's has 3"},
		{"not a number", []float32{1, 2, nan}, "tap 0 differs"},
	} {
		err := apart([][]float32{{1, 2, 3}}, [][]float32{tt.made}, "the processor's", tolerance)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
