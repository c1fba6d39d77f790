package main

import (
	"time"

	"github.com/segd/segd/metrics"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
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
	}
}

func (m meter) Failed(pipeline.Stage) { m.Frame(metrics.Failed) }

func (m meter) Took(in pipeline.Stage, d time.Duration) { m.Stage(meterStages[in], d) }

func (m meter) Solved(s tracker.Solve) {
	if s.Iterations == 0 {
		return // there is no object yet
	}
	m.Solve(metrics.Solve{
		Iterations: s.Iterations, Violations: s.Violations,
		Lagrangian: s.Lagrangian, Descent: s.Descent, Primal: s.Primal, Rho: s.Rho, FlipRatio: s.FlipRatio,
	})
	m.Stage(metrics.StageAffinity, s.AffinityTime)
	m.Stage(metrics.StageSolve, s.SolveTime)
	m.Stage(metrics.StageMask, s.MaskTime)
}

func (m meter) Object(o tracker.Object) {
	m.Camera.Object(o.ID, o.Label, metrics.State(o.State.String()), o.Area)
}

func (m meter) PublishFailed() { m.PublishFailure() }

func (m meter) Reconnected() { m.Reconnect() }
