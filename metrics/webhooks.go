package metrics

import "github.com/prometheus/client_golang/prometheus"

// Webhook is how the posting of events to a server does; the counts are since it was configured.
type Webhook struct {
	Name              string
	Waiting           int // events
	Delivered, Failed uint64
	Lost              map[string]uint64 // events by reason: queue_full, expired, refused, ended
}

// Webhooks registers the metrics of webhooks. read is called at every scrape, from any goroutine. It may be called once.
func (m *Metrics) Webhooks(read func() []Webhook) {
	const by = "webhook"
	each := func(of func(w Webhook) float64) func([]Webhook, func(float64, ...string)) {
		return func(all []Webhook, tell func(float64, ...string)) {
			for _, w := range all {
				tell(of(w), w.Name)
			}
		}
	}
	c := &collector[[]Webhook]{part: "webhook", read: read}
	c.add(prometheus.GaugeValue, "waiting", "Events that wait for the webhook's server.", each(func(w Webhook) float64 { return float64(w.Waiting) }), by)
	c.add(prometheus.CounterValue, "delivered_total", "Events that the webhook's server has taken.", each(func(w Webhook) float64 { return float64(w.Delivered) }), by)
	c.add(prometheus.CounterValue, "failures_total", "Posts that the webhook's server did not take; most are made again.", each(func(w Webhook) float64 { return float64(w.Failed) }), by)
	c.add(prometheus.CounterValue, "lost_total", "Events that the webhook's server never got, by reason: queue_full (the oldest, as too many waited), expired (tried in vain for an hour) "+
		"and refused (the server does not take it).", func(all []Webhook, tell func(float64, ...string)) {
		for _, w := range all {
			for reason, n := range w.Lost {
				tell(float64(n), w.Name, reason)
			}
		}
	}, by, labelReason)
	m.reg.MustRegister(c)
}
