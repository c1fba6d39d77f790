package metrics

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/features"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/outputs/recording"
	"github.com/segd/segd/outputs/restream"
	"github.com/segd/segd/outputs/webhook"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/web"
)

// object is what metrics tell of one.
type object struct {
	id    uint32
	label string
	state tracker.State
	area  int
}

func objectsNow(list ...object) (all []objects.Object) {
	for _, o := range list {
		all = append(all, objects.Object{ID: o.id, Label: o.label, State: o.state, Area: o.area})
	}
	return all
}

// solved is of a frame of which nothing but the report is known.
func solved(r tracker.Report) tracker.Solve { return tracker.Solve{Report: r} }

// full returns metrics with every series there can be.
func full() (*prometheus.Registry, *Metrics, *Camera) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.Build("v1.2.3", "abc")
	m.Network(func() Network {
		return Network{
			Backend: "onnxruntime cpu", Model: "segd-p64", Failed: true, Failures: 2,
			Runs: map[string]uint64{"cpu": 10, "cuda": 200}, Images: map[string]uint64{"cpu": 10, "cuda": 900},
		}
	})
	c := m.Camera("demo")
	c.Watch(func() pipeline.Snapshot {
		return pipeline.Snapshot{
			Objects: objectsNow(object{1, "person", tracker.Visible, 4141}),
			Zones:   zones.Counts{Zones: []zones.ZoneCount{{Name: "yard", Objects: 1, Entries: 3, Stays: 2}}, Lines: []zones.LineCount{{Name: "street", AToB: 5, BToA: 4}}},
		}
	})
	c.Detected("person")
	c.ClockOffset(-1500 * time.Millisecond)
	c.Checkpoint(1000, time.Millisecond, nil)
	c.Packets(0, 0, 0, 2*time.Millisecond)
	c.Decoder(codec.H265, "cuda", nil)
	c.Held(60 * time.Millisecond)
	c.Solved(solved(tracker.Report{Converged: true, Iterations: 12, Guaranteed: 11, Violations: 1, Lagrangian: 3.5, Descent: 0.25, Primal: 0.125, FlipRatio: 0.01}))
	m.Budget(50 * time.Millisecond)
	m.Tolerance(0.001)
	f := m.Fleet(func() fleet.Status {
		return fleet.Status{
			Box: "b", Plan: "a", Publishing: true,
			Boxes:   []fleet.BoxStatus{{Name: "a", Alive: true, Cameras: 1}, {Name: "b", Alive: true, Cameras: 2, Capacity: 40, Load: 25, Cordoned: true}, {Name: "c", Cameras: 3}},
			Cameras: []fleet.CameraStatus{{Name: "gate", Box: "a"}, {Name: "yard", Box: "b"}, {Name: "barn"}},
		}
	})
	f.Taken("died", 2*time.Second)
	f.Given("drain")
	f.Lapsed()
	f.Fenced()
	m.Bus(func() bus.Stats {
		return bus.Stats{
			Connected: true, Reconnects: 2, BufferedBytes: 300, EventsWaiting: 4, EventsOldest: 1500 * time.Millisecond, EventsStored: 5, Duplicates: 1, PicturesKept: 9, PicturesLost: 3,
			Lost: map[bus.Kind]map[bus.Reason]uint64{bus.KindMask: {bus.BufferFull: 6, bus.Unconfirmed: 7}, bus.KindEvent: {bus.Refused: 8}},
		}
	})
	m.MQTT(func() mqtt.Stats {
		return mqtt.Stats{Connected: true, Connections: 2, Waiting: 3, Published: 400, Overflowed: 5, Commands: 6, Faulty: 7}
	})
	m.Webhooks(func() []webhook.Stats {
		return []webhook.Stats{{Name: "door", Waiting: 1, Delivered: 20, Failed: 3, Expired: 4}, {Name: "yard", Overflowed: 5, Refused: 6}}
	})
	m.Recordings(func() []recording.Stats {
		return []recording.Stats{{Camera: "gate", Bytes: 7, Written: 8, Lost: map[string]uint64{"disk": 9}, State: recording.State{Is: recording.Running}}}
	})
	m.Streams(func() restream.Stats {
		return restream.Stats{Viewers: map[string]int{"rtsp": 2, "whep": 1}, Encoded: 30, Dropped: 4, Refused: 5}
	})
	m.Page(func() web.Stats { return web.Stats{Viewers: 3, FramesDropped: 40, NoticesDropped: 5} })
	return reg, m, c
}

// The counters of a fleet are there at 0 with every reason, so that rates see the first step.
func TestFleetBeginsAt0(t *testing.T) {
	reg := prometheus.NewRegistry()
	New(reg).Fleet(func() fleet.Status { return fleet.Status{} })
	want := `# HELP segd_fleet_cameras_given_total Cameras that this box has given to others, by reason.
# TYPE segd_fleet_cameras_given_total counter
segd_fleet_cameras_given_total{reason="drain"} 0
segd_fleet_cameras_given_total{reason="left"} 0
segd_fleet_cameras_given_total{reason="misfit"} 0
segd_fleet_cameras_given_total{reason="move"} 0
segd_fleet_cameras_given_total{reason="rebalance"} 0
# HELP segd_fleet_cameras_taken_total Cameras that this box has taken, by reason: new, died, left, drain, rebalance, move, misfit.
# TYPE segd_fleet_cameras_taken_total counter
segd_fleet_cameras_taken_total{reason="died"} 0
segd_fleet_cameras_taken_total{reason="drain"} 0
segd_fleet_cameras_taken_total{reason="left"} 0
segd_fleet_cameras_taken_total{reason="misfit"} 0
segd_fleet_cameras_taken_total{reason="move"} 0
segd_fleet_cameras_taken_total{reason="new"} 0
segd_fleet_cameras_taken_total{reason="rebalance"} 0
`
	assert.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(want), "segd_fleet_cameras_taken_total", "segd_fleet_cameras_given_total"))
}

