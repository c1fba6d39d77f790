package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/tracker"
)

// solveTold is for how long gauges tell of a window: longer than most scrapes are apart, so that frames in between that have nothing
// to solve leave no gaps.
const solveTold = time.Minute

// solves collects what cameras' last windows came to.
func (m *Metrics) solves() prometheus.Collector {
	c := &collector[map[string]tracker.Report]{read: func() map[string]tracker.Report {
		m.mu.Lock()
		defer m.mu.Unlock()
		all := make(map[string]tracker.Report, len(m.cameras))
		for name, camera := range m.cameras {
			camera.mu.Lock()
			if time.Since(camera.solved) <= solveTold {
				all[name] = camera.last
			}
			camera.mu.Unlock()
		}
		return all
	}}
	gauge := func(name, help string, of func(tracker.Report) float64) {
		c.add(prometheus.GaugeValue, name, help, func(all map[string]tracker.Report, tell func(float64, ...string)) {
			for camera, s := range all {
				tell(of(s), camera)
			}
		}, labelCamera)
	}
	gauge("solver_lagrangian", "Augmented Lagrangian at the end of the last window.", func(s tracker.Report) float64 { return s.Lagrangian })
	c.add(prometheus.GaugeValue, "solver_iteration_lagrangian",
		"Augmented Lagrangian of the last window after iterations 1 to 5; after its end, that at the end.",
		func(all map[string]tracker.Report, tell func(float64, ...string)) {
			for camera, s := range all {
				for i, l := range s.Trace {
					tell(l, camera, strconv.Itoa(i+1))
				}
			}
		}, labelCamera, labelIter)
	gauge("solver_lagrangian_descent", "How far the augmented Lagrangian fell in the last window from its warm start, relative to its size.",
		func(s tracker.Report) float64 { return s.Descent })
	gauge("solver_carried_ratio", "Share of the last window's rows whose alpha and lambda came from the window before, 0 to 1.",
		func(s tracker.Report) float64 { return s.Carried })
	gauge("solver_primal_residual", "Primal residual at the end of the last window.", func(s tracker.Report) float64 { return s.Primal })
	gauge("solver_dual_residual", "Dual residual at the end of the last window.", func(s tracker.Report) float64 { return s.Dual })
	gauge("label_flips_ratio", "Share of the last window's superpixels whose label changed while it was solved, 0 to 1.",
		func(s tracker.Report) float64 { return s.FlipRatio })
	return c
}
