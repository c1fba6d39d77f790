package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/waitfor"
)

// TestMain lets the test binary be the children that the program starts.
func TestMain(m *testing.M) {
	dnn.ChildMain()
	asChild(context.Background())
	os.Exit(m.Run())
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	assert.ErrorContains(t, err, want)
}

func wantFaults(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("faults %q; want %d", got, len(want))
		return
	}
	for i := range want {
		assert.Contains(t, got[i], want[i], "fault")
	}
}

func oneMap(values ...float32) []features.Map {
	return []features.Map{{Channels: 1, Height: 1, Width: len(values), Data: values}}
}

func TestDifference(t *testing.T) {
	d, err := differenceOf(oneMap(3, 4), oneMap(3, 4.5))
	if err != nil || d.largest != 0.5 || math.Abs(d.relative-0.1) > 1e-9 {
		t.Errorf("%+v, %v; want 0.5 and 0.1", d, err)
	}
	if d, err := differenceOf(oneMap(3, 4), oneMap(3, 4)); err != nil || d != (difference{}) {
		t.Errorf("the same: %+v, %v", d, err)
	}
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name      string
		want, got []features.Map
		error     string
	}{
		{"no map", oneMap(1), nil, "0 maps; want 1"},
		{"another size", oneMap(1, 2), oneMap(1), "1×1×1 with 1 values; want 1×2×1"},
		{"no number", oneMap(1, 2), oneMap(1, nan), "want numbers"},
		{"nothing wanted", oneMap(0, 0), oneMap(1, 1), "above 0"},
		{"nothing at all", oneMap(0, 0), oneMap(0, 0), "above 0"},
		{"too large", oneMap(1), oneMap(float32(math.Inf(1))), "want numbers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := differenceOf(tt.want, tt.got)
			wantError(t, err, tt.error)
		})
	}
}

func TestParseGPU(t *testing.T) {
	for _, tt := range []struct {
		text                string
		utilization, memory float64
	}{
		{"37, 1024\n", 37, 1024},
		{"0, 0", 0, 0},
		{"[N/A], 512\n", math.NaN(), 512},
		{"5, [Not Supported]\n", 5, math.NaN()},
	} {
		s, err := parseGPU(tt.text)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if err != nil || !same(s.utilization, tt.utilization) || !same(s.memory, tt.memory) {
			t.Errorf("%q: %+v, %v", tt.text, s, err)
		}
	}
	for _, text := range []string{"", "37", "37, 1024, 3", "37 %, 1024 MiB", "-1, 3", "nan, 3", "37, 1024\n38, 1024", "No devices were found\n"} {
		_, err := parseGPU(text)
		wantError(t, err, "want percent and MiB")
	}
}

func TestUseOf(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	u := useOf([]gpuSample{{at(1), 100, 9000}, {at(2), 10, 1000}, {at(3), 30, math.NaN()}, {at(4), 20, 3000}, {at(5), 100, 9000}}, at(2), at(4))
	if u.Samples != 3 || *u.UtilizationMean != 20 || *u.UtilizationMax != 30 || *u.MemoryMean != 2000 || *u.MemoryMax != 3000 {
		t.Errorf("%+v", u)
	}
	if u := useOf(nil, at(0), at(9)); u.Samples != 0 || u.UtilizationMean != nil || u.MemoryMax != nil {
		t.Errorf("nothing: %+v", u)
	}
}

