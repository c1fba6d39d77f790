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
	c := &collector[Bus]{part: "bus", read: read}
	c.flag("connected", "1 while there is a connection to the NATS server, else 0.", func(b Bus) bool { return b.Connected })
	c.counter("reconnects_total", "Connections to a NATS server after the first one.", func(b Bus) uint64 { return b.Reconnects })
	c.gauge("buffered_bytes", "Bytes of masks and status that wait for the NATS server.", func(b Bus) float64 { return float64(b.BufferedBytes) })
	c.gauge("events_waiting", "Events that JetStream has not acknowledged yet.", func(b Bus) float64 { return float64(b.EventsWaiting) })
	c.gauge("events_waiting_seconds", "How long the oldest event that JetStream has not acknowledged has waited, 0 without one.",
		func(b Bus) float64 { return b.EventsOldest.Seconds() })
	c.counter("events_stored_total", "Events that JetStream has acknowledged.", func(b Bus) uint64 { return b.EventsStored })
	c.gauge("duplicates", "Other segd that publish a camera of this one's site and name, and are not meant to.", func(b Bus) float64 { return float64(b.Duplicates) })
	c.add(prometheus.CounterValue, "lost_total",
		"Messages that did not reach NATS, by kind (mask, event, status) and reason: buffer_full, not_connected, refused (too large or ill-named) "+
			"and unconfirmed (the connection broke, a mask that was to be kept was not acknowledged, or an event was not when segd ended; they may have arrived).",
		func(b Bus, tell func(float64, ...string)) {
			for kind, reasons := range b.Lost {
				for reason, n := range reasons {
					tell(float64(n), kind, reason)
				}
			}
		}, labelKind, labelReason)
	m.reg.MustRegister(c)
}
