package metrics

import (
	"maps"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcome is what became of a frame.
type Outcome int

// The outcomes. Each frame has exactly one, an access unit that gave no picture too.
const (
	Published         Outcome = iota // its masks went out
	DroppedFeatures                  // a newer one took its place before features were computed
	DroppedTracker                   // a newer one took its place before the tracker
	Failed                           // a stage returned an error
	NotReceived                      // packets of it never came
	Undecodable                      // the decoder made no picture of it
	SkippedDisposable                // not decoded: no other refers to it, and frames waited already
	SkippedOverflow                  // not decoded: too much waited for the decoder, until the next key frame
	SkippedNoKey                     // not decoded: it came before its connection's first key frame
	Unleased                         // another box of a fleet might publish
)

// outcomes are the label values.
var outcomes = [...]string{
	"published", "dropped_features", "dropped_tracker", "failed",
	"lost", "undecodable", "skipped_disposable", "skipped_overflow", "skipped_no_key", "unleased",
}

// State is what became of an object; its text is the label value.
type State string

// The states.
const (
	Visible  State = "visible"
	Occluded State = "occluded"
	Lost     State = "lost"
)

var states = [...]State{Visible, Occluded, Lost}

// Status is how a camera does at a moment. Counts are since it began.
type Status struct {
	Up                                    bool // whether it delivers frames
	Frames                                [len(outcomes)]uint64
	Damaged                               uint64 // frames of which the decoder had to invent a part
	Unseen                                uint64 // published frames that the page had no time for
	Reconnects, Restarts, PublishFailures uint64 // of the source, of the stages, of the bus
	Automatic                             int    // objects that were marked by the detector and are not kept
	Objects                               []Object
	Zones                                 []Zone
	Lines                                 []Line
}

// Object is an object's state, and its area in pixels.
type Object struct {
	ID    uint32
	Label string
	State State
	Area  int
}

// Zone is the objects in a zone, and how often one entered it and stayed in it.
type Zone struct {
	Name           string
	Objects        int
	Entries, Stays uint64
}

// Line is how often a line was crossed in each direction.
type Line struct {
	Name       string
	AToB, BToA uint64
}

// Watch has the camera's status read at every scrape from now on, from any goroutine.
func (c *Camera) Watch(read func() Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = read
}

func (c *Camera) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

// status collects what cameras say of themselves.
func (m *Metrics) status() prometheus.Collector {
	c := &collector[map[string]Status]{read: func() map[string]Status {
		m.mu.Lock()
		cameras := maps.Clone(m.cameras)
		m.mu.Unlock()
		all := make(map[string]Status, len(cameras))
		for name, camera := range cameras {
			all[name] = camera.status()
		}
		return all
	}}
	add := func(kind prometheus.ValueType, name, help string, of func(s *Status, tell func(v float64, labels ...string)), labels ...string) {
		c.add(kind, name, help, func(all map[string]Status, tell func(float64, ...string)) {
			for camera, s := range all {
				of(&s, func(v float64, labels ...string) { tell(v, append([]string{camera}, labels...)...) })
			}
		}, append([]string{labelCamera}, labels...)...)
	}
	counter := func(name, help string, of func(*Status) uint64) {
		add(prometheus.CounterValue, name, help, func(s *Status, tell func(float64, ...string)) { tell(float64(of(s))) })
	}
	zones := func(kind prometheus.ValueType, name, help string, of func(Zone) float64) {
		add(kind, name, help, func(s *Status, tell func(float64, ...string)) {
			for _, z := range s.Zones {
				tell(of(z), z.Name)
			}
		}, labelZone)
	}
	add(prometheus.GaugeValue, "camera_up", "1 while the camera delivers frames, else 0.",
		func(s *Status, tell func(float64, ...string)) { tell(number(s.Up)) })
	add(prometheus.CounterValue, "frames_total",
		"Frames by outcome: published, dropped_features and dropped_tracker (replaced by a newer one before that stage), failed, unleased (another box of a fleet might publish), lost (packets never came), undecodable, skipped_disposable, skipped_overflow and skipped_no_key (not decoded).",
		func(s *Status, tell func(float64, ...string)) {
			for o, n := range s.Frames {
				tell(float64(n), outcomes[o])
			}
		}, labelOutcome)
	counter("frames_damaged_total", "Decoded frames of which a part was invented, because data was lost.", func(s *Status) uint64 { return s.Damaged })
	counter("view_frames_dropped_total", "Published frames that the page had no time to draw.", func(s *Status) uint64 { return s.Unseen })
	counter("ingest_reconnects_total", "Times the camera was lost and dialled anew.", func(s *Status) uint64 { return s.Reconnects })
	counter("camera_restarts_total", "Times the camera's stages failed and were built anew.", func(s *Status) uint64 { return s.Restarts })
	counter("bus_publish_failures_total", "Messages that could not be handed to NATS.", func(s *Status) uint64 { return s.PublishFailures })
	add(prometheus.GaugeValue, "automatic_objects", "Objects that were marked by the detector and that are not kept.",
		func(s *Status, tell func(float64, ...string)) { tell(float64(s.Automatic)) })
	add(prometheus.GaugeValue, "object_area_pixels", "Area of the object's newest mask.", func(s *Status, tell func(float64, ...string)) {
		for _, o := range s.Objects {
			tell(float64(o.Area), o.id(), o.Label)
		}
	}, labelObject, labelLabel)
	add(prometheus.GaugeValue, "object_state", "1 for the state the object is in (visible, occluded or lost) and 0 for the others.", func(s *Status, tell func(float64, ...string)) {
		for _, o := range s.Objects {
			for _, state := range states {
				tell(number(o.State == state), o.id(), o.Label, string(state))
			}
		}
	}, labelObject, labelLabel, labelState)
	zones(prometheus.GaugeValue, "zone_objects", "Objects in the zone.", func(z Zone) float64 { return float64(z.Objects) })
	zones(prometheus.CounterValue, "zone_entries_total", "Times an object entered the zone.", func(z Zone) float64 { return float64(z.Entries) })
	zones(prometheus.CounterValue, "zone_stays_total", "Times an object stayed in the zone for its dwell.", func(z Zone) float64 { return float64(z.Stays) })
	add(prometheus.CounterValue, "line_crossings_total", "Times an object crossed the line, by direction: a_to_b or b_to_a.", func(s *Status, tell func(float64, ...string)) {
		for _, l := range s.Lines {
			tell(float64(l.AToB), l.Name, "a_to_b")
			tell(float64(l.BToA), l.Name, "b_to_a")
		}
	}, labelLine, labelDirection)
	return c
}

func (o Object) id() string { return strconv.FormatUint(uint64(o.ID), 10) }