// smi puts an nvidia-smi into the search path.
func smi(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestWatchGPU(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	smi(t, `echo >>`+asked+`; [ "$*" = "--id=3 --query-gpu=utilization.gpu,memory.used --format=csv,noheader,nounits" ] && echo "42, 1000"`)
	w := watchGPU(t.Context(), "3")
	waitfor.True(t, "the card to be asked again after an answer", func() bool {
		lines, err := os.ReadFile(asked)
		return err == nil && len(lines) >= 2
	})
	samples, err := w.end()
	if err != nil || len(samples) < 1 || samples[0].utilization != 42 || samples[0].memory != 1000 {
		t.Errorf("%v, %v", samples, err)
	}
	if m, err := usedMemory(t.Context(), "3"); err != nil || m != 1000 {
		t.Errorf("%g, %v", m, err)
	}
	w = watchGPU(t.Context(), "4") // the script fails
	w.done.Wait()
	_, err = w.end()
	wantError(t, err, "nvidia-smi: exit status 1")

	smi(t, `echo "42, [N/A]"`)
	_, err = usedMemory(t.Context(), "3")
	wantError(t, err, "does not know")
}

func TestSegd(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	require.NoError(t, os.WriteFile(asked, nil, 0o600))
	smi(t, `echo >>`+asked+`; echo "42, 1000"`)
	program := filepath.Join(t.TempDir(), "segd")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+`echo "time=1 level=WARN" >&2
case $1 in
fine) until [ "$(wc -l <`+asked+`)" -ge 3 ]; do sleep 0.1; done; echo '{"mean_j": 0.5}' ;;
no-object) echo fine ;;
fails) echo "segd: no model" >&2; echo more >&2; exit 3 ;;
hangs) sleep 100 ;;
esac
`), 0o700))
	var f davisFigures
	use, watched, err := segd(t.Context(), program, []string{"fine"}, time.Minute, "0", 0, &f)
	if err != nil || watched != nil || f.MeanJ == nil || *f.MeanJ != 0.5 || use == nil || use.Samples < 1 || *use.UtilizationMax != 42 {
		t.Errorf("%+v, %v, %v, %+v", use, watched, err, f)
	}
	if use, watched, err = segd(t.Context(), program, []string{"fine"}, time.Minute, "", 0, &f); use != nil || watched != nil || err != nil {
		t.Errorf("without a card: %+v, %v, %v", use, watched, err)
	}
	_, _, err = segd(t.Context(), program, []string{"no-object"}, time.Minute, "", 0, &f)
	wantError(t, err, `printed "fine\n"; want a JSON object`)
	_, _, err = segd(t.Context(), program, []string{"fails"}, time.Minute, "", 0, &f)
	wantError(t, err, "exit status 3: segd: no model")
	_, _, err = segd(t.Context(), program, []string{"hangs"}, time.Second, "", 0, &f)
	wantError(t, err, "it took longer than 1s")
	_, _, err = segd(t.Context(), "/no/segd", nil, time.Second, "", 0, &f)
	wantError(t, err, "/no/segd")
}

func TestFaults(t *testing.T) {
	single, half := ways[2], ways[3]
	fine := featureReport{Relative: 1e-4, Batched: 1e-4, ImagesPerRun: 4}
	apart := featureReport{Relative: 2e-3, Batched: 2e-3, ImagesPerRun: 4}
	wantFaults(t, fine.faults(single))
	wantFaults(t, apart.faults(half))
	wantFaults(t, apart.faults(single), "differs from what OpenCV makes", "among others")
	apart.Relative, apart.Batched = 0.04, 0.04
	wantFaults(t, apart.faults(half), "want 0.03", "want 0.03")
	fine.ImagesPerRun, fine.Failures = 1.5, 2
	wantFaults(t, fine.faults(single), "1.50 images in a run", "failed 2 times")
	fine.Unbatched, fine.Failures = "it is fixed", 0
	wantFaults(t, fine.faults(single), "one image at a time: it is fixed")

	wantFaults(t, (&davisReport{Difference: 0.005}).faults(single, "x"))
	wantFaults(t, (&davisReport{Difference: 0.006}).faults(single, "x"), "0.0060 from that of x; want 0.005")
	wantFaults(t, (&davisReport{Difference: 0.006}).faults(half, "x"))
	wantFaults(t, (&davisReport{Difference: 0.011}).faults(half, "x"), "want 0.01")
	wantFaults(t, (&davisReport{Difference: math.NaN()}).faults(half, "x"), "NaN")

	pipeline := camerasReport{pipelineFigures: pipelineFigures{Cameras: 4, FPS: 25}}
	wantFaults(t, pipeline.faults(4))
	wantFaults(t, pipeline.faults(8), "want 8")
	pipeline.FPS, pipeline.Failures = 0, 1
	wantFaults(t, pipeline.faults(4), "with 0 frames", "failed 1 times")

	memory := memoryReport{Early: used{100, new(500.)}, Late: used{164, new(564.)}}
	wantFaults(t, memory.faults())
	memory.Late, memory.Failures = used{165, new(565.)}, 1
	wantFaults(t, memory.faults(), "process' memory grew from 100 to 165 MiB", "card's memory grew from 500 to 565", "failed 1 times")
}

