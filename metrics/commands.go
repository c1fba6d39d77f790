package metrics

import "github.com/prometheus/client_golang/prometheus"

// Transport is how a command reached segd.
type Transport string

// The transports.
const (
	NATS Transport = "nats"
	HTTP Transport = "http"
)

// commandVecs count the requests that were not carried out, whatever they ask for.
type commandVecs struct{ panics, refused *prometheus.CounterVec }

func newCommandVecs(counter func(name, help string, labels ...string) *prometheus.CounterVec) commandVecs {
	v := commandVecs{
		panics: counter("command_panics_total",
			"Commands that panicked, by transport: nats or http.", labelTransport),
		refused: counter("command_refused_total",
			"Requests over NATS that were refused, by reason: too_large or too_often.", labelReason),
	}
	for _, t := range []Transport{NATS, HTTP} {
		v.panics.WithLabelValues(string(t))
	}
	for _, reason := range []string{"too_large", "too_often"} {
		v.refused.WithLabelValues(reason)
	}
	return v
}

// CommandPanicked counts a command that panicked.
func (m *Metrics) CommandPanicked(t Transport) { m.commands.panics.WithLabelValues(string(t)).Inc() }

// CommandRefused counts a request over NATS that was refused; reason is too_large or
// too_often.
func (m *Metrics) CommandRefused(reason string) { m.commands.refused.WithLabelValues(reason).Inc() }