// The linter is the one "promtool check metrics" runs.
func TestLint(t *testing.T) {
	reg, _, _ := full()
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every metric that docs/metrics.md lists is exposed with those labels and that
// type, and no other of ours is.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	want := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^- `(segd_\\w+)` \\((\\w+)(?:: ([\\w, ]+))?\\)").FindAllStringSubmatch(string(doc), -1) {
		labels := strings.Split(strings.TrimSpace(m[3]), ", ")
		slices.Sort(labels)
		want[m[1]] = m[2] + " " + strings.Join(labels, ",")
	}

	reg, _, _ := full()
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "segd_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ",")
	}
	assert.Empty(t, cmp.Diff(want, got), "-docs/metrics.md +exposed")
}

func compare(t *testing.T, reg *prometheus.Registry, want string, names ...string) {
	t.Helper()
	assert.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(want), names...))
}

func TestNewCameraIsAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	New(reg).Camera("demo")
	compare(t, reg, `
# HELP segd_frames_total Frames by outcome: published, dropped_features and dropped_tracker (replaced by a newer one before that stage), failed, unleased (another box of a fleet might publish), lost (packets never came), undecodable, skipped_disposable, skipped_overflow and skipped_no_key (not decoded).
# TYPE segd_frames_total counter
segd_frames_total{camera="demo",outcome="dropped_features"} 0
segd_frames_total{camera="demo",outcome="dropped_tracker"} 0
segd_frames_total{camera="demo",outcome="failed"} 0
segd_frames_total{camera="demo",outcome="unleased"} 0
segd_frames_total{camera="demo",outcome="published"} 0
segd_frames_total{camera="demo",outcome="undecodable"} 0
segd_frames_total{camera="demo",outcome="lost"} 0
segd_frames_total{camera="demo",outcome="skipped_disposable"} 0
segd_frames_total{camera="demo",outcome="skipped_overflow"} 0
segd_frames_total{camera="demo",outcome="skipped_no_key"} 0
# HELP segd_frames_damaged_total Decoded frames of which a part was invented, because data was lost.
# TYPE segd_frames_damaged_total counter
segd_frames_damaged_total{camera="demo"} 0
# HELP segd_ingest_packets_total RTP packets: on_time, late (after ones behind them) and lost.
# TYPE segd_ingest_packets_total counter
segd_ingest_packets_total{camera="demo",outcome="late"} 0
segd_ingest_packets_total{camera="demo",outcome="lost"} 0
segd_ingest_packets_total{camera="demo",outcome="on_time"} 0
# HELP segd_ingest_decode_fallbacks_total Times that software took over decoding from a device that was configured.
# TYPE segd_ingest_decode_fallbacks_total counter
segd_ingest_decode_fallbacks_total{camera="demo"} 0
# HELP segd_ingest_reconnects_total Times the camera was lost and dialled anew.
# TYPE segd_ingest_reconnects_total counter
segd_ingest_reconnects_total{camera="demo"} 0
# HELP segd_bus_publish_failures_total Messages that could not be handed to NATS.
# TYPE segd_bus_publish_failures_total counter
segd_bus_publish_failures_total{camera="demo"} 0
# HELP segd_recording_bytes Bytes of the camera's recordings.
# TYPE segd_recording_bytes gauge
segd_recording_bytes{camera="gate"} 7
# HELP segd_recording_lost_total Frames of video that were not recorded, by reason: disk (it refused), behind (too much waited for it) and video (nothing that can be recorded); masks: only their masks were not.
# TYPE segd_recording_lost_total counter
segd_recording_lost_total{camera="gate",reason="behind"} 0
segd_recording_lost_total{camera="gate",reason="disk"} 9
segd_recording_lost_total{camera="gate",reason="masks"} 0
segd_recording_lost_total{camera="gate",reason="video"} 0
# HELP segd_recording_running 1 while the camera's video is written, else 0.
# TYPE segd_recording_running gauge
segd_recording_running{camera="gate"} 1
# HELP segd_recording_written_bytes_total Bytes of video and masks that were recorded.
# TYPE segd_recording_written_bytes_total counter
segd_recording_written_bytes_total{camera="gate"} 8
# HELP segd_solver_guaranteed_iterations_total ADMM iterations in which the augmented Lagrangian cannot rise, as rho is large enough and the iterate before consistent.
# TYPE segd_solver_guaranteed_iterations_total counter
segd_solver_guaranteed_iterations_total{camera="demo"} 0
# HELP segd_solver_descent_violations_total ADMM iterations over which the augmented Lagrangian, at the iteration's own rho, rose.
# TYPE segd_solver_descent_violations_total counter
segd_solver_descent_violations_total{camera="demo"} 0
# HELP segd_camera_up 1 while the camera delivers frames, else 0.
# TYPE segd_camera_up gauge
segd_camera_up{camera="demo"} 0
# HELP segd_solver_windows_total Windows solved, by what ended it: converged (residuals below the tolerance and labels settled), iterations (all that are granted), time (the budget).
# TYPE segd_solver_windows_total counter
segd_solver_windows_total{camera="demo",end="converged"} 0
segd_solver_windows_total{camera="demo",end="iterations"} 0
segd_solver_windows_total{camera="demo",end="time"} 0
`, "segd_camera_up", "segd_solver_windows_total", "segd_frames_total", "segd_ingest_reconnects_total", "segd_bus_publish_failures_total",
		"segd_frames_damaged_total", "segd_ingest_packets_total", "segd_ingest_decode_fallbacks_total",
		"segd_ingest_jitter_seconds", "segd_ingest_decoder_info",
		"segd_solver_guaranteed_iterations_total", "segd_solver_descent_violations_total", "segd_ingest_clock_offset_seconds", "segd_solver_iteration_lagrangian")
	for name, want := range map[string]int{
		"segd_frame_latency_seconds": 1, "segd_solver_iterations": 1, "segd_ingest_reorder_wait_seconds": 1, "segd_frame_roi_ratio": 1, "segd_frame_superpixels": 1, "segd_detector_duration_seconds": 1, "segd_stage_duration_seconds": len(stages),
	} {
		if n, err := testutil.GatherAndCount(reg, name); err != nil || n != want {
			t.Errorf("%d series of %s (%v), want %d", n, name, err, want)
		}
	}
}