func TestDavisCompare(t *testing.T) {
	first := &davisReport{Way: "first", MeanJ: 0.8, sequences: map[string]float64{"dog": 0.9, "libby": 0.7}}
	r := &davisReport{MeanJ: 0.79, sequences: map[string]float64{"dog": 0.85, "libby": 0.73}}
	if err := r.compare(first); err != nil || math.Abs(r.Difference-0.01) > 1e-9 || math.Abs(r.Largest-0.05) > 1e-9 || r.Sequence != "dog" {
		t.Errorf("%+v, %v", r, err)
	}
	wantError(t, (&davisReport{sequences: map[string]float64{"dog": 1}}).compare(first), "followed 1 sequences; want 2 as first")
	wantError(t, (&davisReport{sequences: map[string]float64{"dog": 1, "cat": 1}}).compare(first), "did not follow libby")
}

func TestAbsent(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	for _, name := range []string{"libonnxruntime.so", "libonnxruntime_providers_cuda.so", "libonnxruntime_providers_tensorrt.so"} {
		require.NoError(t, os.WriteFile(filepath.Join(with, name), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(without, "libonnxruntime.so"), nil, 0o600))
	for _, tt := range []struct {
		way     string
		cuda    bool
		folders []string
		refused string
		want    string
	}{
		{"opencv-cpu", false, nil, "", ""},
		{"opencv-cuda", false, nil, "", "without CUDA"},
		{"opencv-cuda", true, nil, "differs", ""},
		{"onnxruntime-cpu", false, nil, "", ""},
		{"onnxruntime-cuda", true, []string{"/no/folder"}, "", "no libonnxruntime.so in /no/folder"},
		{"onnxruntime-cuda", true, []string{"/no/folder", without, with}, "", "no libonnxruntime_providers_cuda.so in " + without},
		{"onnxruntime-cuda", true, []string{with}, "libnvinfer.so.10 and so on", ""},
		{"tensorrt", true, []string{with}, "libnvinfer.so.10: cannot open shared object file", "TensorRT's libraries"},
		{"tensorrt-fp16", true, []string{with}, "it differs", ""},
	} {
		w := ways[slices.IndexFunc(ways, func(w way) bool { return w.Name == tt.way })]
		got := w.absent(tt.cuda, tt.folders, tt.refused)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s, %t, %q, %q: %q; want %q", tt.way, tt.cuda, tt.folders, tt.refused, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ said, want string }{
		{"", "it said nothing"},
		{"one\ntwo\n\n", "two"},
		{"terminate called\n  what():  no memory\nSIGABRT: abort\nmore", "what():  no memory"},
		{"SIGSEGV: segmentation violation\n" + strings.Repeat("goroutine\n", 1e5), "SIGSEGV: segmentation violation"},
		{strings.Repeat("progress\n", 1e5) + "segd: no model\n", "segd: no model"},
	} {
		w := new(words)
		for part := range slices.Chunk([]byte(tt.said), 1000) {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		assert.Equal(t, tt.want, w.last(), "%.60q", tt.said)
		if len(w.begin)+len(w.end) > 2*mostWords {
			t.Errorf("%d bytes kept", len(w.begin)+len(w.end))
		}
	}
}

func TestViews(t *testing.T) {
	list := views(memoryViews, 768, 576)
	seen := map[features.View]bool{}
	for k := range list {
		v := list[29*k%len(list)]
		seen[v] = true
		if v.Max.X > 768 || v.Max.Y > 576 || v.Min.X < 0 || v.Min.Y < 0 || v.Scale < 0.5 || v.Scale > 1.5 {
			t.Errorf("%v", v)
		}
	}
	if len(seen) < memoryViews*3/4 {
		t.Errorf("%d different views; want most of %d", len(seen), memoryViews)
	}
}

func TestParse(t *testing.T) {
	opt, err := parse([]string{"-cameras", "3,5", "-only", "memory,davis", "-ways", "tensorrt", "-davis", "x"}, io.Discard)
	if err != nil || !slices.Equal(opt.cameras, numbers{3, 5}) || opt.only.want(partCameras) || !opt.only.want(partDavis) || opt.ways.want("opencv-cuda") || !opt.davisGiven {
		t.Errorf("%+v, %v", opt, err)
	}
	if opt, err = parse(nil, io.Discard); err != nil || opt.davisGiven || len(opt.cameras) != 6 || !opt.only.want(partFallAway) || !opt.ways.want("tensorrt") {
		t.Errorf("%+v, %v", opt, err)
	}
	for _, tt := range []struct{ args, want string }{
		{"-cameras 0", "whole numbers from 1 on"},
		{"-cameras 1,", "whole numbers from 1 on"},
		{"-only soak", "want of features, davis"},
		{"-ways opencv-cpu", "want of opencv-cuda"},
		{"-frames 10", "-frames 10; want none, 1s or more, and 240 or more"},
		{"more", `arguments ["more"]`},
	} {
		_, err := parse(strings.Fields(tt.args), io.Discard)
		wantError(t, err, tt.want)
	}
}

// What a test ended with is its status, whatever it said.
func TestEnd(t *testing.T) {
	onCard, onProcessor := found{way: ways[2]}, found{way: ways[0]}
	for _, tt := range []struct {
		name   string
		found  []found
		failed bool
		want   int
		says   string
	}{
		{"all fine", []found{onProcessor, onCard}, false, 0, "gputest: passed, 0 failed, 1 not done; exit status 0"},
		{"failed", []found{onProcessor, onCard}, true, 1, "failed: memory: opencv-cuda: it grew"},
		{"no card", []found{onProcessor}, false, 2, "gputest: not on a card, 0 failed, 1 not done; exit status 2"},
		{"failed without a card", []found{onProcessor}, true, 1, "gputest: failed, 1 failed, 1 not done; exit status 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said strings.Builder
			test := &test{stderr: &said, found: tt.found}
			test.notDone(partDavis, "", "no folder")
			if tt.failed {
				test.failed(partMemory, "opencv-cuda", "it grew")
			}
			if got := test.end(); got != tt.want || !strings.Contains(said.String(), tt.says) || !strings.Contains(said.String(), "not done: davis: no folder") {
				t.Errorf("status %d, %s", got, &said)
			}
		})
	}
}

// onCard is a test that found both ways of the processor, and OpenCV's and TensorRT's to a card. Its segd is a script.
func onCard(t *testing.T, script string, args ...string) (*test, *strings.Builder) {
	t.Helper()
	smi(t, `echo "42, 1000"`)
	program := filepath.Join(t.TempDir(), "segd")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700))
	opt, err := parse(append([]string{"-segd", program, "-engine-library", "/ort/libonnxruntime.so"}, args...), io.Discard)
	require.NoError(t, err)
	said := new(strings.Builder)
	test := &test{options: opt, stderr: said, there: true}
	for i, speed := range []float64{10, 20, 0, 90, 0, 80, 0} {
		if speed > 0 {
			test.found = append(test.found, found{ways[i], &featureReport{ImagesPerSecond: speed}})
		}
	}
	return test, said
}

