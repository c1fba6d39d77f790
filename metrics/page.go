package metrics

import "github.com/segd/segd/web"

// Page registers the metrics of the page. read is called at every scrape, from any
// goroutine. It may be called once.
func (m *Metrics) Page(read func() web.Stats) {
	c := &collector[web.Stats]{part: "page", read: read}
	c.gauge("viewers", "Live connections of the page and clients that follow events.", func(p web.Stats) float64 { return float64(p.Viewers) })
	c.counter("refused_total", "Live connections and clients of events that were refused, because there are as many as http.viewers allows.",
		func(p web.Stats) uint64 { return p.Refused })
	c.counter("connections_refused_total", "Connections to http.addr that were closed at once, because the client or all clients together had as many as they may.",
		func(p web.Stats) uint64 { return p.ConnsRefused })
	c.counters("dropped_total", "Pictures (frame), and events and statuses (notice), that a client of the page or the API was too slow for.", labelWhat,
		func(p web.Stats) map[string]uint64 {
			return map[string]uint64{"frame": p.FramesDropped, "notice": p.NoticesDropped}
		})
	m.reg.MustRegister(c)
}