func TestObservations(t *testing.T) {
	reg, m, c := full()
	now := pipeline.Snapshot{
		Up: true, Damaged: 1, Unseen: 1, Reconnects: 1, Restarts: 1, PublishFailures: 2,
		Published: 1, DroppedBefore: [pipeline.Stages]uint64{2, 3, 11}, Dropped: 12, Failed: 4, Unleased: 10, Missed: [ingest.Misses]uint64{5, 16, 7, 8, 9},
		Objects: []objects.Object{{ID: 2, Owner: objects.Detector}, {ID: 3, Owner: objects.Detector}, {ID: 4, Owner: objects.Detector, Dormant: true}, {ID: 5}},
	}
	c.Watch(func() pipeline.Snapshot { return now })
	c.Packets(100, 3, 2, time.Millisecond)
	c.Packets(10, 0, 0, 2*time.Millisecond)
	c.Decoder(codec.H264, "software", errors.New("no card")) // instead of what full says
	c.Looked(30 * time.Millisecond)
	c.Looked(50 * time.Millisecond)
	c.LookFailed()
	c.Detected("person")
	c.Detected("car")
	c.Unmarked(4)
	c.Unmarked(-1)
	c.Limited()
	c.Limited()
	c.Thumbnails(5, 4, 3)
	c.Checkpoint(1000, time.Millisecond, nil)
	c.Checkpoint(0, 0, errors.New("no room"))
	c.Extracted(&features.Scene{Width: 10, Height: 10})
	c.Extracted(&features.Scene{Width: 10, Height: 10, Area: []int32{20, 5}, N: 640})
	c.Solved(solved(tracker.Report{Unlearnt: 8}))
	m.Camera("demo").Solved(solved(tracker.Report{
		OutOfTime: true, Estimated: 2, Iterations: 20, Guaranteed: 18, Violations: 2, Lagrangian: 3, Descent: 0.5, Dual: 0.25, Carried: 0.75, Trace: [tracker.Traced]float64{9, 8, 7, 6, 5},
	}))
	compare(t, reg, `
# HELP segd_frames_total Frames by outcome: published, dropped_features and dropped_tracker (replaced by a newer one before that stage), failed, unleased (another box of a fleet might publish), lost (packets never came), undecodable, skipped_disposable, skipped_overflow and skipped_no_key (not decoded).
# TYPE segd_frames_total counter
segd_frames_total{camera="demo",outcome="published"} 1
segd_frames_total{camera="demo",outcome="dropped_features"} 2
segd_frames_total{camera="demo",outcome="dropped_tracker"} 3
segd_frames_total{camera="demo",outcome="failed"} 4
segd_frames_total{camera="demo",outcome="unleased"} 10
segd_frames_total{camera="demo",outcome="lost"} 5
segd_frames_total{camera="demo",outcome="undecodable"} 16
segd_frames_total{camera="demo",outcome="skipped_disposable"} 7
segd_frames_total{camera="demo",outcome="skipped_overflow"} 8
segd_frames_total{camera="demo",outcome="skipped_no_key"} 9
# HELP segd_frames_damaged_total Decoded frames of which a part was invented, because data was lost.
# TYPE segd_frames_damaged_total counter
segd_frames_damaged_total{camera="demo"} 1
# HELP segd_ingest_packets_total RTP packets: on_time, late (after ones behind them) and lost.
# TYPE segd_ingest_packets_total counter
segd_ingest_packets_total{camera="demo",outcome="late"} 3
segd_ingest_packets_total{camera="demo",outcome="lost"} 2
segd_ingest_packets_total{camera="demo",outcome="on_time"} 107
# HELP segd_ingest_jitter_seconds How unevenly RTP packets come, by RFC 3550.
# TYPE segd_ingest_jitter_seconds gauge
segd_ingest_jitter_seconds{camera="demo"} 0.002
# HELP segd_ingest_decode_fallbacks_total Times that software took over decoding from a device that was configured.
# TYPE segd_ingest_decode_fallbacks_total counter
segd_ingest_decode_fallbacks_total{camera="demo"} 1
# HELP segd_ingest_decoder_info Always 1; the labels say what the video is in and what decodes it.
# TYPE segd_ingest_decoder_info gauge
segd_ingest_decoder_info{camera="demo",codec="H.264",device="software"} 1
# HELP segd_ingest_reconnects_total Times the camera was lost and dialled anew.
# TYPE segd_ingest_reconnects_total counter
segd_ingest_reconnects_total{camera="demo"} 1
# HELP segd_bus_publish_failures_total Messages that could not be handed to NATS.
# TYPE segd_bus_publish_failures_total counter
segd_bus_publish_failures_total{camera="demo"} 2
# HELP segd_ingest_clock_offset_seconds The camera's clock by its RTCP sender reports minus the local clock.
# TYPE segd_ingest_clock_offset_seconds gauge
segd_ingest_clock_offset_seconds{camera="demo"} -1.5
# HELP segd_solver_guaranteed_iterations_total ADMM iterations in which the augmented Lagrangian cannot rise, as rho is large enough and the iterate before consistent.
# TYPE segd_solver_guaranteed_iterations_total counter
segd_solver_guaranteed_iterations_total{camera="demo"} 29
# HELP segd_solver_descent_violations_total ADMM iterations over which the augmented Lagrangian, at the iteration's own rho, rose.
# TYPE segd_solver_descent_violations_total counter
segd_solver_descent_violations_total{camera="demo"} 3
# HELP segd_solver_lagrangian Augmented Lagrangian at the end of the last window.
# TYPE segd_solver_lagrangian gauge
segd_solver_lagrangian{camera="demo"} 3
# HELP segd_camera_up 1 while the camera delivers frames, else 0.
# TYPE segd_camera_up gauge
segd_camera_up{camera="demo"} 1
# HELP segd_camera_restarts_total Times the camera's stages failed and were built anew.
# TYPE segd_camera_restarts_total counter
segd_camera_restarts_total{camera="demo"} 1
# HELP segd_view_frames_dropped_total Published frames that the page had no time to draw.
# TYPE segd_view_frames_dropped_total counter
segd_view_frames_dropped_total{camera="demo"} 1
# HELP segd_detector_looks_total Frames that a detector of its own looked at, or tried to.
# TYPE segd_detector_looks_total counter
segd_detector_looks_total{camera="demo"} 2
# HELP segd_detector_failures_total Of these, looks that came to nothing because something failed.
# TYPE segd_detector_failures_total counter
segd_detector_failures_total{camera="demo"} 1
# HELP segd_detections_total Things of the wanted classes that were detected in a frame, known or new, by class.
# TYPE segd_detections_total counter
segd_detections_total{camera="demo",class="car"} 1
segd_detections_total{camera="demo",class="person"} 2
# HELP segd_detections_unmarked_total Things that were detected and not marked, because there were too many objects.
# TYPE segd_detections_unmarked_total counter
segd_detections_unmarked_total{camera="demo"} 4
# HELP segd_events_limited_total Events of objects that were not told when they happened, because there were too many.
# TYPE segd_events_limited_total counter
segd_events_limited_total{camera="demo"} 2
# HELP segd_thumbnails_total Thumbnails of events by outcome: made, removed (for newer ones) and left_out (as too many waited, or something failed).
# TYPE segd_thumbnails_total counter
segd_thumbnails_total{camera="demo",outcome="left_out"} 3
segd_thumbnails_total{camera="demo",outcome="made"} 5
segd_thumbnails_total{camera="demo",outcome="removed"} 4
# HELP segd_automatic_objects Objects that were marked by the detector and that are not kept.
# TYPE segd_automatic_objects gauge
segd_automatic_objects{camera="demo"} 2
# HELP segd_labelled_objects_total Objects by what labels their superpixels in a frame: solver (the window's joint estimate), affinity (alone, in a frame that corrects objects or shows none).
# TYPE segd_labelled_objects_total counter
segd_labelled_objects_total{by="affinity",camera="demo"} 8
segd_labelled_objects_total{by="solver",camera="demo"} 2
# HELP segd_solver_budget_seconds Time the solver may take for a frame.
# TYPE segd_solver_budget_seconds gauge
segd_solver_budget_seconds 0.05
# HELP segd_solver_tolerance Primal and dual residual per score below which a window has converged.
# TYPE segd_solver_tolerance gauge
segd_solver_tolerance 0.001
# HELP segd_solver_carried_ratio Share of the last window's rows whose alpha and lambda came from the window before, 0 to 1.
# TYPE segd_solver_carried_ratio gauge
segd_solver_carried_ratio{camera="demo"} 0.75
# HELP segd_solver_lagrangian_descent How far the augmented Lagrangian fell in the last window from its warm start, relative to its size.
# TYPE segd_solver_lagrangian_descent gauge
segd_solver_lagrangian_descent{camera="demo"} 0.5
# HELP segd_solver_dual_residual Dual residual at the end of the last window.
# TYPE segd_solver_dual_residual gauge
segd_solver_dual_residual{camera="demo"} 0.25
# HELP segd_solver_windows_total Windows solved, by what ended it: converged (residuals below the tolerance and labels settled), iterations (all that are granted), time (the budget).
# TYPE segd_solver_windows_total counter
segd_solver_windows_total{camera="demo",end="converged"} 1
segd_solver_windows_total{camera="demo",end="iterations"} 0
segd_solver_windows_total{camera="demo",end="time"} 1
# HELP segd_solver_iteration_lagrangian Augmented Lagrangian of the last window after iterations 1 to 5; after its end, that at the end.
# TYPE segd_solver_iteration_lagrangian gauge
segd_solver_iteration_lagrangian{camera="demo",iteration="1"} 9
segd_solver_iteration_lagrangian{camera="demo",iteration="2"} 8
segd_solver_iteration_lagrangian{camera="demo",iteration="3"} 7
segd_solver_iteration_lagrangian{camera="demo",iteration="4"} 6
segd_solver_iteration_lagrangian{camera="demo",iteration="5"} 5
# HELP segd_bus_connected 1 while there is a connection to the NATS server, else 0.
# TYPE segd_bus_connected gauge
segd_bus_connected 1
# HELP segd_bus_reconnects_total Connections to a NATS server after the first one.
# TYPE segd_bus_reconnects_total counter
segd_bus_reconnects_total 2
# HELP segd_bus_buffered_bytes Bytes of masks and status that wait for the NATS server.
# TYPE segd_bus_buffered_bytes gauge
segd_bus_buffered_bytes 300
# HELP segd_bus_events_waiting Events that JetStream has not acknowledged yet.
# TYPE segd_bus_events_waiting gauge
segd_bus_events_waiting 4
# HELP segd_bus_events_waiting_seconds How long the oldest event that JetStream has not acknowledged has waited, 0 without one.
# TYPE segd_bus_events_waiting_seconds gauge
segd_bus_events_waiting_seconds 1.5
# HELP segd_bus_duplicates Other segd that publish a camera of this one's site and name, and are not meant to.
# TYPE segd_bus_duplicates gauge
segd_bus_duplicates 1
# HELP segd_bus_events_stored_total Events that JetStream has acknowledged.
# TYPE segd_bus_events_stored_total counter
segd_bus_events_stored_total 5
# HELP segd_bus_pictures_total Pictures of events by outcome: kept, and lost (JetStream did not take them in time).
# TYPE segd_bus_pictures_total counter
segd_bus_pictures_total{outcome="kept"} 9
segd_bus_pictures_total{outcome="lost"} 3
# HELP segd_bus_lost_total Messages that did not reach NATS, by kind (mask, event, status) and reason: buffer_full, not_connected, refused (too large or ill-named) and unconfirmed (the connection broke, a mask that was to be kept was not acknowledged, or an event was not when segd ended; they may have arrived).
# TYPE segd_bus_lost_total counter
segd_bus_lost_total{kind="event",reason="refused"} 8
segd_bus_lost_total{kind="mask",reason="buffer_full"} 6
segd_bus_lost_total{kind="mask",reason="unconfirmed"} 7
# HELP segd_page_dropped_total Pictures (frame), and events and statuses (notice), that a client of the page or the API was too slow for.
# TYPE segd_page_dropped_total counter
segd_page_dropped_total{what="frame"} 40
segd_page_dropped_total{what="notice"} 5
# HELP segd_fleet_publishing 1 while this box may publish what it runs, else 0.
# TYPE segd_fleet_publishing gauge
segd_fleet_publishing 1
# HELP segd_fleet_plan 1 on the box that evens out how full the boxes are, else 0.
# TYPE segd_fleet_plan gauge
segd_fleet_plan 0
# HELP segd_fleet_boxes Boxes that are alive, as this one knows.
# TYPE segd_fleet_boxes gauge
segd_fleet_boxes 2
# HELP segd_fleet_cameras Cameras that there are, as this box knows.
# TYPE segd_fleet_cameras gauge
segd_fleet_cameras 3
# HELP segd_fleet_cameras_unplaced Cameras that no box runs, as this one knows.
# TYPE segd_fleet_cameras_unplaced gauge
segd_fleet_cameras_unplaced 1
# HELP segd_fleet_box_cameras Cameras that this box runs.
# TYPE segd_fleet_box_cameras gauge
segd_fleet_box_cameras 2
# HELP segd_fleet_box_capacity_fps Frames a second that this box can label, at the sizes of its cameras.
# TYPE segd_fleet_box_capacity_fps gauge
segd_fleet_box_capacity_fps 40
# HELP segd_fleet_box_load_fps Frames a second that the cameras of this box send.
# TYPE segd_fleet_box_load_fps gauge
segd_fleet_box_load_fps 25
# HELP segd_fleet_box_cordoned 1 while this box takes no more cameras, else 0.
# TYPE segd_fleet_box_cordoned gauge
segd_fleet_box_cordoned 1
# HELP segd_page_viewers Live connections of the page and clients that follow events.
# TYPE segd_page_viewers gauge
segd_page_viewers 3
# HELP segd_stream_frames_dropped_total Frames that a viewer of a stream was too slow for.
# TYPE segd_stream_frames_dropped_total counter
segd_stream_frames_dropped_total 4
# HELP segd_stream_frames_encoded_total Frames that were encoded for streams, each once for all who watch the stream.
# TYPE segd_stream_frames_encoded_total counter
segd_stream_frames_encoded_total 30
# HELP segd_stream_refused_total Viewers of streams who were refused, because there are as many as http.viewers allows.
# TYPE segd_stream_refused_total counter
segd_stream_refused_total 5
# HELP segd_stream_viewers Who watches a camera's stream, by protocol: rtsp and whep.
# TYPE segd_stream_viewers gauge
segd_stream_viewers{protocol="rtsp"} 2
segd_stream_viewers{protocol="whep"} 1
# HELP segd_frame_roi_ratio Share of a frame's pixels in its regions of interest, where objects are looked for, 0 to 1.
# TYPE segd_frame_roi_ratio histogram
segd_frame_roi_ratio_bucket{camera="demo",le="0"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.02"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.05"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.1"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.15"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.2"} 1
segd_frame_roi_ratio_bucket{camera="demo",le="0.3"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="0.4"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="0.5"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="0.6"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="0.8"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="0.99"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="1"} 2
segd_frame_roi_ratio_bucket{camera="demo",le="+Inf"} 2
segd_frame_roi_ratio_sum{camera="demo"} 0.25
segd_frame_roi_ratio_count{camera="demo"} 2
# HELP segd_frame_superpixels Superpixels a frame is cut into, in its regions of interest.
# TYPE segd_frame_superpixels histogram
segd_frame_superpixels_bucket{camera="demo",le="0"} 1
segd_frame_superpixels_bucket{camera="demo",le="50"} 1
segd_frame_superpixels_bucket{camera="demo",le="100"} 1
segd_frame_superpixels_bucket{camera="demo",le="200"} 1
segd_frame_superpixels_bucket{camera="demo",le="300"} 1
segd_frame_superpixels_bucket{camera="demo",le="500"} 1
segd_frame_superpixels_bucket{camera="demo",le="750"} 2
segd_frame_superpixels_bucket{camera="demo",le="1000"} 2
segd_frame_superpixels_bucket{camera="demo",le="1500"} 2
segd_frame_superpixels_bucket{camera="demo",le="2000"} 2
segd_frame_superpixels_bucket{camera="demo",le="3000"} 2
segd_frame_superpixels_bucket{camera="demo",le="4000"} 2
segd_frame_superpixels_bucket{camera="demo",le="8000"} 2
segd_frame_superpixels_bucket{camera="demo",le="+Inf"} 2
segd_frame_superpixels_sum{camera="demo"} 640
segd_frame_superpixels_count{camera="demo"} 2
# HELP segd_webhook_delivered_total Events that the webhook's server has taken.
# TYPE segd_webhook_delivered_total counter
segd_webhook_delivered_total{webhook="door"} 20
segd_webhook_delivered_total{webhook="yard"} 0
# HELP segd_webhook_failures_total Posts that the webhook's server did not take; most are made again.
# TYPE segd_webhook_failures_total counter
segd_webhook_failures_total{webhook="door"} 3
segd_webhook_failures_total{webhook="yard"} 0
# HELP segd_webhook_lost_total Events that the webhook's server never got, by reason: queue_full (the oldest, as too many waited), expired (tried in vain for an hour) and refused (the server does not take it).
# TYPE segd_webhook_lost_total counter
segd_webhook_lost_total{reason="expired",webhook="door"} 4
segd_webhook_lost_total{reason="expired",webhook="yard"} 0
segd_webhook_lost_total{reason="queue_full",webhook="door"} 0
segd_webhook_lost_total{reason="queue_full",webhook="yard"} 5
segd_webhook_lost_total{reason="refused",webhook="door"} 0
segd_webhook_lost_total{reason="refused",webhook="yard"} 6
# HELP segd_webhook_waiting Events that wait for the webhook's server.
# TYPE segd_webhook_waiting gauge
segd_webhook_waiting{webhook="door"} 1
segd_webhook_waiting{webhook="yard"} 0
# HELP segd_solver_iterations ADMM iterations a window.
# TYPE segd_solver_iterations histogram
segd_solver_iterations_bucket{camera="demo",le="1"} 0
segd_solver_iterations_bucket{camera="demo",le="2"} 0
segd_solver_iterations_bucket{camera="demo",le="3"} 0
segd_solver_iterations_bucket{camera="demo",le="4"} 0
segd_solver_iterations_bucket{camera="demo",le="5"} 0
segd_solver_iterations_bucket{camera="demo",le="6"} 0
segd_solver_iterations_bucket{camera="demo",le="8"} 0
segd_solver_iterations_bucket{camera="demo",le="10"} 0
segd_solver_iterations_bucket{camera="demo",le="20"} 2
segd_solver_iterations_bucket{camera="demo",le="60"} 2
segd_solver_iterations_bucket{camera="demo",le="200"} 2
segd_solver_iterations_bucket{camera="demo",le="+Inf"} 2
segd_solver_iterations_sum{camera="demo"} 32
segd_solver_iterations_count{camera="demo"} 2
# HELP segd_mqtt_commands_total Commands by MQTT, by outcome: done and failed.
# TYPE segd_mqtt_commands_total counter
segd_mqtt_commands_total{outcome="done"} 6
segd_mqtt_commands_total{outcome="failed"} 7
# HELP segd_mqtt_connected 1 while there is a connection to the MQTT broker, else 0.
# TYPE segd_mqtt_connected gauge
segd_mqtt_connected 1
# HELP segd_mqtt_connections_total Connections to the MQTT broker, the first among them.
# TYPE segd_mqtt_connections_total counter
segd_mqtt_connections_total 2
# HELP segd_mqtt_lost_total Messages that did not reach the MQTT broker, by reason: queue_full (the oldest events, as too many waited), and refused (too large, or not permitted).
# TYPE segd_mqtt_lost_total counter
segd_mqtt_lost_total{reason="queue_full"} 5
segd_mqtt_lost_total{reason="refused"} 0
# HELP segd_mqtt_published_total Messages that the MQTT broker has acknowledged.
# TYPE segd_mqtt_published_total counter
segd_mqtt_published_total 400
# HELP segd_mqtt_waiting Messages that wait for the MQTT broker.
# TYPE segd_mqtt_waiting gauge
segd_mqtt_waiting 3
# HELP segd_build_info Always 1; the labels say what runs.
# TYPE segd_build_info gauge
segd_build_info{goversion="`+runtime.Version()+`",revision="abc",version="v1.2.3"} 1
# HELP segd_dnn_backend_info Always 1; the labels say what computes the features with which model.
# TYPE segd_dnn_backend_info gauge
segd_dnn_backend_info{backend="onnxruntime cpu",model="segd-p64"} 1
`, "segd_frames_total", "segd_ingest_reconnects_total", "segd_bus_publish_failures_total",
		"segd_ingest_clock_offset_seconds", "segd_solver_guaranteed_iterations_total", "segd_solver_descent_violations_total", "segd_solver_lagrangian",
		"segd_camera_up", "segd_camera_restarts_total", "segd_view_frames_dropped_total", "segd_solver_budget_seconds", "segd_solver_tolerance",
		"segd_detector_looks_total", "segd_detector_failures_total", "segd_detections_total", "segd_detections_unmarked_total", "segd_events_limited_total", "segd_thumbnails_total", "segd_automatic_objects",
		"segd_solver_dual_residual", "segd_solver_carried_ratio", "segd_solver_lagrangian_descent", "segd_solver_windows_total", "segd_labelled_objects_total", "segd_solver_iteration_lagrangian",
		"segd_bus_connected", "segd_bus_reconnects_total", "segd_bus_buffered_bytes", "segd_bus_events_waiting", "segd_bus_events_waiting_seconds",
		"segd_bus_events_stored_total", "segd_bus_pictures_total", "segd_bus_lost_total", "segd_bus_duplicates",
		"segd_mqtt_connected", "segd_mqtt_connections_total", "segd_mqtt_waiting", "segd_mqtt_published_total", "segd_mqtt_lost_total", "segd_mqtt_commands_total",
		"segd_webhook_waiting", "segd_webhook_delivered_total", "segd_webhook_failures_total", "segd_webhook_lost_total",
		"segd_page_dropped_total", "segd_page_viewers",
		"segd_fleet_publishing", "segd_fleet_plan", "segd_fleet_boxes", "segd_fleet_cameras", "segd_fleet_cameras_unplaced", "segd_fleet_box_cameras",
		"segd_fleet_box_capacity_fps", "segd_fleet_box_load_fps", "segd_fleet_box_cordoned",
		"segd_stream_viewers", "segd_stream_frames_encoded_total", "segd_stream_frames_dropped_total", "segd_stream_refused_total", "segd_frame_roi_ratio", "segd_frame_superpixels",
		"segd_solver_iterations", "segd_build_info", "segd_dnn_backend_info")
}