// Numbers of cameras are tried by the fastest way until too much is dropped.
func TestCameras(t *testing.T) {
	test, said := onCard(t, `n=$4; [ "$*" = "bench pipeline --cameras $n --fps 25 --for 1s --clip x.avi --json --engine opencv --device cuda --fp16" ] || exit 9
echo "{\"cameras\": $n, \"fps\": 12.5, \"dropped_percent\": ${n}0, \"latency_ms\": {\"p95\": 60}, \"images_per_run\": 2.5}"
`, "-cameras", "1,5,6,7", "-for", "1s", "-clip", "x.avi")
	test.cameras(t.Context())
	if r := test.report; r.CamerasWay != "opencv-cuda-fp16" || len(r.Cameras) != 3 || len(r.Failed) > 0 || r.Cameras[2].Dropped != 60 || r.Cameras[0].Latency.P95 != 60 || r.Cameras[0].Batch != 2.5 || r.Cameras[0].GPU == nil {
		t.Errorf("%+v", r)
	}
	if want := "of 6 more than 50 % of the frames are dropped"; !strings.Contains(said.String(), want) {
		t.Errorf("%s; want %q", said, want)
	}

	test, _ = onCard(t, "echo segd: no cameras >&2; exit 1")
	test.cameras(t.Context())
	wantFaults(t, test.report.Failed, "cameras: 1: it ended with exit status 1: segd: no cameras")
}

