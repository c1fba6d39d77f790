package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// camera is one camera in depth: where its frames' time goes, how its stream does,
// what became of its objects.
func camera() *dashboard.DashboardBuilder {
	return newDashboard("segd-camera", "segd / camera",
		"One camera in depth. From a peak here, the log's \"slow frame\" lines lead to the frame and stage.").
		WithVariable(cameraVariable(false)).
		WithPanel(number("Up", "1 while the camera delivers frames.", unitNone,
			query{`segd_camera_up{camera="$camera"}`, "up"}, goodIf1...)).
		WithPanel(number("Frames in", "Frames the camera sent, decoded or not.", unitFPS,
			query{`sum(rate(segd_frames_total{camera="$camera"}[$__rate_interval]))`, "in"}, neutral...)).
		WithPanel(number("Published", "Frames whose masks went out.", unitFPS,
			query{`rate(segd_frames_total{camera="$camera",outcome="published"}[$__rate_interval])`, "published"}, neutral...)).
		WithPanel(number("Latency, p95", "Capture to publish; 95 of 100 frames are faster.", unitSeconds,
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "p95"}, latency...)).
		WithPanel(number("Objects in sight", "Annotated objects that are visible now.", unitNone,
			query{`sum(segd_object_state{camera="$camera",state="visible"})`, "visible"}, neutral...)).
		WithPanel(number("Clock offset", "The camera's clock, by its RTCP sender reports, minus ours. Empty while it sends none.", unitSeconds,
			query{`segd_ingest_clock_offset_seconds{camera="$camera"}`, "offset"}, neutral...)).
		WithRow(row("Time")).
		WithPanel(buckets(half, "Latency", "Frames by their time from capture to publish.", unitSeconds,
			`sum by (le) (increase(segd_frame_latency_seconds_bucket{camera="$camera"}[$__rate_interval]))`)).
		WithPanel(lines(half, "Latency percentiles", "Capture to publish.", unitSeconds,
			query{`histogram_quantile(0.50, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "p50"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "p95"},
			query{`histogram_quantile(0.99, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "p99"})).
		WithPanel(lines(half, "Stages, mean", "Time one frame takes in a stage. affinity, solve and mask are parts of track; view is beside the way to NATS.", unitSeconds,
			query{`sum by (stage) (rate(segd_stage_duration_seconds_sum{camera="$camera"}[$__rate_interval])) / (sum by (stage) (rate(segd_stage_duration_seconds_count{camera="$camera"}[$__rate_interval])) > 0)`, "{{stage}}"})).
		WithPanel(lines(half, "Stages, p95", "The same, 95th percentile.", unitSeconds,
			query{`histogram_quantile(0.95, sum by (stage, le) (rate(segd_stage_duration_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "{{stage}}"})).
		WithRow(row("Frames")).
		WithPanel(stacked(lines(half, "Frames by outcome", "What became of the camera's frames.", unitFPS,
			query{`sum by (outcome) (rate(segd_frames_total{camera="$camera"}[$__rate_interval]))`, "{{outcome}}"}))).
		WithPanel(lines(half, "Damaged, or not drawn", "Decoded frames of which a part was invented, because data was lost; and published frames that the page had no time for.", unitPerSecond,
			query{`rate(segd_frames_damaged_total{camera="$camera"}[$__rate_interval])`, "damaged"},
			query{`rate(segd_view_frames_dropped_total{camera="$camera"}[$__rate_interval])`, "not drawn"})).
		WithPanel(lines(third, "Looked at", "Share of a frame's pixels in its regions of interest, mean: 0 without objects, 1 when all of the picture is looked at, as where somebody marks an object.", unitShare,
			query{`rate(segd_frame_roi_ratio_sum{camera="$camera"}[$__rate_interval]) / (rate(segd_frame_roi_ratio_count{camera="$camera"}[$__rate_interval]) > 0)`, "share"}).
			Min(0).Max(1)).
		WithPanel(buckets(third, "Looked at, frames", "Frames by the share of their pixels in regions of interest.", unitShare,
			`sum by (le) (increase(segd_frame_roi_ratio_bucket{camera="$camera"}[$__rate_interval]))`)).
		WithPanel(lines(third, "Superpixels", "A frame's superpixels, in its regions of interest. When features and track take longer, this says whether there is more to look at.", unitCount,
			query{`rate(segd_frame_superpixels_sum{camera="$camera"}[$__rate_interval]) / (rate(segd_frame_superpixels_count{camera="$camera"}[$__rate_interval]) > 0)`, "mean"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_frame_superpixels_bucket{camera="$camera"}[$__rate_interval])))`, "p95"})).
		WithRow(row("Stream")).
		WithPanel(lines(third, "Reconnects and restarts", "Times the camera was dialled anew, and times its stages failed and were built anew.", unitCount,
			query{`increase(segd_ingest_reconnects_total{camera="$camera"}[$__rate_interval])`, "reconnects"},
			query{`increase(segd_camera_restarts_total{camera="$camera"}[$__rate_interval])`, "restarts"})).
		WithPanel(lines(third, "Clock", "The camera's clock minus ours. A steady slope is drift; jumps are the camera setting its clock.", unitSeconds,
			query{`segd_ingest_clock_offset_seconds{camera="$camera"}`, "offset"})).
		WithPanel(lines(third, "Lost with the bus", "Messages of this camera that could not be handed to NATS, events of its objects beyond the limit, and events' thumbnails that were not made.", unitPerSecond,
			query{`rate(segd_bus_publish_failures_total{camera="$camera"}[$__rate_interval])`, "messages"},
			query{`rate(segd_events_limited_total{camera="$camera"}[$__rate_interval])`, "events beyond the limit"},
			query{`rate(segd_thumbnails_total{camera="$camera",outcome="left_out"}[$__rate_interval])`, "thumbnails left out"})).
		WithPanel(lines(third, "Packets lost and late", "RTP packets that never came, and those that came after ones behind them, as a share of all.", unitShare,
			query{`sum by (outcome) (rate(segd_ingest_packets_total{camera="$camera",outcome!="on_time"}[$__rate_interval])) / on() group_left() (sum(rate(segd_ingest_packets_total{camera="$camera"}[$__rate_interval])) > 0)`, "{{outcome}}"})).
		WithPanel(lines(third, "Jitter and reordering", "How unevenly packets come (RFC 3550), and how long a publisher's packets wait for ones before them.", unitSeconds,
			query{`segd_ingest_jitter_seconds{camera="$camera"}`, "jitter"},
			query{`histogram_quantile(0.99, sum by (le) (rate(segd_ingest_reorder_wait_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "wait, p99"})).
		WithPanel(lines(third, "Decoder", "What decodes, and times that software took over from a device.", unitCount,
			query{`segd_ingest_decoder_info{camera="$camera"}`, "{{codec}} on {{device}}"},
			query{`increase(segd_ingest_decode_fallbacks_total{camera="$camera"}[$__rate_interval])`, "fallbacks"})).
		WithRow(row("Objects")).
		WithPanel(timeline(half, "State", "What became of each annotated object.",
			query{`max by (object, label) ((segd_object_state{camera="$camera",state="visible"} == 1) * 2 or (segd_object_state{camera="$camera",state="occluded"} == 1) or (segd_object_state{camera="$camera",state="lost"} == 1) * 0)`, "{{object}} {{label}}"},
			state{"2", "visible", "green"}, state{"1", "occluded", "yellow"}, state{"0", "lost", "red"})).
		WithPanel(lines(half, "Area", "Size of each object's newest mask.", unitPixels,
			query{`segd_object_area_pixels{camera="$camera"}`, "{{object}} {{label}}"})).
		WithRow(row("Marked automatically")).
		WithPanel(lines(third, "Detected", "Things that the detector finds in a look, by class, and those that are not marked because there are too many objects.", unitPerSecond,
			query{`sum by (class) (rate(segd_detections_total{camera="$camera"}[$__rate_interval]))`, "{{class}}"},
			query{`rate(segd_detections_unmarked_total{camera="$camera"}[$__rate_interval])`, "not marked"})).
		WithPanel(lines(third, "Automatic objects", "Objects that the detector marked and that are not kept.", unitCount,
			query{`segd_automatic_objects{camera="$camera"}`, "objects"})).
		WithPanel(lines(third, "Looks", "Looks of the detector, and those that failed.", unitPerSecond,
			query{`rate(segd_detector_looks_total{camera="$camera"}[$__rate_interval])`, "looks"},
			query{`rate(segd_detector_failures_total{camera="$camera"}[$__rate_interval])`, "failed"})).
		WithPanel(lines(third, "Time of a look", "It is a part of the frame's time in features.", unitSeconds,
			query{`rate(segd_detector_duration_seconds_sum{camera="$camera"}[$__rate_interval]) / (rate(segd_detector_duration_seconds_count{camera="$camera"}[$__rate_interval]) > 0)`, "mean"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_detector_duration_seconds_bucket{camera="$camera"}[$__rate_interval])))`, "p95"})).
		WithRow(row("Checkpoints")).
		WithPanel(lines(third, "Age", "Time since what is known of the camera was kept.", unitSeconds,
			query{`time() - segd_checkpoint_timestamp_seconds{camera="$camera"}`, "age"})).
		WithPanel(lines(third, "Kept, and not", "Checkpoints that were kept, and those that could not be.", unitPerSecond,
			query{`rate(segd_checkpoint_duration_seconds_count{camera="$camera"}[$__rate_interval])`, "kept"},
			query{`rate(segd_checkpoint_failures_total{camera="$camera"}[$__rate_interval])`, "failed"})).
		WithPanel(lines(third, "Size", "Of the newest checkpoint.", unitBytes,
			query{`segd_checkpoint_size_bytes{camera="$camera"}`, "size"})).
		WithRow(row("Zones and lines")).
		WithPanel(lines(third, "In zones", "Objects in each zone of the configuration.", unitCount,
			query{`segd_zone_objects{camera="$camera"}`, "{{zone}}"})).
		WithPanel(lines(third, "Entries and stays", "Times an object entered a zone, and stayed in it for its dwell.", unitCount,
			query{`increase(segd_zone_entries_total{camera="$camera"}[$__rate_interval])`, "{{zone}}, entered"},
			query{`increase(segd_zone_stays_total{camera="$camera"}[$__rate_interval])`, "{{zone}}, stayed"})).
		WithPanel(lines(third, "Crossings", "Times an object crossed a line of the configuration, by direction.", unitCount,
			query{`increase(segd_line_crossings_total{camera="$camera"}[$__rate_interval])`, "{{line}}, {{direction}}"}))
}
