package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// overview is the one an operator keeps open: all cameras at a glance.
func overview() *dashboard.DashboardBuilder {
	return newDashboard("segd-overview", "segd / overview",
		"All cameras at a glance. The runbook is docs/runbook.md.").
		WithVariable(cameraVariable(true)).
		WithPanel(number("Cameras up", "Cameras that deliver frames now.", unitNone,
			query{`sum(segd_camera_up{camera=~"$camera"})`, "up"}, neutral...)).
		WithPanel(number("Cameras down", "Configured cameras that deliver no frames.", unitNone,
			query{`count(segd_camera_up{camera=~"$camera"}) - sum(segd_camera_up{camera=~"$camera"})`, "down"}, badIf1...)).
		WithPanel(number("Published", "Frames whose masks went out, all cameras together.", unitFPS,
			query{`sum(rate(segd_frames_total{camera=~"$camera",outcome="published"}[$__rate_interval]))`, "published"}, neutral...)).
		WithPanel(number("Latency, p95", "Capture to publish; 95 of 100 frames are faster.", unitSeconds,
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera=~"$camera"}[$__rate_interval])))`, "p95"}, latency...)).
		WithPanel(number("NATS", "1 while there is a connection to the NATS server.", unitNone,
			query{`min(segd_bus_connected)`, "connected"}, goodIf1...)).
		WithPanel(number("Alerts", "Alerts of deploy/prometheus that fire now.", unitNone,
			query{`count(ALERTS{alertname=~"Segd.+",alertstate="firing"}) or vector(0)`, "firing"}, badIf1...)).
		WithRow(row("Cameras")).
		WithPanel(timeline(half, "Up and down", "Whether each camera delivers frames.",
			query{`segd_camera_up{camera=~"$camera"}`, "{{camera}}"},
			state{"1", "up", "green"}, state{"0", "down", "red"})).
		WithPanel(lines(half, "Reconnects", "Times a camera was lost and dialled anew.", unitCount,
			query{`increase(segd_ingest_reconnects_total{camera=~"$camera"}[$__rate_interval])`, "{{camera}}"})).
		WithPanel(lines(half, "Frames in", "Frames each camera sent, decoded or not.", unitFPS,
			query{`sum by (camera) (rate(segd_frames_total{camera=~"$camera"}[$__rate_interval]))`, "{{camera}}"})).
		WithPanel(lines(half, "Frames published", "Frames of each camera whose masks went out.", unitFPS,
			query{`sum by (camera) (rate(segd_frames_total{camera=~"$camera",outcome="published"}[$__rate_interval]))`, "{{camera}}"})).
		WithRow(row("Latency and drops")).
		WithPanel(lines(half, "Latency of all", "Capture to publish: median, 95th and 99th percentile over the chosen cameras.", unitSeconds,
			query{`histogram_quantile(0.50, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera=~"$camera"}[$__rate_interval])))`, "p50"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera=~"$camera"}[$__rate_interval])))`, "p95"},
			query{`histogram_quantile(0.99, sum by (le) (rate(segd_frame_latency_seconds_bucket{camera=~"$camera"}[$__rate_interval])))`, "p99"})).
		WithPanel(lines(half, "Latency p95 by camera", "Capture to publish, 95th percentile of each camera.", unitSeconds,
			query{`histogram_quantile(0.95, sum by (camera, le) (rate(segd_frame_latency_seconds_bucket{camera=~"$camera"}[$__rate_interval])))`, "{{camera}}"})).
		WithPanel(stacked(lines(half, "Not published, by reason",
			"dropped_*: a newer frame took its place before that stage, because segd did not keep up. failed: a stage or the bus returned an error. lost, undecodable: the camera's stream was broken. skipped_*: left out before decoding.", unitPerSecond,
			query{`sum by (outcome) (rate(segd_frames_total{camera=~"$camera",outcome!="published"}[$__rate_interval]))`, "{{outcome}}"}))).
		WithPanel(lines(half, "Share published", "Of each camera's frames, those whose masks went out.", unitShare,
			query{`sum by (camera) (rate(segd_frames_total{camera=~"$camera",outcome="published"}[$__rate_interval])) / (sum by (camera) (rate(segd_frames_total{camera=~"$camera"}[$__rate_interval])) > 0)`, "{{camera}}"}).
			Min(0).Max(1)).
		WithRow(row("NATS")).
		WithPanel(lines(half, "Messages lost", "Messages that did not reach NATS, by kind and reason. unconfirmed ones may have arrived.", unitPerSecond,
			query{`sum by (kind, reason) (rate(segd_bus_lost_total[$__rate_interval]))`, "{{kind}} {{reason}}"})).
		WithPanel(lines(half, "Events and connections", "Events waiting for JetStream's acknowledgement, those that have it, per minute, and connections to NATS made anew.", unitCount,
			query{`segd_bus_events_waiting`, "waiting"},
			query{`rate(segd_bus_events_stored_total[$__rate_interval]) * 60`, "stored per minute"},
			query{`increase(segd_bus_reconnects_total[$__rate_interval])`, "reconnects"})).
		WithPanel(lines(third, "Pictures of events", "Pictures that JetStream keeps (nats.pictures), and those that it did not take in time.", unitPerSecond,
			query{`sum by (outcome) (rate(segd_bus_pictures_total[$__rate_interval]))`, "{{outcome}}"})).
		WithPanel(lines(third, "Oldest event that waits", "How long the oldest event has waited for JetStream to store it.", unitSeconds,
			query{`segd_bus_events_waiting_seconds`, "{{instance}}"})).
		WithPanel(lines(third, "Buffered", "Masks and status that wait for the NATS server; 8 MiB at most.", unitBytes,
			query{`segd_bus_buffered_bytes`, "{{instance}}"})).
		WithPanel(lines(third, "Requests not carried out", "Requests over NATS that were refused, by why, and commands over NATS and HTTP that panicked, a fault of segd that its log has the stack of.", unitPerSecond,
			query{`sum by (reason) (rate(segd_command_refused_total[$__rate_interval]))`, "{{reason}}"},
			query{`sum by (transport) (rate(segd_command_panics_total[$__rate_interval]))`, "panic by {{transport}}"})).
		WithPanel(lines(third, "Published by another segd too", "Other segd with a camera of the same site and name through the same NATS server, unless it is meant.", unitCount,
			query{`segd_bus_duplicates`, "{{instance}}"})).
		WithRow(row("MQTT")).
		WithPanel(lines(third, "Connected", "1 while there is a connection to the MQTT broker.", unitNone,
			query{`segd_mqtt_connected`, "{{instance}}"})).
		WithPanel(lines(third, "Messages to the broker", "Messages that wait for the MQTT broker, and those that it has acknowledged, per minute.", unitCount,
			query{`segd_mqtt_waiting`, "waiting, {{instance}}"},
			query{`rate(segd_mqtt_published_total[$__rate_interval]) * 60`, "published per minute, {{instance}}"},
			query{`increase(segd_mqtt_connections_total[$__rate_interval])`, "connections, {{instance}}"})).
		WithPanel(lines(third, "Not carried out", "Messages that did not reach the MQTT broker, by reason, and commands by MQTT, by outcome.", unitPerSecond,
			query{`sum by (reason) (rate(segd_mqtt_lost_total[$__rate_interval]))`, "lost, {{reason}}"},
			query{`sum by (outcome) (rate(segd_mqtt_commands_total[$__rate_interval]))`, "commands {{outcome}}"})).
		WithRow(row("Webhooks")).
		WithPanel(lines(half, "Events posted", "Events that wait for the webhook's server, and those that it has taken, per minute.", unitCount,
			query{`segd_webhook_waiting`, "waiting, {{webhook}}"},
			query{`rate(segd_webhook_delivered_total[$__rate_interval]) * 60`, "taken per minute, {{webhook}}"})).
		WithPanel(lines(half, "Events not taken", "Posts that the webhook's server did not take, most of which are made again, and events that it never got, by reason.", unitPerSecond,
			query{`rate(segd_webhook_failures_total[$__rate_interval])`, "posts, {{webhook}}"},
			query{`sum by (webhook, reason) (rate(segd_webhook_lost_total[$__rate_interval]))`, "lost, {{webhook}} {{reason}}"})).
		WithRow(row("Recordings")).
		WithPanel(lines(third, "Kept", "Bytes of each camera's recordings; recording.max_mib at most, all together.", unitBytes,
			query{`segd_recording_bytes{camera=~"$camera"}`, "{{camera}}"})).
		WithPanel(lines(third, "Written", "Video and masks that are recorded a second, and whether the camera is recorded now.", unitBytes,
			query{`rate(segd_recording_written_bytes_total{camera=~"$camera"}[$__rate_interval])`, "{{camera}}"},
			query{`segd_recording_running{camera=~"$camera"}`, "{{camera}} runs"})).
		WithPanel(lines(third, "Not recorded", "Frames of video that were not recorded, by reason.", unitPerSecond,
			query{`sum by (camera, reason) (rate(segd_recording_lost_total{camera=~"$camera"}[$__rate_interval]))`, "{{camera}} {{reason}}"})).
		WithRow(row("The page")).
		WithPanel(lines(half, "Viewers", "Live connections of the page and clients that follow events; http.viewers at most.", unitCount,
			query{`segd_page_viewers`, "{{instance}}"})).
		WithPanel(lines(half, "Clients too slow", "Pictures (frame), and events and statuses (notice), that a client of the page or the API was too slow for; viewers and connections to http.addr that were over the limits.", unitPerSecond,
			query{`sum by (what) (rate(segd_page_dropped_total[$__rate_interval]))`, "{{what}}"},
			query{`rate(segd_page_refused_total[$__rate_interval])`, "viewers refused, {{instance}}"},
			query{`rate(segd_page_connections_refused_total[$__rate_interval])`, "connections refused, {{instance}}"})).
		WithPanel(lines(half, "Who watches streams", "By RTSP and WHEP; http.viewers at most, half of them the same stream.", unitCount,
			query{`segd_stream_viewers`, "{{protocol}}, {{instance}}"})).
		WithPanel(lines(half, "Frames of streams", "Encoded, each once for all who watch the stream; those that a viewer was too slow for; and viewers refused.", unitPerSecond,
			query{`rate(segd_stream_frames_encoded_total[$__rate_interval])`, "encoded, {{instance}}"},
			query{`rate(segd_stream_frames_dropped_total[$__rate_interval])`, "too slow, {{instance}}"},
			query{`rate(segd_stream_refused_total[$__rate_interval])`, "refused, {{instance}}"})).
		WithRow(row("The program")).
		WithPanel(lines(third, "CPU", "Cores in use.", unitCount,
			query{`rate(process_cpu_seconds_total[$__rate_interval]) and on (instance, job) segd_build_info`, "{{instance}}"})).
		WithPanel(lines(third, "Memory", "Resident, and of it Go's heap.", unitBytes,
			query{`process_resident_memory_bytes and on (instance, job) segd_build_info`, "{{instance}} resident"},
			query{`go_memstats_heap_inuse_bytes and on (instance, job) segd_build_info`, "{{instance}} Go heap"})).
		WithPanel(lines(third, "Network runs", "Forward passes of the network a second, by device, and images in one.", unitCount,
			query{`sum by (instance, device) (rate(segd_dnn_runs_total[$__rate_interval]))`, "{{instance}} {{device}}"},
			query{`sum by (instance, device) (rate(segd_dnn_images_total[$__rate_interval])) / (sum by (instance, device) (rate(segd_dnn_runs_total[$__rate_interval])) > 0)`, "{{instance}} {{device}}, images a run"},
			query{`segd_dnn_device_failed`, "{{instance}} card failed"},
			query{`increase(segd_dnn_device_failures_total[$__rate_interval])`, "{{instance}} failures"})).
		WithPanel(lines(third, "Versions", "What runs where.", unitNone,
			query{`count by (version, instance) (segd_build_info)`, "{{version}} {{instance}}"},
			query{`count by (backend, model) (segd_dnn_backend_info)`, "{{backend}} {{model}}"}))
}