// Gauges of a solve end where nothing is solved any more.
func TestSolveGoesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		c := New(reg).Camera("demo")
		told := func(want int) {
			t.Helper()
			for name, each := range map[string]int{"segd_solver_carried_ratio": 1, "segd_solver_lagrangian_descent": 1, "segd_solver_iteration_lagrangian": tracker.Traced} {
				if n, err := testutil.GatherAndCount(reg, name); err != nil || n != want*each {
					t.Errorf("%d series of %s (%v), want %d", n, name, err, want*each)
				}
			}
		}
		told(0)
		c.Solved(solved(tracker.Report{OutOfTime: true}))
		told(0)
		for range 2 {
			c.Solved(solved(tracker.Report{Iterations: 3}))
			time.Sleep(solveTold)
			told(1)
			time.Sleep(time.Second)
			told(0)
		}
	})
}

// histogramOf returns the count and sum of a camera's histogram and the bounds
// of its buckets.
func histogramOf(t *testing.T, reg *prometheus.Registry, name, stage string) (count uint64, sum float64, bounds []float64) {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == name && labels["stage"] == stage {
				for _, b := range m.GetHistogram().GetBucket() {
					bounds = append(bounds, b.GetUpperBound())
				}
				return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum(), bounds
			}
		}
	}
	t.Fatalf("no %s of stage %q", name, stage)
	return
}

