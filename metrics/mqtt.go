package metrics

import "github.com/prometheus/client_golang/prometheus"

// MQTT is how the connection to an MQTT broker does; the counts are since the start.
type MQTT struct {
	Connected   bool
	Connections uint64
	Waiting     int // messages
	Published   uint64
	// Lost counts messages by reason (queue_full, refused, ended), and Commands those by outcome (done, failed).
	Lost, Commands map[string]uint64
}

// MQTT registers the metrics of the connection to an MQTT broker. read is called at every scrape, from any goroutine.
// It may be called once.
func (m *Metrics) MQTT(read func() MQTT) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "mqtt", name), help, labels, nil)
	}
	m.reg.MustRegister(&mqttCollector{
		read:        read,
		connected:   desc("connected", "1 while there is a connection to the MQTT broker, else 0."),
		connections: desc("connections_total", "Connections to the MQTT broker, the first among them."),
		waiting:     desc("waiting", "Messages that wait for the MQTT broker."),
		published:   desc("published_total", "Messages that the MQTT broker has acknowledged."),
		lost: desc("lost_total", "Messages that did not reach the MQTT broker, by reason: queue_full (the oldest events, as too many waited), "+
			"refused (too large, or not permitted) and ended (events that waited when segd ended).", labelReason),
		commands: desc("commands_total", "Commands by MQTT, by outcome: done and failed.", labelOutcome),
	})
}

// mqttCollector reads all at once, so that a scrape is one moment.
type mqttCollector struct {
	read                                                       func() MQTT
	connected, connections, waiting, published, lost, commands *prometheus.Desc
}

func (c *mqttCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.connected, c.connections, c.waiting, c.published, c.lost, c.commands} {
		descs <- d
	}
}

func (c *mqttCollector) Collect(out chan<- prometheus.Metric) {
	s := c.read()
	connected := 0.
	if s.Connected {
		connected = 1
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	send(c.connected, prometheus.GaugeValue, connected)
	send(c.connections, prometheus.CounterValue, float64(s.Connections))
	send(c.waiting, prometheus.GaugeValue, float64(s.Waiting))
	send(c.published, prometheus.CounterValue, float64(s.Published))
	for reason, n := range s.Lost {
		send(c.lost, prometheus.CounterValue, float64(n), reason)
	}
	for outcome, n := range s.Commands {
		send(c.commands, prometheus.CounterValue, float64(n), outcome)
	}
}
