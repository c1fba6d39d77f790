// Package metrics holds segd's Prometheus metrics.
//
// In go single observations: a frame's outcome, a latency, a solve, an object's
// state. Out comes, through the registry New was given, the text that /metrics
// serves. The package knows Prometheus and nothing of segd; whoever observes
// translates. Nothing is global. Any goroutine may call anything.
//
//	segd_frames_total{camera,outcome}               counter    decoded, and undecodable, frames by what became of them
//	segd_frame_latency_seconds{camera}              histogram  capture to publish
//	segd_stage_duration_seconds{camera,stage}       histogram  one frame's time in a stage
//	segd_solver_iterations{camera}                  histogram  ADMM iterations a window
//	segd_solver_lagrangian{camera}                  gauge      augmented Lagrangian at the end of the last window
//	segd_solver_lagrangian_descent{camera}          gauge      by how much of itself it fell in that window
//	segd_solver_descent_violations_total{camera}    counter    iterations in which it rose though descent was guaranteed
//	segd_solver_primal_residual{camera}             gauge      at the end of the last window
//	segd_solver_rho{camera}                         gauge      at the end of the last window
//	segd_label_flips_ratio{camera}                  gauge      superpixels of the last window whose label changed, 0 to 1
//	segd_object_area_pixels{camera,object,label}    gauge      newest mask
//	segd_object_state{camera,object,label,state}    gauge      1 for the state it is in, 0 for the others
//	segd_ingest_reconnects_total{camera}            counter    times the camera was lost and dialled anew
//	segd_ingest_clock_offset_seconds{camera}        gauge      sender's clock minus ours
//	segd_bus_publish_failures_total{camera}         counter    messages that went nowhere
//	segd_build_info{version,revision,goversion}     gauge      1
//	segd_dnn_backend_info{backend,model}            gauge      1
//
// and the Go runtime's and the process's. A camera's counters and histograms are
// there at 0 as soon as it is; its gauges once there is something to tell, since
// 0 would be a lie about a clock nobody has read. What an object or a camera
// had is gone when it is removed, so there are never more series than there are
// cameras and objects.
package metrics
