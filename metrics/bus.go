package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/bus"
)

// Bus registers the metrics of the connection to NATS. read is called at every
// scrape, from any goroutine. It may be called once.
func (m *Metrics) Bus(read func() bus.Stats) {
	c := &collector[bus.Stats]{part: "bus", read: read}
	c.flag("connected", "1 while there is a connection to the NATS server, else 0.", func(b bus.Stats) bool { return b.Connected })
	c.counter("reconnects_total", "Connections to a NATS server after the first one.", func(b bus.Stats) uint64 { return b.Reconnects })
	c.gauge("buffered_bytes", "Bytes of masks and status that wait for the NATS server.", func(b bus.Stats) float64 { return float64(b.BufferedBytes) })
	c.gauge("events_waiting", "Events that JetStream has not acknowledged yet.", func(b bus.Stats) float64 { return float64(b.EventsWaiting) })
	c.gauge("events_waiting_seconds", "How long the oldest event that JetStream has not acknowledged has waited, 0 without one.",
		func(b bus.Stats) float64 { return b.EventsOldest.Seconds() })
	c.counter("events_stored_total", "Events that JetStream has acknowledged.", func(b bus.Stats) uint64 { return b.EventsStored })
	c.counters("pictures_total", "Pictures of events by outcome: kept, and lost (JetStream did not take them in time).", labelOutcome,
		func(b bus.Stats) map[string]uint64 {
			return map[string]uint64{"kept": b.PicturesKept, "lost": b.PicturesLost}
		})
	c.gauge("duplicates", "Other segd that publish a camera of this one's site and name, and are not meant to.", func(b bus.Stats) float64 { return float64(b.Duplicates) })
	c.add(prometheus.CounterValue, "lost_total",
		"Messages that did not reach NATS, by kind (mask, event, status) and reason: buffer_full, not_connected, refused (too large or ill-named) "+
			"and unconfirmed (the connection broke, a mask that was to be kept was not acknowledged, or an event was not when segd ended; they may have arrived).",
		func(b bus.Stats, tell func(float64, ...string)) {
			for kind, reasons := range b.Lost {
				for reason, n := range reasons {
					tell(float64(n), string(kind), string(reason))
				}
			}
		}, labelKind, labelReason)
	m.reg.MustRegister(c)
}
