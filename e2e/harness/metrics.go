package harness

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are what segd's /metrics said at a moment.
type Metrics map[string]*dto.MetricFamily

// Metrics reads /metrics.
func (s *Segd) Metrics(ctx context.Context) (Metrics, error) {
	text, err := Get(ctx, s.Page+"metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(text)
}

// ParseMetrics reads what a /metrics said.
func ParseMetrics(text []byte) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("/metrics: %w", err)
	}
	return families, nil
}

// Has tells whether there is such a metric.
func (m Metrics) Has(name string) bool { return len(m[name].GetMetric()) > 0 }

// Sum adds up the series of a counter, gauge or histogram (its count) that have all
// these labels, given as name, value, name, value.
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
	for _, one := range m[name].GetMetric() {
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && label(one, labels[i]) == labels[i+1]
		}
		if matches {
			sum += value(one)
		}
	}
	return sum
}

// Values adds up the series of a metric by the value of one label.
func (m Metrics) Values(name, by string) map[string]float64 {
	sums := map[string]float64{}
	for _, one := range m[name].GetMetric() {
		sums[label(one, by)] += value(one)
	}
	return sums
}

func value(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + float64(m.GetHistogram().GetSampleCount())
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
