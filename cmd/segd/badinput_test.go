package main

import (
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
)

// Each mistake is one line that says what and where, and what would do, and ends
// with the exit status it deserves; nothing of it looks like a stack trace.
func TestBadInput(t *testing.T) {
	const camera1 = "cameras:\n  - {name: gate, url: 'rtsp://127.0.0.1:1/x'}\n"
	locked := daemontest.Camera(t, demo.Config{User: "anna", Password: "right"})
	lockedURL := strings.Replace(locked.URL(), "rtsp://", "rtsp://anna:wrong@", 1)
	model := clitest.File(t, "broken.onnx", "this is no model")
	refused := truncatedModel(t)

	tests := []struct {
		name   string
		config string // written to a file that -c names, if not empty
		args   []string
		status int
		want   []string // parts of the one line
	}{
		{name: "unknown command", args: []string{"dmeo"}, status: 2, want: []string{`"dmeo"`}},
		{name: "unknown flag", args: []string{"demo", "--fro", "3s"}, status: 2, want: []string{"--fro"}},
		{name: "not a duration", args: []string{"demo", "--for", "soon"}, status: 2, want: []string{`"soon"`, "--for"}},
		{name: "negative duration", args: []string{"demo", "--for", "-3s"}, status: 2, want: []string{"--for -3s", "accepted"}},
		{name: "too many arguments", args: []string{"version", "x"}, status: 2, want: []string{`"x"`}},
		{name: "too few arguments", args: []string{"annotate", "gate"}, status: 2, want: []string{"FILE is missing"}},
		{name: "no config file", args: []string{"run", "-c", "/no/such.yaml"}, status: 2, want: []string{"/no/such.yaml"}},
		{name: "unknown key", config: "htp: {}\n" + camera1, args: []string{"run"}, status: 2,
			want: []string{"segd.yaml:1:1: ", `"htp"`, "accepted: site, http"}},
		{name: "a camera's URL that only its source understands", config: "cameras: [{name: desk, url: 'v4l2:/dev/video0?format=gif'}]\n", args: []string{"run"}, status: 2,
			want: []string{`camera "desk"`, `format "gif"`, "accepted: [mjpeg "}},
		{name: "wrong type", config: "superpixels: many\n" + camera1, args: []string{"check"}, status: 2,
			want: []string{"segd.yaml:1:14: superpixels: ", `"many"`, "a whole number"}},
		{name: "demo: bad address", args: []string{"demo", "--addr", "here"}, status: 2,
			want: []string{"SEGD_HTTP_ADDR: http.addr: ", `"here"`, "127.0.0.1:8080"}},
		{name: "demo: no clip", args: []string{"demo", "--clip", "/no/clip.avi", "--addr", "127.0.0.1:0", "--nats", "127.0.0.1:0"}, status: 1,
			want: []string{"/no/clip.avi", "opencv-doc"}},
		{name: "no model file", config: "model: {path: gone.onnx}\n" + camera1, args: []string{"run"}, status: 2,
			want: []string{"gone.onnx", "no such file"}},
		{name: "not a model", args: []string{"model", "check", model}, status: 2, want: []string{"broken.onnx", ".onnx"}},
		{name: "not a detector", args: []string{"model", "check", "--detector", "../../features/dnn/models/segd-p64.onnx"}, status: 2, want: []string{`its outputs are "features" (1×64×?×?), "heads_8"`, "want NanoDet's"}},
		{name: "names that do not fit", args: []string{"model", "check", "--detector", "../../features/dnn/testdata/nanodet-m.onnx", "--names", model}, status: 2, want: []string{"which is for 80 as NanoDet", "broken.onnx names 1 classes"}},
		{name: "a model that OpenCV refuses", args: []string{"model", "check", refused}, status: 2, want: []string{"refused.onnx"}},
		{name: "annotation is missing", config: "cameras: [{name: gate, url: 'file:x', annotation: gone.json}]\n", args: []string{"run"}, status: 2,
			want: []string{"camera gate", "gone.json"}},
		{name: "annotation outside the frame", args: []string{"annotate", "gate", clitest.File(t, "a.json",
			`{"width": 10, "height": 10, "objects": [{"id": 1, "label": "x", "scribbles": [{"width": 2, "points": [[5, 50]]}]}]}`)}, status: 2,
			want: []string{"a.json", "(5, 50) is outside the 10×10 frame"}},
		{name: "annotation is no JSON", args: []string{"annotate", "gate", clitest.File(t, "b.json", "{\n \"width\": ten}")}, status: 2,
			want: []string{"b.json", "line 2"}},
		{name: "no NATS server to watch", args: []string{"watch", "gate", "--nats", "nats://127.0.0.1:1"}, status: 1,
			want: []string{"nats://127.0.0.1:1"}},
		{name: "no NATS credentials", args: []string{"watch", "gate", "--nats-creds", "/no/such.creds"}, status: 2,
			want: []string{"credentials /no/such.creds", "no such file"}},
		{name: "no NATS certificate", args: []string{"annotate", "gate", maskFile(t, 8, 8), "--nats-ca", "/no/ca.pem"}, status: 2,
			want: []string{"CA /no/ca.pem", "no such file"}},
		{name: "configured NATS credentials are garbage", status: 2, args: []string{"run"},
			config: "nats: {url: 'nats://127.0.0.1:1', credentials: '" + clitest.File(t, "garbage.creds", "hello") + "'}\nhttp: {addr: '127.0.0.1:0'}\n" + camera1,
			want:   []string{"garbage.creds", "as nsc writes it"}},
		{name: "no page to watch", args: []string{"watch", "gate", "--save", t.TempDir(), "--page", "http://127.0.0.1:1"}, status: 1,
			want: []string{"http://127.0.0.1:1", "refused"}},
		{name: "overlays of a subject", args: []string{"watch", "segd.v1.>", "--save", t.TempDir()}, status: 2, want: []string{"segd.v1.>"}},
		{name: "a page's URL that is none", args: []string{"watch", "gate", "--save", t.TempDir(), "--page", "here"}, status: 2,
			want: []string{`"here"`, "http://127.0.0.1:8080"}},
		{name: "a subject that is none", args: []string{"watch", "ga te"}, status: 2, want: []string{`"ga te"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			if tt.config != "" {
				config := tt.config
				if !strings.Contains(config, "http:") {
					config += "http: {addr: '127.0.0.1:0'}\nnats: {addr: '127.0.0.1:0'}\n"
				}
				args = append(args, "-c", clitest.File(t, "segd.yaml", config))
			}
			c := start(t, args...)
			err := c.Wait(t)
			var printed strings.Builder
			assert.Equal(t, tt.status, cli.Report(&printed, err), "exit status")
			checkLine(t, printed.String(), tt.want)
			if c.Out.String() != "" && strings.Contains(c.Out.String(), "goroutine ") {
				t.Errorf("standard output: %s", c.Out.String())
			}
		})
	}

	// What check finds out there is a line each on standard output.
	t.Run("check", func(t *testing.T) {
		config := "http: {addr: '127.0.0.1:0'}\nnats: {addr: '127.0.0.1:0'}\nmodel: {path: " + refused + "}\ndetector: {path: gone.onnx}\ncameras:\n" +
			"  - {name: dead, url: 'rtsp://127.0.0.1:1/x'}\n" +
			"  - {name: locked, url: '" + lockedURL + "', transport: tcp}\n" +
			"  - {name: nofile, url: 'file:gone.avi', detect: {classes: [person]}}\n"
		c := start(t, "check", "-c", clitest.File(t, "segd.yaml", config))
		err := c.Wait(t)
		if cli.Status(err) != 2 {
			t.Errorf("exit status %d of %v, want 2", cli.Status(err), err)
		}
		out := c.Out.String()
		for _, want := range [][]string{
			{"model: FAILED", "refused.onnx"},
			{"detector: FAILED", "gone.onnx"},
			{"tcp 127.0.0.1:0: ok", "http.addr"},
			{"tcp 127.0.0.1:0: ok", "nats.addr"},
			{"camera dead: FAILED", "127.0.0.1:1", "refused"},
			{"camera locked: FAILED", "401"},
			{"camera nofile: FAILED", "gone.avi"},
		} {
			if !clitest.LineWith(out, want) {
				t.Errorf("no line has all of %q:\n%s", want, out)
			}
		}
		if strings.Count(out, "\n") != 7 || strings.Contains(out, "wrong@") {
			t.Errorf("want seven lines without the password:\n%s", out)
		}
	})
}

func TestCheckAllWell(t *testing.T) {
	s := daemontest.Camera(t, demo.Config{})
	config := "http: {addr: '127.0.0.1:0'}\nnats: {addr: '127.0.0.1:0'}\nsuperpixels: 96\ncameras: [{name: gate, transport: tcp, url: '" + s.URL() + "', annotation: '" + clitest.File(t, "a.json", daemontest.Annotation) + "', detect: {classes: [car]}, rules: [{name: jam, when: still, classes: [car], for: 10s}]}]\n"
	c := start(t, "check", "-c", clitest.File(t, "segd.yaml", config))
	assert.NoError(t, c.Wait(t))
	for _, want := range [][]string{{"model: ok", "segd-p64", "64 channels"}, {"camera gate: ok", "96×64"}, {"detector: ok", "the network's own"},
		{"rule jam of camera gate: ok: an event when a car has stood still in the picture for 10s, once in 1m0s at most"}} {
		if !clitest.LineWith(c.Out.String(), want) {
			t.Errorf("no line has all of %q:\n%s", want, c.Out.String())
		}
	}
}

// A second segd on the same port, be it the page's or NATS', says so.
func TestSecondOnTheSamePort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	addr := taken.Addr().String()
	for _, tt := range []struct{ name, http, nats string }{
		{"page", addr, "127.0.0.1:0"},
		{"nats", "127.0.0.1:0", addr},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, "demo", "--addr", tt.http, "--nats", tt.nats)
			var printed strings.Builder
			assert.Equal(t, 1, cli.Report(&printed, c.Wait(t)), "exit status")
			checkLine(t, printed.String(), []string{addr, "in use"})
		})
	}
}

// checkLine wants one line that begins with segd: and has every part.
func checkLine(t *testing.T, printed string, parts []string) {
	t.Helper()
	if strings.Count(printed, "\n") != 1 || !strings.HasPrefix(printed, "segd: ") || !clitest.LineWith(printed, parts) {
		t.Errorf("want one line with all of %q, got\n%s", parts, printed)
	}
}

// truncatedModel is the shipped model cut in the middle of its weights: it still
// begins like a model, and OpenCV ends the process that loads it.
func truncatedModel(t *testing.T) string {
	t.Helper()
	whole, err := os.ReadFile("../../features/dnn/models/segd-p64.onnx")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "refused.onnx")
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	return path
}

// maskFile is a mask PNG with object 1 in its upper left quarter.
func maskFile(t *testing.T, width, height int) string {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height / 2 {
		for x := range width / 2 {
			img.Pix[y*img.Stride+x] = 1
		}
	}
	path := filepath.Join(t.TempDir(), "mask.png")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, png.Encode(f, img))
	return path
}
