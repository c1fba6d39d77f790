package metrics_test

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/segd/segd/metrics"
)

func Example() {
	reg := prometheus.NewRegistry()
	m := metrics.New(reg)
	m.Build("v0.1.0", "")

	c := m.Camera("quay")
	c.Latency(85 * time.Millisecond)
	c.Watch(func() metrics.Status { // at every scrape
		return metrics.Status{Up: true, Objects: []metrics.Object{{ID: 1, Label: "boat", State: metrics.Visible, Area: 4141}}}
	})

	n, err := testutil.GatherAndCount(reg, "segd_object_state")
	fmt.Println(n, err)
	m.Remove("quay")
	n, err = testutil.GatherAndCount(reg, "segd_object_state")
	fmt.Println(n, err)
	// Output:
	// 3 <nil>
	// 0 <nil>
}