func TestDurations(t *testing.T) {
	reg, _, c := full()
	c.Latency(250 * time.Millisecond)
	c.Latency(-time.Hour) // the camera's clock is ahead
	for s := range pipeline.Stage(len(stages)) {
		c.Took(s, time.Duration(s+1)*time.Second)
	}
	count, sum, bounds := histogramOf(t, reg, "segd_frame_latency_seconds", "")
	if count != 2 || sum != 0.25 {
		t.Errorf("latency: %d observations, sum %v; want 2, 0.25", count, sum)
	}
	if first, last := bounds[0], bounds[len(bounds)-1]; first != 0.005 || last != 2.5 {
		t.Errorf("latency buckets from %v to %v, want 5 ms to 2.5 s", first, last)
	}
	for s := range pipeline.Stage(len(stages)) {
		if count, sum, _ := histogramOf(t, reg, "segd_stage_duration_seconds", stages[s]); count != 1 || sum != float64(s+1) {
			t.Errorf("%v: %d observations, sum %v; want 1, %d", stages[s], count, sum, s+1)
		}
	}
}

const objectHelp = `
# HELP segd_object_area_pixels Area of the object's newest mask.
# TYPE segd_object_area_pixels gauge
# HELP segd_object_state 1 for the state the object is in (visible, occluded or lost) and 0 for the others.
# TYPE segd_object_state gauge
`

