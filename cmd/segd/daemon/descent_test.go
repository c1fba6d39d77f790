package daemon

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
	"github.com/segd/segd/tracker"
)

// recordings is where what the alerts on these metrics are tested with is.
const recordings = "../../../deploy/prometheus/testdata/"

var update = flag.Bool("update", false, "write descent.yml and converged.yml of "+recordings)

const recordingHead = `# What /metrics said of two cameras with ten frames a minute, once a minute from the start
# on. After four minutes an object is marked. Gate is solved with a ρ far below where
# descent is guaranteed, yard as the daemon does.
# Written by: go test ./cmd/segd/daemon -run TestDescentViolations -update
`

const (
	descentFPS  = 1. / 6 // of a clock that does not wait for anybody
	descentTime = 15     // minutes
)

// nowhere is a bus that takes everything.
type nowhere struct{}

func (nowhere) PublishMask(*segdv1.MaskFrame) error { return nil }
func (nowhere) PublishEvent(*segdv1.Event) error    { return nil }
func (nowhere) PublishStatus(*segdv1.Status) error  { return nil }

// scrapes runs a daemon's cameras, each with its own way to solve, without bus and page,
// and returns what /metrics says at the start and after each minute. Time is a bubble's,
// so no frame is dropped and the same comes out every time.
func scrapes(t *testing.T, cases map[string]tracker.Config) (texts []string) {
	t.Helper()
	dir := daemontest.Pictures(t, (descentTime+1)*10)
	marks, err := annotation.Parse(strings.NewReader(strings.Replace(daemontest.Annotation, `"frame": 0`, fmt.Sprintf(`"frame": %d`, daemontest.MarkedAt), 1)))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(Version{}, &config.Config{Site: "test", Superpixels: 96}, slog.New(slog.DiscardHandler))
		d.cores = cores.New(8)
		var names []string
		build := map[string]func() (*pipeline.Camera, error){}
		for name, solved := range cases {
			c := d.camera(cameras.Build{Settings: d.cfg, Camera: config.Camera{Name: name, URL: "dir:" + dir, FPS: descentFPS}, Marks: marks})
			c.Publisher, c.Viewer = nowhere{}, nil
			c.NewStepper = func() (pipeline.Stepper, error) { return tracker.New(solved) }
			names, build[name] = append(names, name), func() (*pipeline.Camera, error) { return pipeline.New(c) }
		}
		all := set.New[*pipeline.Camera]()
		require.NoError(t, all.Change(names, build))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- all.Run(ctx) }()
		time.Sleep(3 * time.Second) // scrapes are between frames, not at the moment of one
		page := promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{})
		for {
			w := httptest.NewRecorder()
			page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			texts = append(texts, w.Body.String())
			if len(texts) > descentTime {
				break
			}
			time.Sleep(time.Minute)
		}
		cancel()
		assert.NoError(t, <-ended)
	})
	return texts
}

// over returns a series' values in scrapes. Further labels come with a comma before them.
func over(t *testing.T, scrapes []string, name, camera, labels string) (values []float64) {
	t.Helper()
	series := fmt.Sprintf("%s{camera=%q%s}", name, camera, labels)
	for minute, text := range scrapes {
		v, err := strconv.ParseFloat(daemontest.Value(text, series), 64)
		require.NoError(t, err, "%s after %d minutes", series, minute)
		values = append(values, v)
	}
	return values
}

const (
	violations = "segd_solver_descent_violations_total"
	windows    = "segd_solver_windows_total"
)

// Descent is guaranteed from ρ = 2ν/γ on, which is the daemon's own setting.
var descentCameras = map[string]tracker.Config{"gate": {Rho: 0.0002}, "yard": {}}

