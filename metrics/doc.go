// Package metrics holds segd's Prometheus metrics.
//
// In go single observations, such as a latency or a solve, and what is read at every scrape: how a camera does
// (Camera.Watch), and how the bus, MQTT and other parts of segd do. Out comes, through the registry New was given, the
// text that /metrics serves. It reads what the parts tell of themselves in types of their own (pipeline.Snapshot,
// bus.Stats and so on), and no part knows Prometheus. Nothing is global. Any goroutine may call anything.
//
// docs/metrics.md lists them all, besides the Go runtime's and the process's. A
// camera's counters and histograms are there at 0 as soon as it is; its gauges once
// there is something to tell, since 0 would claim a clock offset that was never measured,
// and those of a solve for a minute after it.
// What an object or a camera had is gone when it is removed, so there are never
// more series than there are cameras, objects, zones and lines.
package metrics
