package daemon

import (
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
)

// meter counts what the pipeline tells of one camera in Prometheus' metrics.
type meter struct{ *metrics.Camera }

func (m meter) Watch(read func() pipeline.Snapshot) {
	m.Camera.Watch(func() metrics.Status { return cameraStatus(read()) })
}

// cameraStatus is a camera's status as metrics have it.
func cameraStatus(s pipeline.Snapshot) metrics.Status {
	out := metrics.Status{
		Up: s.Up, Damaged: s.Damaged, Unseen: s.Unseen,
		Reconnects: s.Reconnects, Restarts: s.Restarts, PublishFailures: s.PublishFailures,
	}
	out.Frames[metrics.Published], out.Frames[metrics.Failed], out.Frames[metrics.Unleased] = s.Published, s.Failed, s.Unleased
	out.Frames[metrics.DroppedFeatures] = s.DroppedBefore[pipeline.StageFeatures]
	out.Frames[metrics.DroppedTracker] = s.DroppedBefore[pipeline.StageTrack]
	for why, n := range s.Missed {
		out.Frames[missOutcomes[why]] = n
	}
	for _, o := range s.Objects {
		if o.Automatic() && !o.Dormant {
			out.Automatic++
		}
		out.Objects = append(out.Objects, metrics.Object{ID: o.ID, Label: o.Label, State: metrics.State(o.State.String()), Area: o.Area})
	}
	for _, z := range s.Zones.Zones {
		out.Zones = append(out.Zones, metrics.Zone(z))
	}
	for _, l := range s.Zones.Lines {
		out.Lines = append(out.Lines, metrics.Line(l))
	}
	return out
}

var meterStages = [pipeline.Stages]metrics.Stage{
	pipeline.StageFeatures: metrics.StageFeatures,
	pipeline.StageTrack:    metrics.StageTrack,
	pipeline.StageView:     metrics.StageView,
}

var missOutcomes = [ingest.Misses]metrics.Outcome{
	ingest.MissLost:        metrics.NotReceived,
	ingest.MissUndecodable: metrics.Undecodable,
	ingest.MissDisposable:  metrics.SkippedDisposable,
	ingest.MissOverflow:    metrics.SkippedOverflow,
	ingest.MissNoKey:       metrics.SkippedNoKey,
}

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
	m.Labelled(s.Estimated, s.Unlearnt)
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
		Carried: s.Carried, FlipRatio: s.FlipRatio, Trace: s.Trace,
	})
}

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