// The counter of violations rises where a camera's solver works at a ρ that guarantees
// no descent, and stays where it is at one that does.
func TestDescentViolations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: many frames through the solver")
	}
	texts := scrapes(t, descentCameras)
	marked := daemontest.MarkedAt / 10 // the first scrape after a window was solved
	for camera := range descentCameras {
		rose := over(t, texts, violations, camera, "")
		ran := over(t, texts, "segd_solver_iterations_sum", camera, "")
		guaranteed := over(t, texts, "segd_solver_guaranteed_iterations_total", camera, "")
		converged := over(t, texts, windows, camera, `,end="converged"`)
		unconverged := over(t, texts, windows, camera, `,end="iterations"`)
		for minute := range texts {
			if solved := ran[minute] > 0; solved != (minute >= marked) {
				t.Errorf("%s, minute %d: %g iterations; want the first in minute %d", camera, minute, ran[minute], marked)
			}
			if unsure := ran[minute] - guaranteed[minute]; unsure < 0 || rose[minute] > unsure {
				t.Errorf("%s, minute %d: %g violations in %g iterations of which %g are guaranteed to be none", camera, minute, rose[minute], ran[minute], guaranteed[minute])
			}
		}
		last := len(texts) - 1
		switch camera {
		case "gate":
			for minute := marked; minute <= last; minute++ {
				if rose[minute] <= rose[minute-1] {
					t.Errorf("gate: no violation in minute %d: %v", minute, rose)
				}
			}
			if guaranteed[last] != 0 {
				t.Errorf("gate: %g iterations are counted as guaranteed; want none", guaranteed[last])
			}
			if converged[last] > 0 || unconverged[last] == 0 {
				t.Errorf("gate: %g windows converged, %g did not; want none to", converged[last], unconverged[last])
			}
		case "yard":
			if guaranteed[last] != ran[last] {
				t.Errorf("yard: %g of %g iterations are guaranteed; want all", guaranteed[last], ran[last])
			}
			assert.EqualValues(t, 0, rose[last], "yard: violations %v; want none", rose)
			if converged[last] < 0.9*(converged[last]+unconverged[last]) {
				t.Errorf("yard: %g windows converged, %g did not; want nearly all to", converged[last], unconverged[last])
			}
			if soon := over(t, texts, "segd_solver_iterations_bucket", camera, `,le="4"`); soon[last] < 0.9*(converged[last]+unconverged[last]) {
				t.Errorf("yard: %g windows took at most 4 iterations; want nearly all to", soon[last])
			}
		}
	}
	if *update && !t.Failed() {
		record(t, texts, "descent.yml", violations, "")
		record(t, texts, "converged.yml", windows, `,end="converged"`, `,end="iterations"`)
	}
}

// record writes series in the form of promtool's cases.
func record(t *testing.T, texts []string, file, name string, labels ...string) {
	t.Helper()
	out := recordingHead
	for _, camera := range []string{"gate", "yard"} {
		for _, l := range labels {
			values := strings.Trim(fmt.Sprint(over(t, texts, name, camera, l)), "[]")
			out += fmt.Sprintf("- series: '%s{job=\"segd\",instance=\"box:8080\",camera=%q%s}'\n  values: '%s'\n", name, camera, l, values)
		}
	}
	require.NoError(t, os.WriteFile(recordings+file, []byte(out), 0o644))
}

// Every series of the solver's tells something: over a quarter of an hour it changes, and
// no iteration's Lagrangian is always that of the one before.
func TestSolverMetricsMove(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: many frames through the solver")
	}
	// Two stiff classifiers, which leave the labels of this clip something to find, and one
	// that converges.
	cases := map[string]tracker.Config{"gate": {Nu: 100, Rho: 0.01}, "yard": {Nu: 100, Rho: 5}, "dock": {}}
	texts := scrapes(t, cases)
	seen := map[string][]string{} // values by series
	for _, text := range texts {
		for line := range strings.Lines(text) {
			series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(series, "segd_solver_") || strings.HasPrefix(series, "segd_label_flips_") {
				seen[series] = append(seen[series], value)
			}
		}
	}
	moves := map[string]bool{} // by series without its camera
	for series, values := range seen {
		name := series
		for camera := range cases {
			name = strings.ReplaceAll(name, `camera="`+camera+`"`, "")
		}
		moves[name] = moves[name] || len(slices.Compact(values)) > 1
	}
	// Here no time passes while a window is solved.
	if name := `segd_solver_windows_total{,end="time"}`; moves[name] {
		t.Errorf("%s moves; want it tested as the others", name)
	} else {
		delete(moves, name)
	}
	for name, does := range moves {
		if !does && !strings.Contains(name, "_bucket{") {
			t.Errorf("%s never moves", name)
		}
	}
	if len(moves) < 15 {
		t.Fatalf("only %d series: %v", len(moves), moves)
	}
	for n := 2; n <= tracker.Traced; n++ {
		of := func(n int) []string {
			return seen[fmt.Sprintf(`segd_solver_iteration_lagrangian{camera="yard",iteration="%d"}`, n)]
		}
		if slices.Equal(of(n), of(n-1)) {
			t.Errorf("iteration %d always has the Lagrangian of the one before", n)
		}
	}
}
