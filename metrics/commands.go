package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/bus"
)

// Transport is how a command reached segd.
type Transport string

// The transports.
const (
	NATS Transport = "nats"
	HTTP Transport = "http"
)

// commandVecs count the requests that were not carried out, whatever they ask for.
type commandVecs struct{ panics, refused *prometheus.CounterVec }

func newCommandVecs() commandVecs {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	}
	v := commandVecs{
		panics: counter("command_panics_total",
			"Commands that panicked, by transport: nats or http.", labelTransport),
		refused: counter("command_refused_total",
			"Requests over NATS that were refused, by reason: no_request (not answered), too_large or too_often.", labelReason),
	}
	for _, t := range []Transport{NATS, HTTP} {
		v.panics.WithLabelValues(string(t))
	}
	for _, why := range []bus.Refusal{bus.NoRequest, bus.TooLarge, bus.TooOften} {
		v.refused.WithLabelValues(string(why))
	}
	return v
}

// CommandPanicked counts a command that panicked.
func (m *Metrics) CommandPanicked(t Transport) { m.commands.panics.WithLabelValues(string(t)).Inc() }

// CommandRefused counts a request over NATS that was refused.
func (m *Metrics) CommandRefused(why bus.Refusal) {
	m.commands.refused.WithLabelValues(string(why)).Inc()
}
