package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/fleet"
)

// takeoverBuckets, in seconds: a box that ended gives its cameras up at once, one that died is
// noticed after some seconds.
var takeoverBuckets = []float64{.05, .1, .25, .5, 1, 2, 3, 5, 10, 30, 60}

// takenReasons are why a box has taken a camera; for all but the first two another one has given it.
var takenReasons = []string{"new", "died", "left", "drain", "rebalance", "move", "misfit"}

// FleetMeter counts what a box does in its fleet; it is a fleet.Meter.
type FleetMeter struct {
	taken, given *prometheus.CounterVec
	free         prometheus.Histogram
	lapses       prometheus.Counter
	fenced       prometheus.Counter
}

// Fleet registers the metrics of a fleet. read is called at every scrape, from any goroutine. It may be
// called once.
func (m *Metrics) Fleet(read func() fleet.Status) *FleetMeter {
	name := func(s string) string { return prometheus.BuildFQName(namespace, "fleet", s) }
	f := &FleetMeter{
		taken: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("cameras_taken_total"),
			Help: "Cameras that this box has taken, by reason: new, died, left, drain, rebalance, move, misfit."}, []string{labelReason}),
		given: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("cameras_given_total"),
			Help: "Cameras that this box has given to others, by reason."}, []string{labelReason}),
		free: prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("takeover_seconds"), Buckets: takeoverBuckets,
			Help: "For how long no box had a camera that this box has taken, as far as this box knew."}),
		lapses: prometheus.NewCounter(prometheus.CounterOpts{Name: name("lapses_total"),
			Help: "Times in which this box might publish nothing, since it did not hear itself by NATS or could not renew its key."}),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{Name: name("fenced_total"),
			Help: "Silent boxes whose cameras this box has set free."}),
	}
	for i, reason := range takenReasons { // a rate misses the step from nothing to 1
		f.taken.WithLabelValues(reason)
		if i >= 2 {
			f.given.WithLabelValues(reason)
		}
	}
	c := &collector[fleet.Status]{part: "fleet", read: read}
	own := func(s fleet.Status) fleet.BoxStatus {
		for _, b := range s.Boxes {
			if b.Name == s.Box {
				return b
			}
		}
		return fleet.BoxStatus{}
	}
	c.flag("publishing", "1 while this box may publish what it runs, else 0.", func(s fleet.Status) bool { return s.Publishing })
	c.flag("plan", "1 on the box that evens out how full the boxes are, else 0.", func(s fleet.Status) bool { return s.Plan != "" && s.Plan == s.Box })
	c.gauge("boxes", "Boxes that are alive, as this one knows.", func(s fleet.Status) (n float64) {
		for _, b := range s.Boxes {
			n += number(b.Alive)
		}
		return n
	})
	c.gauge("cameras", "Cameras that there are, as this box knows.", func(s fleet.Status) float64 { return float64(len(s.Cameras)) })
	c.gauge("cameras_unplaced", "Cameras that no box runs, as this one knows.", func(s fleet.Status) (n float64) {
		for _, cam := range s.Cameras {
			n += number(cam.Box == "")
		}
		return n
	})
	c.gauge("box_cameras", "Cameras that this box runs.", func(s fleet.Status) float64 { return float64(own(s).Cameras) })
	c.gauge("box_capacity_fps", "Frames a second that this box can label, at the sizes of its cameras.", func(s fleet.Status) float64 { return own(s).Capacity })
	c.gauge("box_load_fps", "Frames a second that the cameras of this box send.", func(s fleet.Status) float64 { return own(s).Load })
	c.flag("box_cordoned", "1 while this box takes no more cameras, else 0.", func(s fleet.Status) bool { return own(s).Cordoned })
	m.reg.MustRegister(f.taken, f.given, f.free, f.lapses, f.fenced, c)
	return f
}

// Taken counts a camera that this box has taken, and for how long no box had it.
func (f *FleetMeter) Taken(why fleet.Why, free time.Duration) {
	f.taken.WithLabelValues(string(why)).Inc()
	f.free.Observe(free.Seconds())
}

// Given counts a camera that this box has given to others.
func (f *FleetMeter) Given(why fleet.Why) { f.given.WithLabelValues(string(why)).Inc() }

// Lapsed counts a time in which this box might publish nothing.
func (f *FleetMeter) Lapsed() { f.lapses.Inc() }

// Fenced counts a silent box whose cameras this one has set free.
func (f *FleetMeter) Fenced() { f.fenced.Inc() }
