package main

import (
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/zones"
)

// meter counts what the pipeline tells of one camera in Prometheus' metrics.
type meter struct{ *metrics.Camera }

var meterStages = [pipeline.Stages]metrics.Stage{
	pipeline.StageFeatures: metrics.StageFeatures,
	pipeline.StageTrack:    metrics.StageTrack,
	pipeline.StageView:     metrics.StageView,
}

func (m meter) Published(latency time.Duration) {
	m.Frame(metrics.Published)
	m.Latency(latency)
}

func (m meter) Dropped(before pipeline.Stage) {
	switch before {
	case pipeline.StageFeatures:
		m.Frame(metrics.DroppedFeatures)
	case pipeline.StageTrack:
		m.Frame(metrics.DroppedTracker)
	case pipeline.StageView: // it was published before
		m.Unseen()
	}
}

var missOutcomes = [ingest.Misses]metrics.Outcome{
	ingest.MissLost:        metrics.NotReceived,
	ingest.MissUndecodable: metrics.Undecodable,
	ingest.MissDisposable:  metrics.SkippedDisposable,
	ingest.MissOverflow:    metrics.SkippedOverflow,
	ingest.MissNoKey:       metrics.SkippedNoKey,
}

func (m meter) Missed(why ingest.Miss, n int) { m.Frames(missOutcomes[why], n) }

func (m meter) Unleased() { m.Frame(metrics.Unleased) }

func (m meter) Failed(pipeline.Stage) { m.Frame(metrics.Failed) }

func (m meter) Took(in pipeline.Stage, d time.Duration) { m.Stage(meterStages[in], d) }

func (m meter) Extracted(s *features.Scene) {
	seen := 0
	for _, area := range s.Area {
		seen += int(area)
	}
	// Areas are whole pixels of what superpixels are grown on, also at the edge of a picture
	// that is no multiple of them.
	m.Seen(min(1, float64(seen)/float64(s.Width*s.Height)), s.N)
}

func (m meter) Solved(s tracker.Solve) {
	if s.SolveTime > 0 { // there are objects
		m.Stage(metrics.StageAffinity, s.AffinityTime)
		m.Stage(metrics.StageSolve, s.SolveTime)
		m.Stage(metrics.StageMask, s.MaskTime)
	}
	m.Labelled(s.Estimated, s.Boxed)
	if s.Iterations == 0 && !s.OutOfTime {
		return // none is in sight to learn from
	}
	end := metrics.IterationsMet
	switch {
	case s.Converged:
		end = metrics.Converged
	case s.OutOfTime:
		end = metrics.OutOfTime
	}
	m.Solve(metrics.Solve{
		End: end, Iterations: s.Iterations, Guaranteed: s.Guaranteed, Violations: s.Violations,
		Lagrangian: s.Lagrangian, Descent: s.Descent, Primal: s.Primal, Dual: s.Dual,
		FlipRatio: s.FlipRatio, Trace: s.Trace,
	})
}

func (m meter) Objects(t objects.Table) {
	m.Automatic(t.Automatic())
	m.RetainObjects(t.IDs())
	for _, o := range t.All() {
		m.Camera.Object(o.ID, o.Label, metrics.State(o.State.String()), o.Area)
	}
}

func (m meter) Zone(n zones.ZoneCount) { m.Camera.Zone(n.Name, n.Objects, n.Entries, n.Stays) }

func (m meter) Line(n zones.LineCount) { m.Camera.Line(n.Name, n.AToB, n.BToA) }

func (m meter) PublishFailed() { m.PublishFailure() }

func (m meter) Reconnected() { m.Reconnect() }

func (m meter) Checkpoint(bytes int, took time.Duration, err error) {
	if err != nil {
		m.CheckpointFailed()
		return
	}
	m.Camera.Checkpoint(bytes, took)
}

// busMetrics translates what the bus tells of itself.
func busMetrics(s bus.Stats) metrics.Bus {
	out := metrics.Bus{
		Connected: s.Connected, Reconnects: s.Reconnects, BufferedBytes: s.BufferedBytes,
		EventsWaiting: s.EventsWaiting, EventsOldest: s.EventsOldest, EventsStored: s.EventsStored, Duplicates: s.Duplicates,
		Lost: make(map[string]map[string]uint64, len(s.Lost)),
	}
	for kind, reasons := range s.Lost {
		counts := make(map[string]uint64, len(reasons))
		for reason, n := range reasons {
			counts[string(reason)] = n
		}
		out.Lost[string(kind)] = counts
	}
	return out
}
