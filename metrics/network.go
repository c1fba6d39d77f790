package metrics

import "github.com/prometheus/client_golang/prometheus"

// Network is how the features are computed; the counts are since the start.
type Network struct {
	// Backend is the engine and the device that compute them now ("onnxruntime cpu"), Model with what
	// ("segd-p64"). Neither may hold anything unbounded, a path with a time in it for one.
	Backend, Model string
	Failed         bool   // a card has, and the processor computes instead
	Failures       uint64 // times it did
	// Runs and Images are forward passes and the images in them, by device.
	Runs, Images map[string]uint64
}

// Network registers the metrics of what computes the features. read is called at every scrape, from any
// goroutine. It may be called once.
func (m *Metrics) Network(read func() Network) {
	c := &collector[Network]{part: "dnn", read: read}
	c.add(prometheus.GaugeValue, "backend_info", "Always 1; the labels say what computes the features with which model.",
		func(n Network, tell func(float64, ...string)) { tell(1, n.Backend, n.Model) }, "backend", "model")
	c.flag("device_failed", "1 while the processor computes the features because a card has failed, else 0.", func(n Network) bool { return n.Failed })
	c.counter("device_failures_total", "Times a card failed and the processor took over.", func(n Network) uint64 { return n.Failures })
	c.counters("runs_total", "Forward passes of the network, by device.", labelDevice, func(n Network) map[string]uint64 { return n.Runs })
	c.counters("images_total", "Images in these forward passes, by device: of several that come together each is one.", labelDevice,
		func(n Network) map[string]uint64 { return n.Images })
	m.reg.MustRegister(c)
}