// J by each way to the card is compared with that of the faster way of the processor.
func TestDavis(t *testing.T) {
	script := `case "$*" in
*"--engine onnxruntime --device cpu --engine-library /ort/libonnxruntime.so") j=0.800 ;;
*"--device cuda --fp16") j=0.809 ;;
*"--device tensorrt --engine-library /ort/libonnxruntime.so") j=0.794 ;;
*) exit 9 ;;
esac
echo "{\"mean_j\": $j, \"mean_ms_per_frame\": 30, \"sequences\": [{\"name\": \"dog\", \"j\": $j}]}"
`
	test, _ := onCard(t, script, "-davis", t.TempDir())
	test.davis(t.Context())
	if r := test.report.Davis; len(r) != 3 || r[0].Way != "onnxruntime-cpu" || math.Abs(r[1].Difference-0.009) > 1e-9 || r[1].MS != 30 || r[0].GPU != nil || r[1].GPU == nil {
		t.Errorf("%+v", r)
	}
	wantFaults(t, test.report.Failed, "davis: tensorrt: mean J differs by 0.0060 from that of onnxruntime-cpu")

	test, _ = onCard(t, "echo '{}'", "-davis", t.TempDir())
	test.davis(t.Context())
	wantFaults(t, test.report.Failed, "davis: onnxruntime-cpu: segd eval davis tells no mean_j")

	test, _ = onCard(t, script)
	test.options.davis = "/no/davis"
	test.davis(t.Context())
	wantFaults(t, test.report.Failed)
	wantFaults(t, test.report.NotDone, "no sequences in /no/davis")
}

// Where a card that is said to be there is not, each way fails by itself.
func TestChildrenFail(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: processes that open models")
	}
	test, _ := onCard(t, "exit 9", "-clip", clip(t), "-engine-library", "")
	test.memory(t.Context())
	test.fallAway(t.Context())
	wantFaults(t, test.report.Failed, "memory: tensorrt: features/dnn")
	wantFaults(t, test.report.NotDone, "fallaway: wants CUDA in single precision")
	test.found[2].way = ways[2]
	test.fallAway(t.Context())
	wantFaults(t, test.report.Failed[1:], "fallaway: opencv-cuda: features/dnn")
}

// fakeCard compiles a libcuda.so.1 and returns a command that finds it.
func fakeCard(t *testing.T, args []string, env ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/fakecuda.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), append(env, "LD_LIBRARY_PATH="+dir)...)
	return cmd
}

func TestFill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: a driver that is compiled")
	}
	for _, tt := range []struct {
		name, env, out, error string
	}{
		{"all of an odd size", "FAKE_CARD_MIB=3459", "3459.000\n", ""},
		{"no card", "FAKE_CARD_MIB=0", "", "cuInit: CUDA_ERROR_NO_DEVICE (100)"},
		{"another error", "FAKE_CARD_MIB=10 FAKE_CARD_LOST=1", "", "cuMemAlloc: CUDA_ERROR_LAUNCH_FAILED (719)"},
		{"the machine's memory", "FAKE_CARD_MIB=10 FAKE_CARD_INTEGRATED=1", "", "the card's memory is the machine's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := fakeCard(t, []string{fillArgument}, strings.Fields(tt.env)...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if string(out) != tt.out || !strings.Contains(stderr.String(), tt.error) || (err == nil) != (tt.error == "") {
				t.Errorf("%q, %v, %s", out, err, &stderr)
			}
		})
	}
}

// The memory is held until it is to be given back.
func TestTakeMemory(t *testing.T) {
	cmd := fakeCard(t, nil)
	for _, v := range append(cmd.Env[len(cmd.Env)-1:], "FAKE_CARD_MIB=100") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	taken, end, err := takeMemory(t.Context())
	if err != nil || taken != 100 {
		t.Fatalf("%g, %v", taken, err)
	}
	assert.NoError(t, end())
	t.Setenv("FAKE_CARD_MIB", "0")
	_, _, err = takeMemory(t.Context())
	wantError(t, err, "CUDA_ERROR_NO_DEVICE")
}

func TestLookAtCard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answer")
	if out, err := fakeCard(t, []string{childArgument, `{"part": "card"}`, file}, "FAKE_CARD_MIB=100").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if want := `{"card":{"name":"Fake 1","memory_mib":100,"integrated":false,"cards":1,"driver_cuda":12020}}`; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}

// fakeNetwork makes a map out of the view. It fails while memory is taken from a size on, and then for a time.
type fakeNetwork struct {
	told       *told
	taken      bool
	failsFrom  float64       // scale
	back       time.Duration // after there was memory
	wrong      bool          // what it makes once it failed
	silent     bool          // it does not tell
	status     dnn.Status
	given      time.Time
	everFailed bool
}

func (n *fakeNetwork) Status() dnn.Status { return n.status }

