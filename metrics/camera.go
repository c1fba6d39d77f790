package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/features"
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

// Camera are the metrics of one camera, and its pipeline.Meter.
type Camera struct {
	m    *Metrics
	name string

	// Of these the series are there from the start.
	stages     [len(stages)]prometheus.Observer
	latency    prometheus.Observer
	iterations prometheus.Observer
	guaranteed prometheus.Counter
	violations prometheus.Counter
	windows    [len(ends)]prometheus.Counter
	bySolver   prometheus.Counter
	byAffinity prometheus.Counter
	packets    [len(packetOutcomes)]prometheus.Counter
	held       prometheus.Observer
	fallbacks  prometheus.Counter
	share      prometheus.Observer
	pieces     prometheus.Observer
	looks      prometheus.Counter
	blind      prometheus.Counter
	looking    prometheus.Observer
	unmarked   prometheus.Counter
	limited    prometheus.Counter
	thumbs     [len(thumbnailOutcomes)]prometheus.Counter
	keeping    prometheus.Observer
	unkept     prometheus.Counter

	// The rest come and go: a series is made under mu and only while the camera
	// is not removed.
	mu      sync.Mutex
	removed bool
	read    func() pipeline.Snapshot
	last    tracker.Report // of those with iterations
	solved  time.Time
}

func newCamera(m *Metrics, name string) *Camera {
	c := &Camera{
		m: m, name: name, read: func() pipeline.Snapshot { return pipeline.Snapshot{} },
		latency:    m.latency.WithLabelValues(name),
		iterations: m.solver.iterations.WithLabelValues(name),
		guaranteed: m.solver.guaranteed.WithLabelValues(name),
		violations: m.solver.violations.WithLabelValues(name),
		bySolver:   m.solver.labelled.WithLabelValues(name, "solver"),
		byAffinity: m.solver.labelled.WithLabelValues(name, "affinity"),
		held:       m.held.WithLabelValues(name),
		fallbacks:  m.fallbacks.WithLabelValues(name),
		share:      m.share.WithLabelValues(name),
		pieces:     m.pieces.WithLabelValues(name),
		looks:      m.looks.WithLabelValues(name),
		blind:      m.blind.WithLabelValues(name),
		looking:    m.looking.WithLabelValues(name),
		unmarked:   m.unmarked.WithLabelValues(name),
		limited:    m.limited.WithLabelValues(name),
		keeping:    m.keeping.WithLabelValues(name),
		unkept:     m.unkept.WithLabelValues(name),
	}
	for i, e := range ends {
		c.windows[i] = m.solver.windows.WithLabelValues(name, e)
	}
	for i, o := range packetOutcomes {
		c.packets[i] = m.packets.WithLabelValues(name, o)
	}
	for i, o := range thumbnailOutcomes {
		c.thumbs[i] = m.thumbs.WithLabelValues(name, o)
	}
	for i, s := range stages {
		c.stages[i] = m.stages.WithLabelValues(name, s)
	}
	return c
}

// Packets counts RTP packets that came, of which some came late, after ones
// behind them, and those that were lost.
func (c *Camera) Packets(came, late, lost int) {
	for i, n := range [...]int{came - late, late, lost} {
		c.packets[i].Add(float64(max(n, 0)))
	}
}

// Held observes how long a packet waited for ones before it.
func (c *Camera) Held(d time.Duration) { c.held.Observe(d.Seconds()) }

// Jitter sets how unevenly packets come.
func (c *Camera) Jitter(d time.Duration) { c.set(c.m.jitter, d.Seconds()) }

// Decoder says what the video is in and what decodes it: "software", or a device.
func (c *Camera) Decoder(codec, device string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.removed {
		c.m.decoder.DeletePartialMatch(prometheus.Labels{labelCamera: c.name})
		c.m.decoder.WithLabelValues(c.name, codec, device).Set(1)
	}
}

// DecodeFallback counts a time that software took over from a device.
func (c *Camera) DecodeFallback() { c.fallbacks.Inc() }

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
func (c *Camera) Detected(class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.removed {
		c.m.detected.WithLabelValues(c.name, class).Inc()
	}
}

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
	c.set(c.m.keptAt, float64(time.Now().UnixMilli())/1000)
	c.set(c.m.keptSize, float64(bytes))
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removed {
		return
	}
	c.iterations.Observe(float64(s.Iterations))
	c.guaranteed.Add(float64(s.Guaranteed))
	c.violations.Add(float64(s.Violations))
	c.windows[end].Inc()
	if s.Iterations > 0 { // else the time was up before there was anything to tell
		c.last, c.solved = s.Report, time.Now()
	}
}

// ClockOffset sets the sender's clock minus ours.
func (c *Camera) ClockOffset(d time.Duration) { c.set(c.m.offset, d.Seconds()) }

// set sets a gauge that comes with its first value.
func (c *Camera) set(vec *prometheus.GaugeVec, value float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.removed {
		vec.WithLabelValues(c.name).Set(value)
	}
}

// remove removes every series of the camera for good.
func (c *Camera) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed = true
	for _, vec := range c.m.ofCameras {
		vec.DeletePartialMatch(prometheus.Labels{labelCamera: c.name})
	}
}
