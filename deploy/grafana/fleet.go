package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// fleet shows the boxes that share cameras. What all of them know is asked of those that may publish: a box that is
// cut off knows what was.
func fleet() *dashboard.DashboardBuilder {
	const heard = ` and on (job, instance) (segd_fleet_publishing == 1)`
	return newDashboard("segd-fleet", "segd / fleet",
		"Boxes that share cameras. Empty without a fleet; docs/fleet.md tells of fleets.").
		WithPanel(number("Boxes", "Boxes that are alive.", unitNone,
			query{`max(segd_fleet_boxes` + heard + `)`, "boxes"}, neutral...)).
		WithPanel(number("Cameras", "Cameras that there are.", unitNone,
			query{`max(segd_fleet_cameras` + heard + `)`, "cameras"}, neutral...)).
		WithPanel(number("Unplaced", "Cameras that no box runs.", unitNone,
			query{`max(segd_fleet_cameras_unplaced` + heard + `)`, "unplaced"}, badIf1...)).
		WithPanel(number("Not publishing", "Boxes that may publish nothing, as they do not hear themselves by NATS or cannot renew their key.", unitNone,
			query{`count(segd_fleet_publishing) - sum(segd_fleet_publishing)`, "boxes"}, badIf1...)).
		WithPanel(number("Cordoned", "Boxes that take no more cameras.", unitNone,
			query{`sum(segd_fleet_box_cordoned)`, "boxes"}, limit{0, "green"}, limit{1, "yellow"})).
		WithPanel(number("Load", "Frames a second that the cameras of all boxes send, of those that the boxes can label. Above 1 frames are dropped.", unitShare,
			query{`sum(segd_fleet_box_load_fps) / (sum(segd_fleet_box_capacity_fps) > 0)`, "load"}, limit{0, "green"}, limit{.7, "yellow"}, limit{.9, "red"})).
		WithRow(row("Boxes")).
		WithPanel(timeline(half, "Publishing", "Whether each box may publish what it runs.",
			query{`segd_fleet_publishing`, "{{instance}}"},
			state{"1", "publishes", "green"}, state{"0", "may not", "red"})).
		WithPanel(stacked(lines(half, "Cameras by box", "Cameras that each box runs.", unitCount,
			query{`segd_fleet_box_cameras`, "{{instance}}"}))).
		WithPanel(lines(half, "Load by box", "Frames a second that the cameras of each box send, as a part of those that it can label.", unitShare,
			query{`segd_fleet_box_load_fps / (segd_fleet_box_capacity_fps > 0)`, "{{instance}}"}).
			Min(0)).
		WithPanel(lines(half, "Load and capacity", "Frames a second that the cameras of all boxes send, and that the boxes can label, as they have measured it.", unitFPS,
			query{`sum(segd_fleet_box_load_fps)`, "load"},
			query{`sum(segd_fleet_box_capacity_fps)`, "capacity"})).
		WithRow(row("Which box runs each camera")).
		WithPanel(timeline(full, "Where cameras run", "On which box each camera is. Up: it delivers frames there.",
			query{`segd_camera_up and on (job, instance) segd_fleet_publishing`, "{{camera}} on {{instance}}"},
			state{"1", "up", "green"}, state{"0", "down", "red"})).
		WithRow(row("Takeovers")).
		WithPanel(lines(third, "Cameras taken, by reason", "Cameras that boxes have taken: new ones; and those of a box that died, left, is drained, had less room, could not run them; and those that somebody moved.", unitCount,
			query{`sum by (reason) (increase(segd_fleet_cameras_taken_total[$__rate_interval]))`, "{{reason}}"})).
		WithPanel(lines(third, "Cameras given, by reason", "Cameras that boxes have given to others.", unitCount,
			query{`sum by (reason) (increase(segd_fleet_cameras_given_total[$__rate_interval]))`, "{{reason}}"})).
		WithPanel(lines(third, "Time without a box", "For how long no box had a camera that was taken then: median and 95th percentile of each moment in which some were.", unitSeconds,
			query{`histogram_quantile(0.50, sum by (le) (rate(segd_fleet_takeover_seconds_bucket[$__rate_interval])))`, "p50"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_fleet_takeover_seconds_bucket[$__rate_interval])))`, "p95"})).
		WithPanel(lines(third, "Lapses", "Times in which a box might publish nothing.", unitCount,
			query{`increase(segd_fleet_lapses_total[$__rate_interval])`, "{{instance}}"})).
		WithPanel(lines(third, "Silent boxes", "Boxes that fell silent, by who has set their cameras free.", unitCount,
			query{`increase(segd_fleet_fenced_total[$__rate_interval])`, "{{instance}}"})).
		WithPanel(lines(third, "Not published for want of a lease", "Frames of each box that were labelled and not published, because another box might publish the camera.", unitFPS,
			query{`sum by (instance) (rate(segd_frames_total{outcome="unleased"}[$__rate_interval])) and on (instance) segd_fleet_publishing`, "{{instance}}"})).
		WithRow(row("Who evens out")).
		WithPanel(timeline(half, "Plan", "The box that has cameras moved when boxes differ in how full they are.",
			query{`segd_fleet_plan`, "{{instance}}"},
			state{"1", "evens out", "blue"}, state{"0", "", "transparent"})).
		WithPanel(timeline(half, "Cordoned boxes", "Boxes that take no more cameras, as somebody has said.",
			query{`segd_fleet_box_cordoned`, "{{instance}}"},
			state{"1", "cordoned", "yellow"}, state{"0", "takes cameras", "green"}))
}
