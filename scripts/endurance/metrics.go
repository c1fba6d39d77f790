package main

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/segd/segd/scripts/process"
)

// sampled is what segd's metrics said at a moment.
type sampled struct {
	resident  float64 // bytes
	published float64 // masks
	dropped   map[string]float64
	received  int // masks the subscriber that reads had got
}

// look reads segd's metrics.
func look(ctx context.Context, url string) (sampled, error) {
	text, err := process.Get(ctx, url)
	if err != nil {
		return sampled{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return sampled{}, fmt.Errorf("%s: %w", url, err)
	}
	s := sampled{dropped: map[string]float64{}}
	for _, one := range families["process_resident_memory_bytes"].GetMetric() {
		s.resident = one.GetGauge().GetValue()
	}
	for _, one := range families["segd_frames_total"].GetMetric() {
		if label(one, "outcome") == "published" {
			s.published = one.GetCounter().GetValue()
		}
	}
	for _, one := range families["segd_page_dropped_total"].GetMetric() {
		s.dropped[label(one, "what")] = one.GetCounter().GetValue()
	}
	return s, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
