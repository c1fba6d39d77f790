package metrics

import (
	"cmp"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
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
	latency   *prometheus.HistogramVec
	stages    *prometheus.HistogramVec
	offset    *prometheus.GaugeVec
	budget    *prometheus.GaugeVec
	tolerance *prometheus.GaugeVec
	packets   *prometheus.CounterVec
	held      *prometheus.HistogramVec
	jitter    *prometheus.GaugeVec
	fallbacks *prometheus.CounterVec
	decoder   *prometheus.GaugeVec
	share     *prometheus.HistogramVec
	pieces    *prometheus.HistogramVec
	looks     *prometheus.CounterVec
	blind     *prometheus.CounterVec
	looking   *prometheus.HistogramVec
	detected  *prometheus.CounterVec
	unmarked  *prometheus.CounterVec
	limited   *prometheus.CounterVec
	thumbs    *prometheus.CounterVec
	keptAt    *prometheus.GaugeVec
	keptSize  *prometheus.GaugeVec
	keeping   *prometheus.HistogramVec
	unkept    *prometheus.CounterVec
	build     *prometheus.GaugeVec
	solver    solverVecs
	commands  commandVecs
	ofCameras []vec // all of which a camera has series

	reg     prometheus.Registerer
	mu      sync.Mutex
	cameras map[string]*Camera
}

type solverVecs struct {
	iterations *prometheus.HistogramVec
	guaranteed *prometheus.CounterVec
	violations *prometheus.CounterVec
	windows    *prometheus.CounterVec
	labelled   *prometheus.CounterVec
}

// New registers segd's metrics, the Go runtime's and the process's with reg. It
// panics when reg has another segd's already; the runtime's may be there.
func New(reg prometheus.Registerer) *Metrics {
	var ofCameras []vec
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(reg, &ofCameras, labels, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return register(reg, &ofCameras, labels, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
		return register(reg, &ofCameras, labels, prometheus.NewHistogramVec(opts, labels))
	}
	m := &Metrics{
		reg:     reg,
		cameras: map[string]*Camera{},
		latency: histogram("frame_latency_seconds",
			"Time from a frame's capture to the publishing of its masks.", latencyBuckets, labelCamera),
		stages: histogram("stage_duration_seconds",
			"Time one frame takes in a stage.", stageBuckets, labelCamera, labelStage),
		share: histogram("frame_roi_ratio",
			"Share of a frame's pixels in its regions of interest, where objects are looked for, 0 to 1.", shareBuckets, labelCamera),
		pieces: histogram("frame_superpixels",
			"Superpixels a frame is cut into, in its regions of interest.", superpixelBuckets, labelCamera),
		looks: counter("detector_looks_total",
			"Frames that a detector of its own looked at, or tried to.", labelCamera),
		blind: counter("detector_failures_total",
			"Of these, looks that came to nothing because something failed.", labelCamera),
		looking: histogram("detector_duration_seconds",
			"Time of a look.", stageBuckets, labelCamera),
		detected: counter("detections_total",
			"Things of the wanted classes that were detected in a frame, known or new, by class.", labelCamera, labelClass),
		unmarked: counter("detections_unmarked_total",
			"Things that were detected and not marked, because there were too many objects.", labelCamera),
		limited: counter("events_limited_total",
			"Events of objects that were not told when they happened, because there were too many.", labelCamera),
		thumbs: counter("thumbnails_total",
			"Thumbnails of events by outcome: made, removed (for newer ones) and left_out (as too many waited, or something failed).", labelCamera, labelOutcome),
		keptAt: gauge("checkpoint_timestamp_seconds",
			"When the camera's newest checkpoint was kept, in seconds since 1970.", labelCamera),
		keptSize: gauge("checkpoint_size_bytes",
			"Size of the camera's newest checkpoint.", labelCamera),
		keeping: histogram("checkpoint_duration_seconds",
			"Time to make and keep a checkpoint, beside the frames.", stageBuckets, labelCamera),
		unkept: counter("checkpoint_failures_total",
			"Checkpoints that could not be kept.", labelCamera),
		offset: gauge("ingest_clock_offset_seconds",
			"The camera's clock by its RTCP sender reports minus the local clock.", labelCamera),
		packets: counter("ingest_packets_total",
			"RTP packets: on_time, late (after ones behind them) and lost.", labelCamera, labelOutcome),
		held: histogram("ingest_reorder_wait_seconds",
			"Time a publisher's packet waited for ones before it.", heldBuckets, labelCamera),
		jitter: gauge("ingest_jitter_seconds",
			"How unevenly RTP packets come, by RFC 3550.", labelCamera),
		fallbacks: counter("ingest_decode_fallbacks_total",
			"Times that software took over decoding from a device that was configured.", labelCamera),
		decoder: gauge("ingest_decoder_info",
			"Always 1; the labels say what the video is in and what decodes it.", labelCamera, labelCodec, labelDevice),
		budget: gauge("solver_budget_seconds",
			"Time the solver may take for a frame."),
		tolerance: gauge("solver_tolerance",
			"Primal and dual residual per score below which a window has converged."),
		build: gauge("build_info",
			"Always 1; the labels say what runs.", "version", "revision", "goversion"),
		solver: solverVecs{
			iterations: histogram("solver_iterations",
				"ADMM iterations a window.", iterationBuckets, labelCamera),
			guaranteed: counter("solver_guaranteed_iterations_total",
				"ADMM iterations in which the augmented Lagrangian cannot rise, as rho is large enough and the iterate before consistent.", labelCamera),
			violations: counter("solver_descent_violations_total",
				"ADMM iterations over which the augmented Lagrangian, at the iteration's own rho, rose.", labelCamera),
			windows: counter("solver_windows_total",
				"Windows solved, by what ended it: converged (residuals below the tolerance and labels settled), iterations (all that are granted), time (the budget).", labelCamera, labelEnd),
			labelled: counter("labelled_objects_total",
				"Objects by what labels their superpixels in a frame: solver (the window's joint estimate), affinity (alone, in a frame that corrects objects or shows none).", labelCamera, labelBy),
		},
	}
	m.commands = newCommandVecs(counter)
	m.ofCameras = ofCameras
	reg.MustRegister(m.status(), m.solves())
	m.Build("", "")
	registerRuntime(reg)
	return m
}

// vec is a metric with labels.
type vec interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// register registers v with reg, and notes it in ofCameras if cameras have series of it.
func register[V vec](reg prometheus.Registerer, ofCameras *[]vec, labels []string, v V) V {
	reg.MustRegister(v)
	if slices.Contains(labels, labelCamera) {
		*ofCameras = append(*ofCameras, v)
	}
	return v
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
		c = newCamera(m, name)
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
		c.remove()
		delete(m.cameras, name)
	}
}
