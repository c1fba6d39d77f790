package dnn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBuild(t *testing.T) {
	const with = `
  CPU/HW features:
    Baseline:                    SSE SSE2 SSE3
      requested:                 SSE3
    Dispatched code generation:  SSE4_1 AVX2 AVX512_SKX
      SSE4_1 (16 files):         + SSSE3 SSE4_1

  Parallel framework:            TBB (ver 2021.8 interface 12080)

  NVIDIA CUDA:                   YES (ver 11.8, CUFFT CUBLAS FAST_MATH)
    NVIDIA GPU arch:             72 87
  cuDNN:                         YES (ver 8.9.2)
`
	want := Build{
		CPU: "SSE SSE2 SSE3", Dispatched: "SSE4_1 AVX2 AVX512_SKX",
		Parallel: "TBB (ver 2021.8 interface 12080)", CUDA: true, CUDNN: true,
	}
	if diff := cmp.Diff(want, parseBuild(with)); diff != "" {
		t.Error(diff)
	}
	if b := parseBuild("  Parallel framework: pthreads\n  NVIDIA CUDA: NO\n"); b.CUDA || b.CUDNN || b.Parallel != "pthreads" {
		t.Errorf("%+v", b)
	}
}

func TestDevice(t *testing.T) {
	for _, tc := range []struct {
		want    string
		devices int
		device  string
		words   string
	}{
		{"", 0, "cpu", ""}, {"", 1, "cuda", ""}, {"auto", -1, "cpu", ""}, {"auto", 2, "cuda", ""},
		{"cpu", 2, "cpu", ""}, {"cuda", 1, "cuda", ""}, {"cuda", 0, "", "no CUDA device"}, {"cuda", -1, "", "no CUDA device"},
	} {
		device, err := chooseDevice(tc.want, tc.devices)
		if device != tc.device || (err != nil) != (tc.words != "") || err != nil && !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%q with %d devices: %q, %v", tc.want, tc.devices, device, err)
		}
	}
	if _, err := Embedded(Options{Device: "gpu"}); err == nil || !strings.Contains(err.Error(), "auto, cpu or cuda") {
		t.Errorf("device gpu: %v", err)
	}
	m, err := Embedded(Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Info().Device != "cpu" {
		t.Errorf("computed by %q", m.Info().Device)
	}
}

// The OpenCV that is here tells of itself.
func TestOpenCV(t *testing.T) {
	b := OpenCV()
	if !strings.HasPrefix(b.Version, "4.") || b.CPU == "" || b.Parallel == "" {
		t.Errorf("%+v", b)
	}
	if !b.CUDA && b.CUDADevices != 0 {
		t.Errorf("%d CUDA devices without CUDA", b.CUDADevices)
	}
}