func TestObjects(t *testing.T) {
	reg, _, c := full()
	both := func(want string) {
		t.Helper()
		compare(t, reg, objectHelp+want, "segd_object_area_pixels", "segd_object_state")
	}
	both(`
segd_object_area_pixels{camera="demo",label="person",object="1"} 4141
segd_object_state{camera="demo",label="person",object="1",state="lost"} 0
segd_object_state{camera="demo",label="person",object="1",state="occluded"} 0
segd_object_state{camera="demo",label="person",object="1",state="visible"} 1
`)
	var now []objects.Object
	c.Watch(func() pipeline.Snapshot { return pipeline.Snapshot{Objects: now} })
	now = objectsNow(object{1, "person", tracker.Occluded, 0}, object{12, "dog", tracker.Visible, 7})
	both(`
segd_object_area_pixels{camera="demo",label="person",object="1"} 0
segd_object_area_pixels{camera="demo",label="dog",object="12"} 7
segd_object_state{camera="demo",label="person",object="1",state="lost"} 0
segd_object_state{camera="demo",label="person",object="1",state="occluded"} 1
segd_object_state{camera="demo",label="person",object="1",state="visible"} 0
segd_object_state{camera="demo",label="dog",object="12",state="lost"} 0
segd_object_state{camera="demo",label="dog",object="12",state="occluded"} 0
segd_object_state{camera="demo",label="dog",object="12",state="visible"} 1
`)
	now = objectsNow(object{1, "cyclist", tracker.Lost, 0}) // renamed, and the other one gone
	both(`
segd_object_area_pixels{camera="demo",label="cyclist",object="1"} 0
segd_object_state{camera="demo",label="cyclist",object="1",state="lost"} 1
segd_object_state{camera="demo",label="cyclist",object="1",state="occluded"} 0
segd_object_state{camera="demo",label="cyclist",object="1",state="visible"} 0
`)
}

