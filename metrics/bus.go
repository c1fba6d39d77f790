package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bus is how the connection to NATS does; the counts are since the start.
type Bus struct {
	Connected     bool
	Reconnects    uint64
	BufferedBytes int           // waiting to be sent
	EventsWaiting int           // not stored yet
	EventsOldest  time.Duration // how long the oldest of these has waited
	EventsStored  uint64
	Duplicates    int // other segd that publish a camera of ours
	// Lost counts messages by kind (mask, event, status) and reason. Neither may be
	// unbounded.
	Lost map[string]map[string]uint64
}

// Bus registers the metrics of the connection to NATS. read is called at every
// scrape, from any goroutine. It may be called once.
func (m *Metrics) Bus(read func() Bus) {
	name := func(s string) string { return prometheus.BuildFQName(namespace, "bus", s) }
	m.reg.MustRegister(&busCollector{
		read: read,
		connected: prometheus.NewDesc(name("connected"),
			"1 while there is a connection to the NATS server, else 0.", nil, nil),
		reconnects: prometheus.NewDesc(name("reconnects_total"),
			"Connections to a NATS server after the first one.", nil, nil),
		buffered: prometheus.NewDesc(name("buffered_bytes"),
			"Bytes of masks and status that wait for the NATS server.", nil, nil),
		waiting: prometheus.NewDesc(name("events_waiting"),
			"Events that JetStream has not acknowledged yet.", nil, nil),
		oldest: prometheus.NewDesc(name("events_waiting_seconds"),
			"How long the oldest event that JetStream has not acknowledged has waited, 0 without one.", nil, nil),
		stored: prometheus.NewDesc(name("events_stored_total"),
			"Events that JetStream has acknowledged.", nil, nil),
		duplicates: prometheus.NewDesc(name("duplicates"),
			"Other segd that publish a camera of this one's site and name, and are not meant to.", nil, nil),
		lost: prometheus.NewDesc(name("lost_total"),
			"Messages that did not reach NATS, by kind (mask, event, status) and reason: buffer_full, not_connected, refused (too large or ill-named) "+
				"and unconfirmed (the connection broke, a mask that was to be kept was not acknowledged, or an event was not when segd ended; they may have arrived).", []string{labelKind, labelReason}, nil),
	})
}

// busCollector reads all at once, so that a scrape is one moment.
type busCollector struct {
	read                                                                       func() Bus
	connected, reconnects, buffered, waiting, oldest, stored, duplicates, lost *prometheus.Desc
}

func (c *busCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.connected, c.reconnects, c.buffered, c.waiting, c.oldest, c.stored, c.duplicates, c.lost} {
		descs <- d
	}
}

func (c *busCollector) Collect(out chan<- prometheus.Metric) {
	b := c.read()
	connected := 0.
	if b.Connected {
		connected = 1
	}
	gauge := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(c.connected, connected)
	gauge(c.buffered, float64(b.BufferedBytes))
	gauge(c.waiting, float64(b.EventsWaiting))
	gauge(c.oldest, b.EventsOldest.Seconds())
	gauge(c.duplicates, float64(b.Duplicates))
	counter(c.reconnects, b.Reconnects)
	counter(c.stored, b.EventsStored)
	for kind, reasons := range b.Lost {
		for reason, n := range reasons {
			counter(c.lost, n, kind, reason)
		}
	}
}
