package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// solver shows how the optimisation does that labels a camera's frames.
func solver() *dashboard.DashboardBuilder {
	// A query each, as only their order is that of the bars.
	var iterations []query
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		iterations = append(iterations, query{`segd_solver_iteration_lagrangian{camera="$camera",iteration="` + n + `"}`, n})
	}
	return newDashboard("segd-solver", "segd / solver",
		"How the optimisation of one camera does. A window is the last frames, solved together for every new one. Gauges are of the window that was newest at the scrape; where none was solved for a minute, they end.").
		WithVariable(cameraVariable(false)).
		WithPanel(number("Windows", "Windows solved.", unitPerSecond,
			query{`sum(rate(segd_solver_windows_total{camera="$camera"}[$__rate_interval]))`, "windows"}, neutral...)).
		WithPanel(number("Iterations, 90 %", "ADMM iterations that nine of ten windows take at most.", unitNone,
			query{`histogram_quantile(0.90, sum by (le) (rate(segd_solver_iterations_bucket{camera="$camera"}[$__rate_interval])))`, "iterations"}, neutral...)).
		WithPanel(number("Converged", "Share of windows whose residuals fell below the tolerance and whose labels settled.", unitShare,
			query{`sum(rate(segd_solver_windows_total{camera="$camera",end="converged"}[$__rate_interval])) / (sum(rate(segd_solver_windows_total{camera="$camera"}[$__rate_interval])) > 0)`, "converged"},
			limit{0, "red"}, limit{.5, "yellow"}, limit{.9, "green"})).
		WithPanel(number("Out of time", "Share of windows that the time budget ended.", unitShare,
			query{`sum(rate(segd_solver_windows_total{camera="$camera",end="time"}[$__rate_interval])) / (sum(rate(segd_solver_windows_total{camera="$camera"}[$__rate_interval])) > 0)`, "out of time"},
			limit{0, "green"}, limit{.1, "yellow"}, limit{.5, "red"})).
		WithPanel(number("Descent violations", "Iterations in the chosen time over which the Lagrangian rose. None may where descent is guaranteed: beside 100 % of guaranteed iterations anything but 0 is a bug.", unitNone,
			query{`sum(increase(segd_solver_descent_violations_total{camera="$camera"}[$__range]))`, "violations"}, limit{0, "green"}, limit{.5, "red"})).
		WithPanel(number("Guaranteed iterations", "Share of iterations over which the Lagrangian cannot rise, as ρ is large enough and the iterate before is consistent. Below 100 % it may, without a bug in the solver.", unitShare,
			query{`rate(segd_solver_guaranteed_iterations_total{camera="$camera"}[$__rate_interval]) / (rate(segd_solver_iterations_sum{camera="$camera"}[$__rate_interval]) > 0)`, "guaranteed"},
			limit{0, "yellow"}, limit{.999, "green"})).
		WithRow(row("Lagrangian")).
		WithPanel(lines(half, "By window", "Augmented Lagrangian after each iteration of the newest window. Lines that lie on each other: it had converged.", unitNone,
			query{`segd_solver_iteration_lagrangian{camera="$camera"}`, "iteration {{iteration}}"},
			query{`segd_solver_lagrangian{camera="$camera"}`, "end"})).
		WithPanel(bars(half, "By iteration", "Augmented Lagrangian after the newest window's iterations, the first one's on the left. With one ρ for all of them and descent guaranteed, no bar is higher than the one before it.", unitNone,
			iterations...)).
		WithPanel(lines(half, "Relative descent", "By how much of itself the Lagrangian fell in the newest window, from its warm start, the α, λ, labels and classifier of the window before: what was learnt from the newest frame. Below 0 it rose.", unitShare,
			query{`segd_solver_lagrangian_descent{camera="$camera"}`, "descent"})).
		WithPanel(lines(half, "Violations and the guarantee", "Iterations over which the Lagrangian rose, and iterations over which nothing guaranteed that it does not. More of the first than of the second: the guarantee was broken.", unitPerSecond,
			query{`rate(segd_solver_descent_violations_total{camera="$camera"}[$__rate_interval])`, "violations"},
			query{`rate(segd_solver_iterations_sum{camera="$camera"}[$__rate_interval]) - rate(segd_solver_guaranteed_iterations_total{camera="$camera"}[$__rate_interval])`, "without guarantee"})).
		WithRow(row("Convergence")).
		WithPanel(logarithmic(lines(third, "Residuals", "‖O + Kα − β‖ and ρ‖K(α⁺ − α)‖ at the end of the newest window, per score. Converged: both are below the tolerance.", unitNone,
			query{`segd_solver_primal_residual{camera="$camera"}`, "primal"},
			query{`segd_solver_dual_residual{camera="$camera"}`, "dual"},
			query{`max(segd_solver_tolerance)`, "tolerance"}))).
		WithPanel(lines(third, "Label flips by window", "Superpixels of the newest window whose label changed, per iteration.", unitShare,
			query{`segd_label_flips_ratio{camera="$camera"}`, "flips"})).
		WithPanel(lines(third, "Carried", "Share of the newest window's rows, which are superpixels of its frames, whose α and λ came from the window before. The others are new, or of objects that began or ceased to compete, or the window before defined an object.", unitShare,
			query{`segd_solver_carried_ratio{camera="$camera"}`, "carried"})).
		WithRow(row("Iterations and time")).
		WithPanel(buckets(half, "Iterations", "Windows by their ADMM iterations.", unitNone,
			`sum by (le) (increase(segd_solver_iterations_bucket{camera="$camera"}[$__rate_interval]))`)).
		WithPanel(stacked(lines(half, "What ended the windows", "converged, the usual; iterations: all that are granted were run; time: the budget.", unitPerSecond,
			query{`sum by (end) (rate(segd_solver_windows_total{camera="$camera"}[$__rate_interval]))`, "{{end}}"}))).
		WithPanel(stacked(lines(half, "Objects", "What labels their superpixels: solver, the joint estimate; affinity alone, where the box of a track says where the object is.", unitPerSecond,
			query{`sum by (by) (rate(segd_labelled_objects_total{camera="$camera"}[$__rate_interval]))`, "{{by}}"}))).
		WithPanel(lines(half, "Time and budget", "Time the solve of a frame takes, beside what it may take (tracker.budget_ms).", unitSeconds,
			query{`histogram_quantile(0.50, sum by (le) (rate(segd_stage_duration_seconds_bucket{camera="$camera",stage="solve"}[$__rate_interval])))`, "p50"},
			query{`histogram_quantile(0.95, sum by (le) (rate(segd_stage_duration_seconds_bucket{camera="$camera",stage="solve"}[$__rate_interval])))`, "p95"},
			query{`max(segd_solver_budget_seconds)`, "budget"}))
}
