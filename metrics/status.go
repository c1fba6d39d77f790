package metrics

import (
	"maps"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
)

// Watch has the camera's status read at every scrape from now on, from any goroutine.
func (c *Camera) Watch(read func() pipeline.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = read
}

func (c *Camera) status() pipeline.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

// status collects what cameras say of themselves.
func (m *Metrics) status() prometheus.Collector {
	c := &collector[map[string]pipeline.Snapshot]{read: func() map[string]pipeline.Snapshot {
		m.mu.Lock()
		cameras := maps.Clone(m.cameras)
		m.mu.Unlock()
		all := make(map[string]pipeline.Snapshot, len(cameras))
		for name, camera := range cameras {
			all[name] = camera.status()
		}
		return all
	}}
	add := func(kind prometheus.ValueType, name, help string, of func(s *pipeline.Snapshot, tell func(v float64, labels ...string)), labels ...string) {
		c.add(kind, name, help, func(all map[string]pipeline.Snapshot, tell func(float64, ...string)) {
			for camera, s := range all {
				of(&s, func(v float64, labels ...string) { tell(v, append([]string{camera}, labels...)...) })
			}
		}, append([]string{labelCamera}, labels...)...)
	}
	counter := func(name, help string, of func(*pipeline.Snapshot) uint64) {
		add(prometheus.CounterValue, name, help, func(s *pipeline.Snapshot, tell func(float64, ...string)) { tell(float64(of(s))) })
	}
	inZones := func(kind prometheus.ValueType, name, help string, of func(zones.ZoneCount) float64) {
		add(kind, name, help, func(s *pipeline.Snapshot, tell func(float64, ...string)) {
			for _, z := range s.Zones.Zones {
				tell(of(z), z.Name)
			}
		}, labelZone)
	}
	add(prometheus.GaugeValue, "camera_up", "1 while the camera delivers frames, else 0.",
		func(s *pipeline.Snapshot, tell func(float64, ...string)) { tell(number(s.Up)) })
	add(prometheus.CounterValue, "frames_total",
		"Frames by outcome: published, dropped_features and dropped_tracker (replaced by a newer one before that stage), failed, unleased (another box of a fleet might publish), lost (packets never came), undecodable, skipped_disposable, skipped_overflow and skipped_no_key (not decoded).",
		func(s *pipeline.Snapshot, tell func(float64, ...string)) {
			tell(float64(s.Published), "published")
			tell(float64(s.DroppedBefore[pipeline.StageFeatures]), "dropped_features")
			tell(float64(s.DroppedBefore[pipeline.StageTrack]), "dropped_tracker")
			tell(float64(s.Failed), "failed")
			tell(float64(s.Unleased), "unleased")
			for why, n := range s.Missed {
				tell(float64(n), ingest.Miss(why).String())
			}
		}, labelOutcome)
	counter("frames_damaged_total", "Decoded frames of which a part was invented, because data was lost.", func(s *pipeline.Snapshot) uint64 { return s.Damaged })
	counter("view_frames_dropped_total", "Published frames that the page had no time to draw.", func(s *pipeline.Snapshot) uint64 { return s.Unseen })
	counter("ingest_reconnects_total", "Times the camera was lost and dialled anew.", func(s *pipeline.Snapshot) uint64 { return s.Reconnects })
	counter("camera_restarts_total", "Times the camera's stages failed and were built anew.", func(s *pipeline.Snapshot) uint64 { return s.Restarts })
	counter("bus_publish_failures_total", "Messages that could not be handed to NATS.", func(s *pipeline.Snapshot) uint64 { return s.PublishFailures })
	add(prometheus.GaugeValue, "automatic_objects", "Objects that were marked by the detector and that are not kept.",
		func(s *pipeline.Snapshot, tell func(float64, ...string)) {
			automatic := 0
			for _, o := range s.Objects {
				if o.Automatic() && !o.Dormant {
					automatic++
				}
			}
			tell(float64(automatic))
		})
	add(prometheus.GaugeValue, "object_area_pixels", "Area of the object's newest mask.", func(s *pipeline.Snapshot, tell func(float64, ...string)) {
		for _, o := range s.Objects {
			tell(float64(o.Area), id(o), o.Label)
		}
	}, labelObject, labelLabel)
	add(prometheus.GaugeValue, "object_state", "1 for the state the object is in (visible, occluded or lost) and 0 for the others.", func(s *pipeline.Snapshot, tell func(float64, ...string)) {
		for _, o := range s.Objects {
			for _, state := range []tracker.State{tracker.Visible, tracker.Occluded, tracker.Lost} {
				tell(number(o.State == state), id(o), o.Label, state.String())
			}
		}
	}, labelObject, labelLabel, labelState)
	inZones(prometheus.GaugeValue, "zone_objects", "Objects in the zone.", func(z zones.ZoneCount) float64 { return float64(z.Objects) })
	inZones(prometheus.CounterValue, "zone_entries_total", "Times an object entered the zone.", func(z zones.ZoneCount) float64 { return float64(z.Entries) })
	inZones(prometheus.CounterValue, "zone_stays_total", "Times an object stayed in the zone for its dwell.", func(z zones.ZoneCount) float64 { return float64(z.Stays) })
	add(prometheus.CounterValue, "line_crossings_total", "Times an object crossed the line, by direction: a_to_b or b_to_a.", func(s *pipeline.Snapshot, tell func(float64, ...string)) {
		for _, l := range s.Zones.Lines {
			tell(float64(l.AToB), l.Name, "a_to_b")
			tell(float64(l.BToA), l.Name, "b_to_a")
		}
	}, labelLine, labelDirection)
	return c
}

func id(o objects.Object) string { return strconv.FormatUint(uint64(o.ID), 10) }
