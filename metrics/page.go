package metrics

import "github.com/prometheus/client_golang/prometheus"

// Page is how the clients of the page and the API do; the counts are since the start.
type Page struct {
	Viewers        int
	Refused        uint64 // viewers who came when there were as many as may be
	FramesDropped  uint64 // pictures that a viewer was too slow for
	NoticesDropped uint64 // events and statuses that a client was too slow for
}

// Page registers the metrics of the page. read is called at every scrape, from any
// goroutine. It may be called once.
func (m *Metrics) Page(read func() Page) {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Subsystem: "page", Name: "viewers",
		Help: "Live connections of the page and clients that follow events.",
	}, func() float64 { return float64(read().Viewers) }))
	m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Subsystem: "page", Name: "refused_total",
		Help: "Live connections and clients of events that were refused, because there are as many as http.viewers allows.",
	}, func() float64 { return float64(read().Refused) }))
	dropped := func(what string, count func(Page) uint64) {
		m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "page", Name: "dropped_total",
			Help:        "Pictures (frame), and events and statuses (notice), that a client of the page or the API was too slow for.",
			ConstLabels: prometheus.Labels{labelWhat: what},
		}, func() float64 { return float64(count(read())) }))
	}
	dropped("frame", func(p Page) uint64 { return p.FramesDropped })
	dropped("notice", func(p Page) uint64 { return p.NoticesDropped })
}
