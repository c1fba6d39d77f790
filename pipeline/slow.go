package pipeline

import (
	"log/slog"
	"time"

	"github.com/segd/segd/tracker"
)

// slowFrames logs frames that took long, so that a peak in the latency leads to
// the camera, the frame and the stage. One a minute is logged, the others are
// counted.
type slowFrames struct {
	last   time.Time
	passed int // slow ones since then
}

// add takes note of it, published at now, latency after its capture.
func (f *slowFrames) add(log *slog.Logger, it *item, solve tracker.Solve, latency time.Duration, now time.Time) {
	if now.Sub(f.last) < time.Minute {
		f.passed++
		return
	}
	log.Info("slow frame", slowAttrs(it, solve, latency, now, f.passed)...)
	f.last, f.passed = now, 0
}

// slowAttrs say where it spent its time. The parts from transit to track add up to
// the latency; affinity, solve and mask are parts of track.
func slowAttrs(it *item, solve tracker.Solve, latency time.Duration, now time.Time, passed int) []any {
	here := now.Sub(it.frame.Received)
	parts := []struct {
		name string
		took time.Duration
	}{
		{"transit", latency - here}, // from the camera, by its clock
		{"wait_features", it.began[StageFeatures].Sub(it.frame.Received)},
		{"features", it.ended[StageFeatures].Sub(it.began[StageFeatures])},
		{"wait_track", it.began[StageTrack].Sub(it.ended[StageFeatures])},
		{"track", now.Sub(it.began[StageTrack])},
	}
	slowest := parts[0]
	attrs := []any{keySeq, it.seq, "latency_ms", inMS(latency)}
	for _, p := range parts {
		attrs = append(attrs, p.name+"_ms", inMS(p.took))
		if p.took > slowest.took {
			slowest = p
		}
	}
	return append(attrs,
		"affinity_ms", inMS(solve.AffinityTime), "solve_ms", inMS(solve.SolveTime), "mask_ms", inMS(solve.MaskTime),
		keyStage, slowest.name, "others", passed)
}

// inMS rounds to tenths.
func inMS(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}
