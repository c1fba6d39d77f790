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
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "webhook", name), help, append([]string{"webhook"}, labels...), nil)
	}
	m.reg.MustRegister(&webhookCollector{
		read:      read,
		waiting:   desc("waiting", "Events that wait for the webhook's server."),
		delivered: desc("delivered_total", "Events that the webhook's server has taken."),
		failed:    desc("failures_total", "Posts that the webhook's server did not take; most are made again."),
		lost: desc("lost_total", "Events that the webhook's server never got, by reason: queue_full (the oldest, as too many waited), expired (tried in vain for an hour), "+
			"refused (the server does not take it) and ended (it waited when segd ended).", labelReason),
	})
}

// webhookCollector reads all at once, so that a scrape is one moment.
type webhookCollector struct {
	read                             func() []Webhook
	waiting, delivered, failed, lost *prometheus.Desc
}

func (c *webhookCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.waiting, c.delivered, c.failed, c.lost} {
		descs <- d
	}
}

func (c *webhookCollector) Collect(out chan<- prometheus.Metric) {
	for _, w := range c.read() {
		send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, v, append([]string{w.Name}, labels...)...)
		}
		send(c.waiting, prometheus.GaugeValue, float64(w.Waiting))
		send(c.delivered, prometheus.CounterValue, float64(w.Delivered))
		send(c.failed, prometheus.CounterValue, float64(w.Failed))
		for reason, n := range w.Lost {
			send(c.lost, prometheus.CounterValue, float64(n), reason)
		}
	}
}
