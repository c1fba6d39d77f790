package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/outputs/webhook"
)

// Webhooks registers the metrics of webhooks. read is called at every scrape, from any goroutine. It may be called once.
func (m *Metrics) Webhooks(read func() []webhook.Stats) {
	const by = "webhook"
	each := func(of func(w webhook.Stats) float64) func([]webhook.Stats, func(float64, ...string)) {
		return func(all []webhook.Stats, tell func(float64, ...string)) {
			for _, w := range all {
				tell(of(w), w.Name)
			}
		}
	}
	c := &collector[[]webhook.Stats]{part: "webhook", read: read}
	c.add(prometheus.GaugeValue, "waiting", "Events that wait for the webhook's server.", each(func(w webhook.Stats) float64 { return float64(w.Waiting) }), by)
	c.add(prometheus.CounterValue, "delivered_total", "Events that the webhook's server has taken.", each(func(w webhook.Stats) float64 { return float64(w.Delivered) }), by)
	c.add(prometheus.CounterValue, "failures_total", "Posts that the webhook's server did not take; most are made again.", each(func(w webhook.Stats) float64 { return float64(w.Failed) }), by)
	c.add(prometheus.CounterValue, "lost_total", "Events that the webhook's server never got, by reason: queue_full (the oldest, as too many waited), expired (tried in vain for an hour) "+
		"and refused (the server does not take it).", func(all []webhook.Stats, tell func(float64, ...string)) {
		for _, w := range all {
			tell(float64(w.Overflowed), w.Name, "queue_full")
			tell(float64(w.Expired), w.Name, "expired")
			tell(float64(w.Refused), w.Name, "refused")
		}
	}, by, labelReason)
	m.reg.MustRegister(c)
}
