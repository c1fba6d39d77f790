package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/freeport"
)

// doctorReport is what `segd doctor --json` prints, as its readers have it.
type doctorReport struct {
	OK       bool
	OpenCV   struct{ Version string }
	Findings []finding
}

type finding struct{ What, Verdict, Detail, Fix string }

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
	if testing.Short() {
		t.Skip("takes 6 s: the network timed")
	}
	t.Parallel()
	path := clitest.File(t, "segd.yaml", daemontest.Quick(freeport.Addr(t), freeport.Addr(t))+"cameras: [{name: door, url: 'whip:'}]\nwhip: {addr: '127.0.0.1:0'}\n")
	r, err := doctorOf(t, "-c", path)
	if err != nil || !r.OK || (r.OpenCV.Version != "") != dnn.WithOpenCV {
		t.Errorf("%v %+v", err, r)
	}
	for _, what := range []string{"processor", "OpenCV", "model", "decoders", "encoder", "http.addr", "nats.addr", "whip.addr", "NATS"} {
		if f := r.find(t, what); f.Verdict == "missing" || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
	if f := r.find(t, "decoders"); f.Detail != "H.264, H.265, MJPEG, VP8, VP9, AV1" {
		t.Errorf("%+v", f)
	}
	var out bytes.Buffer
	assert.NoError(t, run(t.Context(), []string{"doctor", "-c", path}, strings.NewReader(""), &out, io.Discard))
	if text := out.String(); !clitest.LineWith(text, []string{"ok", "decoders", "AV1"}) || strings.Contains(text, "\x1b") {
		t.Errorf("for people:\n%s", text)
	}
}

// A port that is taken and a NATS server that is not there are missing, and how to
// find out more is said.
func TestDoctorMisses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 16 s: the network timed")
	}
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().String()
	path := clitest.File(t, "segd.yaml", "http: {addr: '"+taken+"'}\nnats: {url: 'nats://"+freeport.Addr(t)+"'}\ncameras: [{name: door, url: 'whip:'}]\nwhip: {addr: '127.0.0.1:0'}\n")
	r, err := doctorOf(t, "-c", path)
	if cli.Status(err) != cli.ExitFailure || r.OK {
		t.Errorf("%v, ok %v", err, r.OK)
	}
	_, port, _ := net.SplitHostPort(taken)
	if f := r.find(t, "http.addr"); f.Verdict != "missing" || !strings.Contains(f.Detail, taken) || !strings.Contains(f.Fix, "sport = :"+port) {
		t.Errorf("%+v", f)
	}
	if f := r.find(t, "NATS"); f.Verdict != "missing" || f.Fix == "" {
		t.Errorf("%+v", f)
	}

	// check says the same of the port.
	var out bytes.Buffer
	err = run(t.Context(), []string{"check", "-c", path}, strings.NewReader(""), &out, io.Discard)
	if cli.Status(err) != cli.ExitFailure || !clitest.LineWith(out.String(), []string{"tcp " + taken + ": FAILED", "taken", "http.addr"}) {
		t.Errorf("check: %v\n%s", err, out.String())
	}
}
