package metrics

import "github.com/segd/segd/outputs/mqtt"

// MQTT registers the metrics of the connection to an MQTT broker. read is called at every scrape, from any goroutine.
// It may be called once.
func (m *Metrics) MQTT(read func() mqtt.Stats) {
	c := &collector[mqtt.Stats]{part: "mqtt", read: read}
	c.flag("connected", "1 while there is a connection to the MQTT broker, else 0.", func(s mqtt.Stats) bool { return s.Connected })
	c.counter("connections_total", "Connections to the MQTT broker, the first among them.", func(s mqtt.Stats) uint64 { return s.Connections })
	c.gauge("waiting", "Messages that wait for the MQTT broker.", func(s mqtt.Stats) float64 { return float64(s.Waiting) })
	c.counter("published_total", "Messages that the MQTT broker has acknowledged.", func(s mqtt.Stats) uint64 { return s.Published })
	c.counters("lost_total", "Messages that did not reach the MQTT broker, by reason: queue_full (the oldest events, as too many waited), "+
		"and refused (too large, or not permitted).", labelReason, func(s mqtt.Stats) map[string]uint64 {
		return map[string]uint64{"queue_full": s.Overflowed, "refused": s.Refused}
	})
	c.counters("commands_total", "Commands by MQTT, by outcome: done and failed.", labelOutcome, func(s mqtt.Stats) map[string]uint64 {
		return map[string]uint64{"done": s.Commands, "failed": s.Faulty}
	})
	m.reg.MustRegister(c)
}
