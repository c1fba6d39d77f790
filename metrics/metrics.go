package metrics

import (
	"cmp"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const (
	namespace = "segd"

	labelCamera  = "camera"
	labelOutcome = "outcome"
	labelStage   = "stage"
	labelObject  = "object"
	labelLabel   = "label"
	labelState   = "state"
	labelKind    = "kind"
	labelReason  = "reason"
	labelBy      = "by"
	labelEnd     = "end"
	labelIter    = "iteration"
	labelCodec   = "codec"
	labelDevice  = "device"
	labelWhat    = "what"
	labelZone    = "zone"
	labelClass   = "class"
	labelLine    = "line"

	labelDirection = "direction"

	labelTransport = "transport"

	unknown = "unknown" // instead of an empty build label
)

// latencyBuckets, in seconds, are close together where live video is judged:
// one frame at 25 fps takes 40 ms, and beyond 2.5 s it is not live any more.
var latencyBuckets = []float64{.005, .01, .02, .03, .04, .06, .08, .1, .15, .2, .3, .4, .6, .8, 1, 1.5, 2.5}

// stageBuckets, in seconds, begin lower, since a stage is a part of a frame's
// latency.
var stageBuckets = []float64{.0005, .001, .0025, .005, .01, .02, .04, .06, .08, .1, .15, .2, .3, .5, 1, 2.5}

// iterationBuckets: a window takes 3 to 5 from the last one's solution, and up to 200 where an object is marked.
var iterationBuckets = []float64{1, 2, 3, 4, 5, 6, 8, 10, 20, 60, 200}

// heldBuckets, in seconds: packets in order do not wait, one that is missing is
// asked for every 50 ms and given up after half a second.
var heldBuckets = []float64{.0001, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5}

// shareBuckets: 0 is a camera without objects, 1 all of the picture.
var shareBuckets = []float64{0, .02, .05, .1, .15, .2, .3, .4, .5, .6, .8, .99, 1}

// superpixelBuckets: all of a picture has 2,000 unless configured otherwise, and up to as
// many again where it is to be finer.
var superpixelBuckets = []float64{0, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 4000, 8000}

// Metrics are the metrics of one segd.
type Metrics struct {
	budget, tolerance, build *prometheus.GaugeVec
	commands                 commandVecs

	reg     prometheus.Registerer
	mu      sync.Mutex
	cameras map[string]*Camera
}

// New registers segd's metrics, the Go runtime's and the process's with reg. It
// panics when reg has another segd's already; the runtime's may be there.
func New(reg prometheus.Registerer) *Metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		reg: reg, cameras: map[string]*Camera{}, commands: newCommandVecs(),
		budget:    gauge("solver_budget_seconds", "Time the solver may take for a frame."),
		tolerance: gauge("solver_tolerance", "Primal and dual residual per score below which a window has converged."),
		build:     gauge("build_info", "Always 1; the labels say what runs.", "version", "revision", "goversion"),
	}
	reg.MustRegister(m.budget, m.tolerance, m.build, m.commands.panics, m.commands.refused, m.status(), m.solves())
	m.Build("", "")
	registerRuntime(reg)
	return m
}

// registerRuntime adds the usual collectors unless reg has them.
func registerRuntime(reg prometheus.Registerer) {
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		var already prometheus.AlreadyRegisteredError
		if err := reg.Register(c); err != nil && !errors.As(err, &already) {
			panic(err)
		}
	}
}

// Build sets segd_build_info. What is "" is taken from what the Go tool wrote
// into the program, and is "unknown" if that says nothing.
func (m *Metrics) Build(version, revision string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(version, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && revision == "" {
				revision = s.Value
			}
		}
	}
	version = cmp.Or(version, unknown)
	revision = cmp.Or(revision, unknown)
	m.build.Reset()
	m.build.WithLabelValues(version, revision, runtime.Version()).Set(1)
}

// Budget sets the time the solver may take for a frame.
func (m *Metrics) Budget(d time.Duration) { m.budget.WithLabelValues().Set(d.Seconds()) }

// Tolerance sets the residual per score below which a window has converged.
func (m *Metrics) Tolerance(residual float64) { m.tolerance.WithLabelValues().Set(residual) }

// Camera returns the metrics of the camera of that name. A new one's counters
// and histograms are there, at 0, when Camera returns.
func (m *Metrics) Camera(name string) *Camera {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.cameras[name]
	if c == nil {
		c = newCamera(name)
		m.reg.MustRegister(c)
		m.cameras[name] = c
	}
	return c
}

// Remove removes every series of a camera. Its Camera may be called on; nothing
// comes of it.
func (m *Metrics) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.cameras[name]; c != nil {
		m.reg.Unregister(c)
		delete(m.cameras, name)
	}
}
