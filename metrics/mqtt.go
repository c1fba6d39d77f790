package metrics

// MQTT is how the connection to an MQTT broker does; the counts are since the start.
type MQTT struct {
	Connected   bool
	Connections uint64
	Waiting     int // messages
	Published   uint64
	// Lost counts messages by reason (queue_full, refused), and Commands those by outcome (done, failed).
	Lost, Commands map[string]uint64
}

// MQTT registers the metrics of the connection to an MQTT broker. read is called at every scrape, from any goroutine.
// It may be called once.
func (m *Metrics) MQTT(read func() MQTT) {
	c := &collector[MQTT]{part: "mqtt", read: read}
	c.flag("connected", "1 while there is a connection to the MQTT broker, else 0.", func(s MQTT) bool { return s.Connected })
	c.counter("connections_total", "Connections to the MQTT broker, the first among them.", func(s MQTT) uint64 { return s.Connections })
	c.gauge("waiting", "Messages that wait for the MQTT broker.", func(s MQTT) float64 { return float64(s.Waiting) })
	c.counter("published_total", "Messages that the MQTT broker has acknowledged.", func(s MQTT) uint64 { return s.Published })
	c.counters("lost_total", "Messages that did not reach the MQTT broker, by reason: queue_full (the oldest events, as too many waited), "+
		"and refused (too large, or not permitted).", labelReason, func(s MQTT) map[string]uint64 { return s.Lost })
	c.counters("commands_total", "Commands by MQTT, by outcome: done and failed.", labelOutcome, func(s MQTT) map[string]uint64 { return s.Commands })
	m.reg.MustRegister(c)
}
