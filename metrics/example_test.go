package metrics_test

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/segd/segd/metrics"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
)

func Example() {
	reg := prometheus.NewRegistry()
	m := metrics.New(reg)
	m.Build("v0.1.0", "")

	c := m.Camera("quay")
	c.Latency(85 * time.Millisecond)
	c.Watch(func() pipeline.Snapshot { // at every scrape
		return pipeline.Snapshot{Up: true, Objects: []objects.Object{{ID: 1, Label: "boat", State: tracker.Visible, Area: 4141}}}
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
