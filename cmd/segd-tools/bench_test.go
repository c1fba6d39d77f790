package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/internal/waitfor"
)

// Cameras of another process are received and measured; the JSON has the
// documented keys and no others.
func TestBenchIngest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: cameras measured")
	}
	c := start(t, "bench", "ingest", "--cameras", "2", "--for", "1s", "--json")
	if err := c.Wait(t); err != nil {
		t.Fatalf("%v\n%s", err, c.Err.String())
	}
	var r struct {
		Cameras    int      `json:"cameras"`
		FramesLost *int     `json:"frames_lost"`
		CPU        float64  `json:"cpu_percent_per_camera"`
		RSSMB      *float64 `json:"rss_mb_per_camera"`
		FPS        float64  `json:"fps"`
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(c.Out.String())))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, c.Out.String())
	}
	// That none is lost is a matter of the machine, and what memory grows by one of the tests before, whose
	// garbage this process may give back; that it is told is not.
	if r.FramesLost == nil || *r.FramesLost < 0 || r.Cameras != 2 || r.CPU <= 0 || r.RSSMB == nil || r.FPS <= 0 {
		t.Errorf("%s", c.Out.String())
	}
	if c = start(t, "bench", "ingest", "--cameras", "1", "--for", "1s", "--transport", "udp", "--size", "320x240"); c.Wait(t) != nil ||
		!strings.HasPrefix(c.Out.String(), "1 cameras of 320x240: ") || !strings.Contains(c.Out.String(), " frames lost, ") {
		t.Errorf("for people:\n%s%s", c.Out.String(), c.Err.String())
	}
}

// A segd of its own is measured with cameras and objects, and ended; the JSON has the
// documented keys and no others.
func TestBenchPipeline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 16 s: a segd measured")
	}
	segdInPath(t)
	type report struct {
		Cameras int     `json:"cameras"`
		FPS     float64 `json:"fps"`
		Dropped float64 `json:"dropped_percent"`
		Latency struct {
			P50 float64 `json:"p50"`
			P95 float64 `json:"p95"`
			P99 float64 `json:"p99"`
		} `json:"latency_ms"`
		Outcomes  map[string]float64 `json:"outcomes_percent"`
		Stages    map[string]float64 `json:"stages_ms"`
		Busy      map[string]float64 `json:"busy_percent"`
		Cores     int                `json:"cores"`
		CPU       float64            `json:"cpu_percent"`
		CoreMS    float64            `json:"core_ms"`
		RSS       float64            `json:"rss_mb"`
		Allocs    float64            `json:"allocs_per_frame"`
		Batch     float64            `json:"images_per_run"`
		Failures  float64            `json:"device_failures"`
		Reference float64            `json:"reference_ms"`
	}
	posted := make(chan struct{}, 1) // by what is configured besides
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case posted <- struct{}{}:
		default:
		}
	}))
	defer hook.Close()
	add := clitest.File(t, "add.yaml", "webhooks: [{name: test, url: '"+hook.URL+"'}]")
	var r report
	var c *clitest.Command
	var missing []string
	for seconds := 1; ; seconds *= 4 { // for longer where a machine does not do in a second what is to be measured
		c = start(t, "bench", "pipeline", "--cameras", "2", "--size", "160x120", "--fps", "5", "--objects", "3", "--batch", "2", "--add", add, "--beside", "echo beside $SEGD_CLIENT_PAGE; exec sleep 1000", "--for", fmt.Sprintf("%ds", seconds), "--json")
		if err := c.Wait(t); err != nil {
			if seconds < 60 && strings.Contains(err.Error(), "no frame was published") {
				continue
			}
			t.Fatalf("%v\n%s", err, c.Err.String())
		}
		dec := json.NewDecoder(strings.NewReader(c.Out.String()))
		dec.DisallowUnknownFields()
		r, missing = report{}, nil
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%v in %s", err, c.Out.String())
		}
		for _, stage := range []string{"features", "track", "view", "affinity", "solve", "mask"} {
			if _, ok := r.Stages[stage]; !ok {
				missing = append(missing, stage)
			}
		}
		if r.Allocs == 0 { // in a second, fewer than what asks for them may take
			missing = append(missing, "allocations")
		}
		if len(missing) == 0 || seconds > 60 {
			break
		}
	}
	if r.Cameras != 2 || !(r.FPS > 0) || r.Dropped < 0 || r.Dropped > 100 || !(r.Latency.P50 > 0) || r.Latency.P95 < r.Latency.P50 || r.Latency.P99 < r.Latency.P95 ||
		!(r.CPU > 0) || !(r.CoreMS > 0) || !(r.RSS > 0) || !(r.Allocs > 0) || !(r.Batch >= 1 && r.Batch <= 2) || r.Failures != 0 || !(r.Reference > 0) {
		t.Errorf("%s", c.Out.String())
	}
	all := 0.0
	for _, share := range r.Outcomes {
		all += share
	}
	if math.Abs(all-100) > 0.1 || math.Abs(r.Outcomes["published"]-100+r.Dropped) > 0.1 {
		t.Errorf("of the frames became %v, in all %v; want 100 %%, and %.1f %% not published", r.Outcomes, all, r.Dropped)
	}
	if busy := r.Busy["features"]; r.Cores < 1 || len(r.Busy) != len(r.Stages) || !(busy > 0) {
		t.Errorf("stages are at work %v %% of the time on %d cores", r.Busy, r.Cores)
	}
	waitfor.Next(t, "an event at the webhook", posted)
	assert.Contains(t, c.Err.String(), "beside http://127.0.0.1:", "what runs beside is not told where segd is")
	if len(missing) > 0 {
		t.Errorf("no stages %q in %v", missing, r.Stages)
	}
}

