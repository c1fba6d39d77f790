package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features/dnn"
)

func TestFindings(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "dev"), 0o755))
	if got := gpuTraces(dir); len(got) != 0 {
		t.Errorf("traces without a card: %q", got)
	}
	card := filepath.Join(dir, "dev", "nvidia0")
	require.NoError(t, os.WriteFile(card, nil, 0o600))
	traces := gpuTraces(dir)
	if len(traces) != 1 || traces[0] != card {
		t.Errorf("traces %q", traces)
	}
	for _, tc := range []struct {
		name    string
		got     finding
		verdict verdict
		words   string
	}{
		{"no card", lookAtGPU(dnn.Build{}, nil), fine, "no NVIDIA"},
		{"card, OpenCV without CUDA", lookAtGPU(dnn.Build{Version: "4.6.0"}, traces), lacking, "without CUDA"},
		{"card, no OpenCV", lookAtGPU(dnn.Build{}, traces), lacking, "segd is built without OpenCV"},
		{"no OpenCV", lookAtOpenCV(dnn.Build{}), fine, "ONNX Runtime alone computes models"},
		{"card, driver missing", lookAtGPU(dnn.Build{CUDA: true, CUDADevices: -1}, traces), lacking, "driver"},
		{"card", lookAtGPU(dnn.Build{CUDA: true, CUDADevices: 2}, traces), fine, "2 devices"},
		{"clock", lookAtClock(0, nil), fine, "kept right"},
		{"clock unset", lookAtClock(clockUnset, nil), lacking, "latencies"},
		{"clock unknown", lookAtClock(-1, os.ErrPermission), lacking, "permission"},
		{"clip", lookAtClip(card), fine, card},
		{"no clip", lookAtClip(dir + "/none.avi"), lacking, "none.avi"},
		{"OpenCV with CUDA", lookAtOpenCV(dnn.Build{Version: "4.10.0", CUDA: true, CUDNN: true}), fine, "with CUDA and cuDNN"},
	} {
		if tc.got.Verdict != tc.verdict || !strings.Contains(tc.got.Detail, tc.words) {
			t.Errorf("%s: %+v", tc.name, tc.got)
		}
	}
}
