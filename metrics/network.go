package metrics

import "github.com/prometheus/client_golang/prometheus"

// Network is how the features are computed; the counts are since the start.
type Network struct {
	// Backend is the engine and the device that compute them now ("onnxruntime cpu"), Model with what
	// ("segd-s64"). Neither may hold anything unbounded, a path with a time in it for one.
	Backend, Model string
	Failed         bool   // a card has, and the processor computes instead
	Failures       uint64 // times it did
	// Runs and Images are forward passes and the images in them, by device.
	Runs, Images map[string]uint64
}

// Network registers the metrics of what computes the features. read is called at every scrape, from any
// goroutine. It may be called once.
func (m *Metrics) Network(read func() Network) {
	name := func(s string) string { return prometheus.BuildFQName(namespace, "dnn", s) }
	m.reg.MustRegister(&networkCollector{
		read: read,
		backend: prometheus.NewDesc(name("backend_info"),
			"Always 1; the labels say what computes the features with which model.", []string{"backend", "model"}, nil),
		failed: prometheus.NewDesc(name("device_failed"),
			"1 while the processor computes the features because a card has failed, else 0.", nil, nil),
		failures: prometheus.NewDesc(name("device_failures_total"),
			"Times a card failed and the processor took over.", nil, nil),
		runs: prometheus.NewDesc(name("runs_total"),
			"Forward passes of the network, by device.", []string{labelDevice}, nil),
		images: prometheus.NewDesc(name("images_total"),
			"Images in these forward passes, by device: of several that come together each is one.", []string{labelDevice}, nil),
	})
}

// networkCollector reads all at once, so that a scrape is one moment.
type networkCollector struct {
	read                                    func() Network
	backend, failed, failures, runs, images *prometheus.Desc
}

func (c *networkCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.backend, c.failed, c.failures, c.runs, c.images} {
		descs <- d
	}
}

func (c *networkCollector) Collect(out chan<- prometheus.Metric) {
	n := c.read()
	failed := 0.
	if n.Failed {
		failed = 1
	}
	out <- prometheus.MustNewConstMetric(c.backend, prometheus.GaugeValue, 1, n.Backend, n.Model)
	out <- prometheus.MustNewConstMetric(c.failed, prometheus.GaugeValue, failed)
	out <- prometheus.MustNewConstMetric(c.failures, prometheus.CounterValue, float64(n.Failures))
	for device, runs := range n.Runs {
		out <- prometheus.MustNewConstMetric(c.runs, prometheus.CounterValue, float64(runs), device)
	}
	for device, images := range n.Images {
		out <- prometheus.MustNewConstMetric(c.images, prometheus.CounterValue, float64(images), device)
	}
}
