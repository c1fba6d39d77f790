package metrics

import "github.com/prometheus/client_golang/prometheus"

// collector reads all values of a part of segd at once, so that a scrape is one moment.
type collector[T any] struct {
	part   string // of segd, in the metrics' names
	read   func() T
	values []value[T]
}

// value is a metric of a collector; of tells its values.
type value[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(now T, tell func(v float64, labels ...string))
}

func (c *collector[T]) add(kind prometheus.ValueType, name, help string, of func(T, func(float64, ...string)), labels ...string) {
	desc := prometheus.NewDesc(prometheus.BuildFQName(namespace, c.part, name), help, labels, nil)
	c.values = append(c.values, value[T]{desc, kind, of})
}

func (c *collector[T]) gauge(name, help string, of func(T) float64) {
	c.add(prometheus.GaugeValue, name, help, func(now T, tell func(float64, ...string)) { tell(of(now)) })
}

// flag is a gauge of 1 for true.
func (c *collector[T]) flag(name, help string, of func(T) bool) {
	c.gauge(name, help, func(now T) float64 { return number(of(now)) })
}

func (c *collector[T]) counter(name, help string, of func(T) uint64) {
	c.add(prometheus.CounterValue, name, help, func(now T, tell func(float64, ...string)) { tell(float64(of(now))) })
}

// counters is a counter for each value of a label.
func (c *collector[T]) counters(name, help, label string, of func(T) map[string]uint64) {
	c.add(prometheus.CounterValue, name, help, func(now T, tell func(float64, ...string)) {
		for by, n := range of(now) {
			tell(float64(n), by)
		}
	}, label)
}

// number is 1 for true.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c *collector[T]) Describe(descs chan<- *prometheus.Desc) {
	for _, v := range c.values {
		descs <- v.desc
	}
}

func (c *collector[T]) Collect(out chan<- prometheus.Metric) {
	now := c.read()
	for _, v := range c.values {
		v.of(now, func(n float64, labels ...string) { out <- prometheus.MustNewConstMetric(v.desc, v.kind, n, labels...) })
	}
}