func TestZonesAndLines(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := New(reg).Camera("demo")
	both := func(want string) {
		t.Helper()
		compare(t, reg, `
# HELP segd_zone_objects Objects in the zone.
# TYPE segd_zone_objects gauge
# HELP segd_zone_entries_total Times an object entered the zone.
# TYPE segd_zone_entries_total counter
# HELP segd_zone_stays_total Times an object stayed in the zone for its dwell.
# TYPE segd_zone_stays_total counter
# HELP segd_line_crossings_total Times an object crossed the line, by direction: a_to_b or b_to_a.
# TYPE segd_line_crossings_total counter
`+want, "segd_zone_objects", "segd_zone_entries_total", "segd_zone_stays_total", "segd_line_crossings_total")
	}
	now := zones.Counts{Zones: []zones.ZoneCount{{Name: "yard"}}, Lines: []zones.LineCount{{Name: "street"}}}
	c.Watch(func() pipeline.Snapshot { return pipeline.Snapshot{Zones: now} })
	both(`
segd_zone_objects{camera="demo",zone="yard"} 0
segd_zone_entries_total{camera="demo",zone="yard"} 0
segd_zone_stays_total{camera="demo",zone="yard"} 0
segd_line_crossings_total{camera="demo",direction="a_to_b",line="street"} 0
segd_line_crossings_total{camera="demo",direction="b_to_a",line="street"} 0
`)
	now = zones.Counts{Zones: []zones.ZoneCount{{Name: "yard", Objects: 1, Entries: 4, Stays: 1}}, Lines: []zones.LineCount{{Name: "street", AToB: 2, BToA: 5}}}
	both(`
segd_zone_objects{camera="demo",zone="yard"} 1
segd_zone_entries_total{camera="demo",zone="yard"} 4
segd_zone_stays_total{camera="demo",zone="yard"} 1
segd_line_crossings_total{camera="demo",direction="a_to_b",line="street"} 2
segd_line_crossings_total{camera="demo",direction="b_to_a",line="street"} 5
`)

	// What is gone has no series.
	now = zones.Counts{Zones: []zones.ZoneCount{{Name: "porch", Entries: 7}}}
	both(`
segd_zone_objects{camera="demo",zone="porch"} 0
segd_zone_entries_total{camera="demo",zone="porch"} 7
segd_zone_stays_total{camera="demo",zone="porch"} 0
`)
}