// segdInPath is the segd that is measured: this binary, see TestMain.
func segdInPath(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "segd")))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// Each mistake is one line that says what and where, and what would do.
func TestBenchFaults(t *testing.T) {
	segdInPath(t)
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"ingest --cameras 0", []string{"--cameras 0", "1 to 256"}},
		{"ingest --for 5ms", []string{"--for 5ms", "1s or more"}},
		{"pipeline --size 854x481", []string{`"854x481"`, "even numbers"}},
		{"pipeline --size 8x8", []string{`"8x8"`, "even numbers"}},
		{"pipeline --objects 31", []string{"--objects 31", "0 to 30"}},
		{"pipeline --fps 0", []string{"--fps 0", "1 to 120"}},
		{"pipeline --for 1s --size 64x64 --camera recrod:true", []string{"--camera:", "recrod"}},
		{"pipeline --for 1s --size 64x64 --add " + clitest.File(t, "add.yaml", "mqtt:\n  ulr: x\n"), []string{"add.yaml:2", "ulr"}},
		{"pipeline --engine steam", []string{`engine "steam"`, "auto, opencv or onnxruntime"}},
		{"ingest --transport smoke", []string{`"smoke"`, "tcp, udp, auto"}},
	} {
		c := start(t, append([]string{"bench"}, strings.Fields(tt.line)...)...)
		err := c.Wait(t)
		if cli.Status(err) != cli.ExitUsage {
			t.Errorf("%s: exit status %d of %v; want %d", tt.line, cli.Status(err), err, cli.ExitUsage)
		}
		var said strings.Builder
		cli.Report(&said, err)
		for _, want := range tt.want {
			if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), want) {
				t.Errorf("%s: want one line with %q, got\n%s", tt.line, want, said.String())
			}
		}
	}
}

// Without a segd there is nothing to measure.
func TestBenchWithoutSegd(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := start(t, "bench", "pipeline", "--size", "64x64", "--cameras", "1", "--for", "1s")
	if err := c.Wait(t); err == nil || !strings.Contains(err.Error(), "segd is not installed") || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("%v", err)
	}
}
