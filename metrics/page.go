package metrics

// Page is how the clients of the page and the API do; the counts are since the start.
type Page struct {
	Viewers        int
	Refused        uint64 // viewers who came when there were as many as may be
	ConnsRefused   uint64 // connections to http.addr that were closed because there were as many as may be
	FramesDropped  uint64 // pictures that a viewer was too slow for
	NoticesDropped uint64 // events and statuses that a client was too slow for
}

// Page registers the metrics of the page. read is called at every scrape, from any
// goroutine. It may be called once.
func (m *Metrics) Page(read func() Page) {
	c := &collector[Page]{part: "page", read: read}
	c.gauge("viewers", "Live connections of the page and clients that follow events.", func(p Page) float64 { return float64(p.Viewers) })
	c.counter("refused_total", "Live connections and clients of events that were refused, because there are as many as http.viewers allows.",
		func(p Page) uint64 { return p.Refused })
	c.counter("connections_refused_total", "Connections to http.addr that were closed at once, because the client or all clients together had as many as they may.",
		func(p Page) uint64 { return p.ConnsRefused })
	c.counters("dropped_total", "Pictures (frame), and events and statuses (notice), that a client of the page or the API was too slow for.", labelWhat,
		func(p Page) map[string]uint64 {
			return map[string]uint64{"frame": p.FramesDropped, "notice": p.NoticesDropped}
		})
	m.reg.MustRegister(c)
}
