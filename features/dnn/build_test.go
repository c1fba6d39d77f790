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

// The OpenCV that is here tells of itself.
func TestOpenCV(t *testing.T) {
	needOpenCV(t)
	b := OpenCV()
	if !strings.HasPrefix(b.Version, "4.") || b.CPU == "" || b.Parallel == "" {
		t.Errorf("%+v", b)
	}
	if !b.CUDA && b.CUDADevices != 0 {
		t.Errorf("%d CUDA devices without CUDA", b.CUDADevices)
	}
}