// seriesOf counts the series with camera="name".
func seriesOf(t *testing.T, reg *prometheus.Registry, name string) int {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	n := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "camera" && l.GetValue() == name {
					n++
				}
			}
		}
	}
	return n
}

func TestRemoveCamera(t *testing.T) {
	reg, m, c := full()
	other := m.Camera("yard")
	other.Watch(func() pipeline.Snapshot {
		return pipeline.Snapshot{Objects: objectsNow(object{1, "car", tracker.Visible, 1})}
	})
	before := seriesOf(t, reg, "yard")
	m.Remove("demo")
	m.Remove("nobody")
	use := func(c *Camera) { // the pipeline may not have stopped yet
		c.Watch(func() pipeline.Snapshot {
			return pipeline.Snapshot{Up: true, Objects: objectsNow(object{1, "person", tracker.Visible, 1})}
		})
		c.Latency(time.Second)
		c.Took(pipeline.StageTrack, time.Second)
		c.Solved(tracker.Solve{Report: tracker.Report{Iterations: 1}, SolveTime: time.Second})
		c.ClockOffset(time.Second)
		c.Packets(1, 1, 1, time.Millisecond)
		c.Held(time.Millisecond)
		c.Decoder(codec.H264, "software", errors.New("no card"))
		c.Looked(time.Millisecond)
		c.LookFailed()
		c.Detected("person")
		c.Unmarked(1)
		c.Limited()
		c.Thumbnails(1, 1, 1)
		c.Checkpoint(1, time.Millisecond, nil)
		c.Checkpoint(0, 0, errors.New("no room"))
	}
	use(c)
	assert.Equal(t, 0, seriesOf(t, reg, "demo"), "series are left")
	if n := seriesOf(t, reg, "yard"); n != before || n == 0 {
		t.Errorf("the other camera has %d series, had %d", n, before)
	}
	again := m.Camera("demo")
	if again == c {
		t.Error("Camera returns the removed one")
	}
	if s := again.status(); s.Up || s.Reconnects != 0 || len(s.Objects) != 0 {
		t.Errorf("a camera of the same name begins with %+v", s)
	}
}

func TestRegisterers(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector())
	New(reg) // takes the runtime's metrics as they are
	defer func() {
		if recover() == nil {
			t.Error("a second New with the same registry does not panic")
		}
	}()
	New(reg)
}

func TestBuildDefaults(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.Build("v2", "")
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "segd_build_info" {
			continue
		}
		require.Equal(t, 1, len(f.GetMetric()), "series")
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetValue() == "" || (l.GetName() == "version" && l.GetValue() != "v2") {
				t.Errorf("%s=%q", l.GetName(), l.GetValue())
			}
		}
		return
	}
	t.Fatal("no segd_build_info")
}

// For the race detector: everything at once.
func TestConcurrentUse(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 100 {
				c := m.Camera("demo")
				c.Watch(func() pipeline.Snapshot {
					return pipeline.Snapshot{Restarts: 1, Objects: objectsNow(object{uint32(j % 3), "x", tracker.Visible, j})}
				})
				c.Solved(solved(tracker.Report{Iterations: j}))
				c.ClockOffset(time.Second)
				if i == 0 && j%10 == 0 {
					m.Remove("demo")
				}
				if i == 1 && j%10 == 0 {
					_, err := reg.Gather()
					assert.NoError(t, err)
				}
			}
		})
	}
	wg.Wait()
	m.Remove("demo")
	assert.Equal(t, 0, seriesOf(t, reg, "demo"), "series are left")
}

func TestObservingAllocatesNothing(t *testing.T) {
	_, _, c := full()
	n := testing.AllocsPerRun(100, func() {
		c.Latency(time.Second)
		c.Took(pipeline.StageFeatures, time.Second)
		c.Solved(tracker.Solve{SolveTime: time.Second})
	})
	if n != 0 {
		t.Errorf("a frame's observations allocate %v times, want 0", n)
	}
}

// What becomes of requests is counted, and the counts are there before the first.
func TestCommands(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.CommandPanicked(NATS)
	m.CommandPanicked(NATS)
	m.CommandRefused("too_often")
	err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP segd_command_panics_total Commands that panicked, by transport: nats or http.
# TYPE segd_command_panics_total counter
segd_command_panics_total{transport="http"} 0
segd_command_panics_total{transport="nats"} 2
# HELP segd_command_refused_total Requests over NATS that were refused, by reason: no_request (not answered), too_large or too_often.
# TYPE segd_command_refused_total counter
segd_command_refused_total{reason="no_request"} 0
segd_command_refused_total{reason="too_large"} 0
segd_command_refused_total{reason="too_often"} 1
`), "segd_command_panics_total", "segd_command_refused_total")
	assert.NoError(t, err)
}