func (n *fakeNetwork) Features(_ features.Sight, _ []byte, _, _ int, v features.View) (features.Sight, error) {
	tell := func(device string, why error) {
		if n.told != nil && !n.silent {
			n.told.onDevice("", device, why)
		}
	}
	made := oneMap(1, float32(v.Scale))
	switch {
	case n.told == nil: // the processor
		return features.Sight{Maps: made}, nil
	case n.taken && v.Scale >= n.failsFrom && !n.status.Failed:
		n.status.Failed, n.status.Device, n.status.Failures, n.everFailed = true, dnn.DeviceCPU, 1, true
		tell(dnn.DeviceCPU, errors.New("out of memory"))
	case n.status.Failed && !n.taken && time.Since(n.given) >= n.back:
		n.status.Failed, n.status.Device = false, dnn.DeviceCUDA
		tell(dnn.DeviceCUDA, nil)
	}
	if !n.status.Failed {
		work := n.status.Work[dnn.DeviceCUDA]
		work.Images++
		n.status.Work[dnn.DeviceCUDA] = work
	}
	if n.wrong && n.everFailed {
		made[0].Data[0] = 1.1
	}
	return features.Sight{Maps: made}, nil
}

func TestFallAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		card  fakeNetwork
		error string
	}{
		{"as it should", fakeNetwork{failsFrom: 2, back: 6 * time.Second}, ""},
		{"it does not fail", fakeNetwork{failsFrom: 5}, "computed 24 sizes up to 4 times a picture's; want it to fail"},
		{"nobody is told", fakeNetwork{failsFrom: 2, silent: true}, "OnDevice was called 0 times; want 1"},
		{"wrong afterwards", fakeNetwork{failsFrom: 2, wrong: true}, "differ from what the processor makes"},
		{"it does not come back", fakeNetwork{failsFrom: 2, back: time.Hour}, "30s after there was memory again the card does not compute"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tt.card
				c.told = new(told)
				c.status = dnn.Status{Device: dnn.DeviceCUDA, Work: map[string]dnn.Work{}}
				ends := 0
				take := func(context.Context) (float64, func() error, error) {
					c.taken = true
					return 1000, func() error {
						ends++
						c.taken, c.given = false, time.Now()
						return nil
					}, nil
				}
				r, err := fallAway(t.Context(), ways[2], picture{}, &c, new(fakeNetwork), c.told, take)
				if ends != 1 {
					t.Errorf("the memory was given back %d times; want once", ends)
				}
				if tt.error != "" {
					wantError(t, err, tt.error)
					return
				}
				if err != nil || r.Taken != 1000 || r.Sizes != 8 || r.Why != "out of memory" || !(r.Back >= 6 && r.Back < 7) || r.Relative != 0 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

// Without memory to be taken there is nothing to be seen.
func TestFallAwayWithoutFilling(t *testing.T) {
	c := &fakeNetwork{told: new(told), status: dnn.Status{Work: map[string]dnn.Work{}}}
	_, err := fallAway(t.Context(), ways[2], picture{}, c, new(fakeNetwork), c.told, func(context.Context) (float64, func() error, error) {
		return 0, nil, fmt.Errorf("no driver")
	})
	wantError(t, err, "taking the card's memory: no driver")
}

// A child that cannot do what it is asked says so, and one that cannot open its model says that.
func TestAsk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: processes that open models")
	}
	_, err := ask(t.Context(), request{Part: "soak"}, time.Minute)
	wantError(t, err, `part "soak" of a child; want card`)
	if _, ok := errors.AsType[refusal](err); ok {
		t.Errorf("%v is a refusal", err)
	}
	_, err = ask(t.Context(), request{Part: partFeatures, Way: ways[0], Clip: "/no/clip"}, time.Minute)
	wantError(t, err, "-clip wants a video")
	_, err = ask(t.Context(), request{Part: partFeatures, Way: way{"other", "tea", dnn.DeviceCPU, false}, Clip: clip(t)}, time.Minute)
	wantError(t, err, `engine "tea"`)
	if _, ok := errors.AsType[refusal](err); !ok {
		t.Errorf("%v is no refusal", err)
	}
	_, err = ask(t.Context(), request{Part: partFeatures, Way: ways[0], Clip: clip(t)}, time.Millisecond)
	wantError(t, err, "it took longer than 1ms")
}

// clip is a video as long as the demo's that is read fast.
func clip(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	const width, height = 64, 64
	out, err := codec.CreateFile(path, codec.EncoderConfig{Width: width, Height: height, FPS: 10})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range (featurePictures-1)*pictureEvery + 1 {
		bgr := make([]byte, 3*width*height)
		for k := range bgr {
			bgr[k] = byte(random.UintN(256))
		}
		require.NoError(t, out.BGR(bgr, time.Duration(i)*time.Second/10))
	}
	require.NoError(t, out.Close())
	return path
}
