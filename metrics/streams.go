package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/outputs/restream"
)

// Streams registers the metrics of streams. read is called at every scrape, from any goroutine. It may be called once.
func (m *Metrics) Streams(read func() restream.Stats) {
	c := &collector[restream.Stats]{part: "stream", read: read}
	c.add(prometheus.GaugeValue, "viewers", "Who watches a camera's stream, by protocol: rtsp and whep.", func(s restream.Stats, tell func(float64, ...string)) {
		for protocol, n := range s.Viewers {
			tell(float64(n), protocol)
		}
	}, "protocol")
	c.counter("frames_encoded_total", "Frames that were encoded for streams, each once for all who watch the stream.", func(s restream.Stats) uint64 { return s.Encoded })
	c.counter("frames_dropped_total", "Frames that a viewer of a stream was too slow for.", func(s restream.Stats) uint64 { return s.Dropped })
	c.counter("refused_total", "Viewers of streams who were refused, because there are as many as http.viewers allows.", func(s restream.Stats) uint64 { return s.Refused })
	m.reg.MustRegister(c)
}
