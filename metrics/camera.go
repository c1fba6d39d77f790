package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
)

// packetOutcomes are what becomes of RTP packets.
var packetOutcomes = [...]string{"on_time", "late", "lost"}

// thumbnailOutcomes are what becomes of thumbnails of events.
var thumbnailOutcomes = [...]string{"made", "removed", "left_out"}

// Parts of a frame's tracking, behind the stages of a camera.
const (
	partAffinity = pipeline.Stages + iota // finding each superpixel in the frames before
	partSolve                             // DC-ADMM
	partMask                              // labels to run lengths
)

// stages are those of a camera, and the parts.
var stages = [...]string{
	pipeline.StageFeatures.String(), pipeline.StageTrack.String(), pipeline.StageView.String(), partAffinity: "affinity", "solve", "mask",
}

// What ends the solving of a window, in ends: its iterations are those that are granted.
const (
	endConverged = iota
	endIterations
	endTime
)

var ends = [...]string{"converged", "iterations", "time"}

// Camera are the metrics of one camera, their collector, and its pipeline.Meter.
type Camera struct {
	parts []prometheus.Collector

	// Of these the series are there from the start.
	latency, iterations, held, share, pieces, looking, keeping                                       prometheus.Histogram
	guaranteed, violations, fallbacks, looks, blind, unmarked, limited, unkept, bySolver, byAffinity prometheus.Counter

	windows, packets, thumbs []prometheus.Counter  // by ends, packetOutcomes, thumbnailOutcomes
	stages                   []prometheus.Observer // by stages

	// The others come with their first value.
	offset, jitter, keptAt, keptSize, decoder *prometheus.GaugeVec
	detected                                  *prometheus.CounterVec

	mu     sync.Mutex // guards what follows
	read   func() pipeline.Snapshot
	last   tracker.Report // of those with iterations
	solved time.Time
}

func newCamera(name string) *Camera {
	c := &Camera{read: func() pipeline.Snapshot { return pipeline.Snapshot{} }}
	of := prometheus.Labels{labelCamera: name}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return part(c, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: of}, labels))
	}
	counter := func(name, help string) prometheus.Counter { return counters(name, help).WithLabelValues() }
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return part(c, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: of}, labels))
	}
	inHistogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: of, Buckets: buckets}
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return part(c, prometheus.NewHistogram(inHistogram(name, help, buckets)))
	}
	c.latency = histogram("frame_latency_seconds", "Time from a frame's capture to the publishing of its masks.", latencyBuckets)
	took := part(c, prometheus.NewHistogramVec(inHistogram("stage_duration_seconds", "Time one frame takes in a stage.", stageBuckets), []string{labelStage}))
	c.stages = each(took.WithLabelValues, stages[:])
	c.share = histogram("frame_roi_ratio", "Share of a frame's pixels in its regions of interest, where objects are looked for, 0 to 1.", shareBuckets)
	c.pieces = histogram("frame_superpixels", "Superpixels a frame is cut into, in its regions of interest.", superpixelBuckets)
	c.looks = counter("detector_looks_total", "Frames that a detector of its own looked at, or tried to.")
	c.blind = counter("detector_failures_total", "Of these, looks that came to nothing because something failed.")
	c.looking = histogram("detector_duration_seconds", "Time of a look.", stageBuckets)
	c.detected = counters("detections_total", "Things of the wanted classes that were detected in a frame, known or new, by class.", labelClass)
	c.unmarked = counter("detections_unmarked_total", "Things that were detected and not marked, because there were too many objects.")
	c.limited = counter("events_limited_total", "Events of objects that were not told when they happened, because there were too many.")
	c.thumbs = each(counters("thumbnails_total",
		"Thumbnails of events by outcome: made, removed (for newer ones) and left_out (as too many waited, or something failed).", labelOutcome).WithLabelValues, thumbnailOutcomes[:])
	c.keptAt = gauge("checkpoint_timestamp_seconds", "When the camera's newest checkpoint was kept, in seconds since 1970.")
	c.keptSize = gauge("checkpoint_size_bytes", "Size of the camera's newest checkpoint.")
	c.keeping = histogram("checkpoint_duration_seconds", "Time to make and keep a checkpoint, beside the frames.", stageBuckets)
	c.unkept = counter("checkpoint_failures_total", "Checkpoints that could not be kept.")
	c.offset = gauge("ingest_clock_offset_seconds", "The camera's clock by its RTCP sender reports minus the local clock.")
	c.packets = each(counters("ingest_packets_total", "RTP packets: on_time, late (after ones behind them) and lost.", labelOutcome).WithLabelValues, packetOutcomes[:])
	c.held = histogram("ingest_reorder_wait_seconds", "Time a publisher's packet waited for ones before it.", heldBuckets)
	c.jitter = gauge("ingest_jitter_seconds", "How unevenly RTP packets come, by RFC 3550.")
	c.fallbacks = counter("ingest_decode_fallbacks_total", "Times that software took over decoding from a device that was configured.")
	c.decoder = gauge("ingest_decoder_info", "Always 1; the labels say what the video is in and what decodes it.", labelCodec, labelDevice)
	c.iterations = histogram("solver_iterations", "ADMM iterations a window.", iterationBuckets)
	c.guaranteed = counter("solver_guaranteed_iterations_total",
		"ADMM iterations in which the augmented Lagrangian cannot rise, as rho is large enough and the iterate before consistent.")
	c.violations = counter("solver_descent_violations_total", "ADMM iterations over which the augmented Lagrangian, at the iteration's own rho, rose.")
	c.windows = each(counters("solver_windows_total",
		"Windows solved, by what ended it: converged (residuals below the tolerance and labels settled), iterations (all that are granted), time (the budget).", labelEnd).WithLabelValues, ends[:])
	labelled := counters("labelled_objects_total",
		"Objects by what labels their superpixels in a frame: solver (the window's joint estimate), affinity (alone, in a frame that corrects objects or shows none).", labelBy)
	c.bySolver, c.byAffinity = labelled.WithLabelValues("solver"), labelled.WithLabelValues("affinity")
	return c
}

