package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cli"
)

func doctorOf(t *testing.T, args ...string) (doctorReport, error) {
	t.Helper()
	var out bytes.Buffer
	fault := run(t.Context(), append([]string{"doctor", "--json"}, args...), strings.NewReader(""), &out, io.Discard)
	var r doctorReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v, %v:\n%s", fault, err, out.String())
	}
	return r, fault
}

func (r doctorReport) find(t *testing.T, what string) finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.What == what {
			return f
		}
	}
	t.Errorf("nothing about %s in %+v", what, r.Findings)
	return finding{}
}

// This machine runs segd's tests, so all that segd needs is here.
func TestDoctor(t *testing.T) {
	t.Parallel()
	path := file(t, "segd.yaml", quick(freeAddr(t), freeAddr(t))+"cameras: [{name: door, url: 'whip:'}]\nwhip: {addr: '127.0.0.1:0'}\n")
	r, err := doctorOf(t, "-c", path)
	if err != nil || !r.OK || r.OpenCV.Version == "" {
		t.Errorf("%v %+v", err, r)
	}
	for _, what := range []string{"processor", "OpenCV", "model", "decoders", "encoder", "http.addr", "nats.addr", "whip.addr", "NATS"} {
		if f := r.find(t, what); f.Verdict == missing || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
	if f := r.find(t, "decoders"); f.Detail != "H.264, H.265, MJPEG, VP8, VP9, AV1" {
		t.Errorf("%+v", f)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"doctor", "-c", path}, strings.NewReader(""), &out, io.Discard); err != nil {
		t.Error(err)
	}
	if text := out.String(); !lineWith(text, []string{"ok", "decoders", "AV1"}) || strings.Contains(text, "\x1b") {
		t.Errorf("for people:\n%s", text)
	}
}

// A port that is taken and a NATS server that is not there are missing, and how to
// find out more is said.
func TestDoctorMisses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	path := file(t, "segd.yaml", "http: {addr: '"+taken+"'}\nnats: {url: 'nats://"+freeAddr(t)+"'}\ncameras: [{name: door, url: 'whip:'}]\nwhip: {addr: '127.0.0.1:0'}\n")
	r, err := doctorOf(t, "-c", path)
	if cli.Status(err) != cli.ExitFailure || r.OK {
		t.Errorf("%v, ok %v", err, r.OK)
	}
	_, port, _ := net.SplitHostPort(taken)
	if f := r.find(t, "http.addr"); f.Verdict != missing || !strings.Contains(f.Detail, taken) || !strings.Contains(f.Fix, "sport = :"+port) {
		t.Errorf("%+v", f)
	}
	if f := r.find(t, "NATS"); f.Verdict != missing || f.Fix == "" {
		t.Errorf("%+v", f)
	}

	// check says the same of the port.
	var out bytes.Buffer
	err = run(t.Context(), []string{"check", "-c", path}, strings.NewReader(""), &out, io.Discard)
	if cli.Status(err) != cli.ExitFailure || !lineWith(out.String(), []string{"tcp " + taken + ": FAILED", "taken", "http.addr"}) {
		t.Errorf("check: %v\n%s", err, out.String())
	}
}

func TestFindings(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := gpuTraces(dir); len(got) != 0 {
		t.Errorf("traces without a card: %q", got)
	}
	card := filepath.Join(dir, "dev", "nvidia0")
	if err := os.WriteFile(card, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
		{"card, OpenCV without CUDA", lookAtGPU(dnn.Build{}, traces), lacking, "without CUDA"},
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
