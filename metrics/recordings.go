package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/outputs/recording"
)

// Recordings registers the metrics of recorded video. read is called at every scrape, from any goroutine. It may be called
// once.
func (m *Metrics) Recordings(read func() []recording.Stats) {
	each := func(of func(s recording.Stats) float64) func([]recording.Stats, func(float64, ...string)) {
		return func(all []recording.Stats, tell func(float64, ...string)) {
			for _, s := range all {
				tell(of(s), s.Camera)
			}
		}
	}
	c := &collector[[]recording.Stats]{part: "recording", read: read}
	c.add(prometheus.GaugeValue, "bytes", "Bytes of the camera's recordings.", each(func(s recording.Stats) float64 { return float64(s.Bytes) }), labelCamera)
	c.add(prometheus.GaugeValue, "running", "1 while the camera's video is written, else 0.",
		each(func(s recording.Stats) float64 { return number(s.State.Is == recording.Running) }), labelCamera)
	c.add(prometheus.CounterValue, "written_bytes_total", "Bytes of video and masks that were recorded.", each(func(s recording.Stats) float64 { return float64(s.Written) }), labelCamera)
	c.add(prometheus.CounterValue, "lost_total", "Frames of video that were not recorded, by reason: disk (it refused), behind (too much waited for it) and video (nothing that can be recorded); masks: only their masks were not.",
		func(all []recording.Stats, tell func(float64, ...string)) {
			for _, s := range all {
				for _, why := range []string{recording.LostDisk, recording.LostBehind, recording.LostVideo, recording.LostMasks} {
					tell(float64(s.Lost[why]), s.Camera, why)
				}
			}
		}, labelCamera, labelReason)
	m.reg.MustRegister(c)
}
