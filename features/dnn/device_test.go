package dnn

import (
	"errors"
	"image"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/features"
)

// Without a card auto is the processor, and what needs a card is one error on one line that says why.
func TestDevice(t *testing.T) {
	if cudaDevices() > 0 {
		t.Skip("there is a card")
	}
	noCUDA := "OpenCV sees no CUDA device"
	byOpenCV := []string{"device cuda: " + noCUDA, "; ONNX Runtime is not to compute it"}
	tensorRTByOpenCV := []string{"device tensorrt by engine opencv; want engine auto or onnxruntime"}
	if !WithOpenCV {
		noCUDA = errWithoutOpenCV.Error()
		byOpenCV = []string{"engine opencv: " + noCUDA + "; want auto or onnxruntime"}
		tensorRTByOpenCV = byOpenCV
	}
	for _, tt := range []struct {
		c    Computing
		want []string // in the error; nil: the processor computes
	}{
		{Computing{}, nil},
		{Computing{Device: DeviceCPU}, nil},
		{Computing{Device: DeviceAuto}, nil},
		{Computing{Device: DeviceCUDA}, []string{"device cuda: " + noCUDA, "; this ONNX Runtime computes on the processor only: no libonnxruntime_providers_cuda.so beside"}},
		{Computing{Device: DeviceCUDA, Engine: EngineOpenCV}, byOpenCV},
		{Computing{Device: DeviceCUDA, Engine: EngineONNXRuntime}, []string{"device cuda: OpenCV is not to compute it; this ONNX Runtime"}},
		{Computing{Device: DeviceTensorRT}, []string{"device tensorrt: OpenCV is not to compute it; ", "no libonnxruntime_providers_tensorrt.so beside"}},
		{Computing{Device: DeviceTensorRT, Engine: EngineOpenCV}, tensorRTByOpenCV},
		{Computing{Device: "gpu"}, []string{`device "gpu"; want auto, cpu, cuda or tensorrt`}},
	} {
		if strings.Contains(strings.Join(tt.want, ""), "ONNX Runtime computes") {
			needONNXRuntime(t)
		}
		m, err := Embedded(Options{ShortSide: 64, Computing: tt.c})
		if err == nil {
			defer m.Close()
			if tt.want != nil || m.Info().Device != DeviceCPU || !m.NeedsCore() {
				t.Errorf("%+v: computed on %s; want error %q", tt.c, m.Info().Device, tt.want)
			}
			continue
		}
		if tt.want == nil || !containsAll(err.Error(), tt.want...) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v; want %q", tt.c, err, tt.want)
		}
	}
}

func TestONNXRuntimeWords(t *testing.T) {
	for _, tt := range []struct{ said, want string }{
		{
			"Error creating C session: /o/cuda_call.cc:122 std::conditional_t<T> f() [with T = int] /o/cuda_call.cc:114 std::conditional_t<T> f() [with T = int] " +
				"CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; hostname=vm ; file=/o/p.cc ; line=336 ; expr=cudaSetDevice(info_.device_id); ",
			"CUDA failure 100: no CUDA-capable device is detected",
		},
		{
			"/o/provider_bridge_ort.cc:1962 onnxruntime::Provider& f() [ONNXRuntimeError] : 1 : FAIL : Failed to load library /l/p.so with error: libnvinfer.so.10: cannot open shared object file",
			"Failed to load library /l/p.so with error: libnvinfer.so.10: cannot open shared object file",
		},
		{"Error running network: bad shape", "Error running network: bad shape"},
	} {
		if got := onnxRuntimeWords(tt.said); got != tt.want {
			t.Errorf("%q", got)
		}
	}
}