// part is v, which is one of c's from now on.
func part[V prometheus.Collector](c *Camera, v V) V {
	c.parts = append(c.parts, v)
	return v
}

// each are the series of all values of a label.
func each[S any](series func(...string) S, values []string) (all []S) {
	for _, v := range values {
		all = append(all, series(v))
	}
	return all
}

// Describe implements prometheus.Collector.
func (c *Camera) Describe(descs chan<- *prometheus.Desc) {
	for _, p := range c.parts {
		p.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (c *Camera) Collect(out chan<- prometheus.Metric) {
	for _, p := range c.parts {
		p.Collect(out)
	}
}

// Packets counts RTP packets that came, of which some came late, after ones
// behind them, and those that were lost, and sets how unevenly they come.
func (c *Camera) Packets(came, late, lost int, jitter time.Duration) {
	c.jitter.WithLabelValues().Set(jitter.Seconds())
	for i, n := range [...]int{came - late, late, lost} {
		c.packets[i].Add(float64(max(n, 0)))
	}
}

// Held observes how long a packet waited for ones before it.
func (c *Camera) Held(d time.Duration) { c.held.Observe(d.Seconds()) }

// Decoder says what the video is in and what decodes it, and counts a time that software took over from a device.
func (c *Camera) Decoder(id codec.ID, on codec.Device, fallback error) {
	c.decoder.Reset()
	c.decoder.WithLabelValues(id.String(), string(on)).Set(1)
	if fallback != nil { // the source logs it
		c.fallbacks.Inc()
	}
}

// Latency observes a published frame's time from capture to publish. Less than
// 0, as from a camera whose clock is ahead, counts as 0.
func (c *Camera) Latency(d time.Duration) { c.latency.Observe(max(d, 0).Seconds()) }

// Took observes one frame's time in a stage.
func (c *Camera) Took(in pipeline.Stage, d time.Duration) { c.stages[in].Observe(d.Seconds()) }

// Extracted observes how much of one frame was looked at: which share of its pixels, and in how many superpixels.
func (c *Camera) Extracted(s *features.Scene) {
	seen := 0
	for _, area := range s.Area {
		seen += int(area)
	}
	// Areas are whole pixels of what superpixels are grown on, also at the edge of a picture
	// that is no multiple of them.
	c.share.Observe(min(1, float64(seen)/float64(s.Width*s.Height)))
	c.pieces.Observe(float64(s.N))
}

// Looked observes one look of the detector, which may have failed.
func (c *Camera) Looked(d time.Duration) {
	c.looks.Inc()
	c.looking.Observe(d.Seconds())
}

// LookFailed counts a look that came to nothing.
func (c *Camera) LookFailed() { c.blind.Inc() }

// Detected counts one thing that was detected. Classes must not be unbounded.
func (c *Camera) Detected(class string) { c.detected.WithLabelValues(class).Inc() }

// Limited counts an event that was not told when it happened.
func (c *Camera) Limited() { c.limited.Inc() }

// Thumbnails counts thumbnails of events that were made, removed for newer ones, or left out.
func (c *Camera) Thumbnails(made, removed, leftOut int) {
	for i, n := range [...]int{made, removed, leftOut} {
		c.thumbs[i].Add(float64(max(n, 0)))
	}
}

// Unmarked counts n things that were detected, but not marked as there were too many objects.
func (c *Camera) Unmarked(n int) { c.unmarked.Add(float64(max(n, 0))) }

// Checkpoint notes that one was kept now, of so many bytes, and what that took, or that it could not be.
func (c *Camera) Checkpoint(bytes int, took time.Duration, err error) {
	if err != nil {
		c.unkept.Inc()
		return
	}
	c.keptAt.WithLabelValues().Set(float64(time.Now().UnixMilli()) / 1000)
	c.keptSize.WithLabelValues().Set(float64(bytes))
	c.keeping.Observe(took.Seconds())
}

// Solved observes how a frame was labelled and its window solved. What the window came to is told for solveTold.
func (c *Camera) Solved(s tracker.Solve) {
	if s.SolveTime > 0 { // there are objects
		c.Took(partAffinity, s.AffinityTime)
		c.Took(partSolve, s.SolveTime)
		c.Took(partMask, s.MaskTime)
	}
	c.bySolver.Add(float64(s.Estimated))
	c.byAffinity.Add(float64(s.Unlearnt))
	if s.Iterations == 0 && !s.OutOfTime {
		return // none is in sight to learn from
	}
	end := endIterations
	switch {
	case s.Converged:
		end = endConverged
	case s.OutOfTime:
		end = endTime
	}
	c.iterations.Observe(float64(s.Iterations))
	c.guaranteed.Add(float64(s.Guaranteed))
	c.violations.Add(float64(s.Violations))
	c.windows[end].Inc()
	if s.Iterations > 0 { // else the time was up before there was anything to tell
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last, c.solved = s.Report, time.Now()
	}
}

// ClockOffset sets the sender's clock minus ours.
func (c *Camera) ClockOffset(d time.Duration) { c.offset.WithLabelValues().Set(d.Seconds()) }