// A card is used if it makes the same as the processor, whose engine plays it here.
func TestUseCard(t *testing.T) {
	m := mustOpen(t, EmbeddedName, Options{ShortSide: 64, Computing: Computing{Engine: engines()[0], Device: DeviceCPU}})
	for _, e := range []engine{made{tap: []float32{1}}, made{err: errors.New("no kernel image is available")}} {
		if err := m.useCard(e, EngineInfo{Name: "card", Device: DeviceCUDA}); err == nil || m.card != nil {
			t.Errorf("%v: no error, or it is used", e)
		}
	}
	if got := m.engines[len(m.engines)-1].Error; !strings.Contains(got, "no kernel image") {
		t.Errorf("error %q", got)
	}
	m.opt.Batch = DefaultBatch
	e, err := newOpenCV(m.src, DeviceCPU, false, m.taps)
	if !WithOpenCV {
		e, err = m.openONNXRuntime(DeviceCPU)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m.useCard(e, EngineInfo{Name: engines()[0], Device: DeviceCUDA}); err != nil {
		t.Fatal(err)
	}
	if m.NeedsCore() || m.card.most != DefaultBatch {
		t.Errorf("it needs a core: %t; batches of %d", m.NeedsCore(), m.card.most)
	}
	bgr := noise(100, 70)
	got, err := m.Features(features.Sight{}, bgr, 100, 70, features.View{})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Status(); s.Device != DeviceCUDA || s.Work[DeviceCUDA] != (Work{1, 1}) || s.Work[DeviceCPU] != (Work{}) || s.Failed {
		t.Errorf("%+v", s)
	}
	alone := mustOpen(t, EmbeddedName, Options{ShortSide: 64, Computing: Computing{Engine: engines()[0], Device: DeviceCPU}})
	want, err := alone.Features(features.Sight{}, bgr, 100, 70, features.View{})
	if err != nil || !(distance(got.Maps[0].Data, want.Maps[0].Data) < 1e-5) {
		t.Errorf("%v, or another map", err)
	}
}

// Where a card fails, the processor computes that image and those after it; the card is tried again by and by,
// and who uses the model is told of both, once.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type told struct {
			device string
			why    error
		}
		var heard []told
		card, processor := new(slow), new(slow)
		r := &runner{src: &source{path: "m"}, opt: Options{Computing: Computing{OnDevice: func(_, device string, why error) { heard = append(heard, told{device, why}) }}}}
		r.cpu = newBackend(processor, "cpu", DeviceCPU, 1, 0)
		r.card = newBackend(card, "card", DeviceCUDA, 1, 0)
		see := func() {
			t.Helper()
			s := shown{Rectangle: image.Rect(0, 0, 1, 1), size: image.Pt(1, 1), input: image.Pt(1, 1)}
			if err := r.see([]byte{1, 2, 3}, 1, s, func(network, int) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		runs := func(onCard, onProcessor int) {
			t.Helper()
			if len(card.runs) != onCard || len(processor.runs) != onProcessor {
				t.Fatalf("%d runs of the card, %d of the processor; want %d and %d", len(card.runs), len(processor.runs), onCard, onProcessor)
			}
		}
		see()
		runs(1, 0)
		if len(r.card.networks) != 1 {
			t.Errorf("%d networks of the card", len(r.card.networks))
		}
		lost := errors.New("the card is lost")
		card.fail.Store(&lost)
		see()
		runs(2, 1)
		if len(r.card.networks) != 0 {
			t.Errorf("%d networks of a card that is lost", len(r.card.networks))
		}
		if len(heard) != 1 || heard[0].device != DeviceCPU || !errors.Is(heard[0].why, lost) || !r.NeedsCore() {
			t.Fatalf("told %+v; it needs a core: %t", heard, r.NeedsCore())
		}
		see() // a second later
		runs(2, 2)
		time.Sleep(firstPause)
		see()
		runs(3, 3)
		time.Sleep(firstPause) // it is longer now
		see()
		runs(3, 4)
		time.Sleep(firstPause)
		see()
		runs(4, 5)
		for range 20 {
			time.Sleep(mostPause) // it does not grow for ever
			see()
		}
		runs(24, 25)
		if s := r.Status(); len(heard) != 1 || s.Device != DeviceCPU || !s.Failed || s.Failures != 1 {
			t.Fatalf("told %+v, %+v", heard, s)
		}
		card.fail.Store(nil)
		time.Sleep(mostPause)
		see()
		see()
		runs(26, 25)
		if s := r.Status(); len(heard) != 2 || heard[1] != (told{DeviceCUDA, nil}) || r.NeedsCore() || s.Device != DeviceCUDA || s.Failed || s.Failures != 1 {
			t.Errorf("told %+v, %+v; it needs a core: %t", heard, s, r.NeedsCore())
		}
	})
}

// Those that were at the card when it failed do not make it rest for longer.
func TestFailoverTogether(t *testing.T) {
	r := &runner{src: &source{path: "m"}}
	r.cpu, r.card = newBackend(new(slow), "cpu", DeviceCPU, 1, 0), newBackend(new(slow), "card", DeviceCUDA, 1, 0)
	for range 5 {
		r.failOver(errors.New("lost"))
	}
	if r.failover.pause != firstPause {
		t.Errorf("it rests for %v, want %v", r.failover.pause, firstPause)
	}
	r.failBack() // of one that had been computed before
	if !r.failover.is {
		t.Error("it is back without having been tried")
	}
}
