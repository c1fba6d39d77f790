package pipeline

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/internal/message"
	"github.com/segd/segd/pipeline/internal/rolling"
)

// Percentiles of a duration; all 0 without samples.
type Percentiles = rolling.Percentiles

// Snapshot is how a camera does at one moment.
type Snapshot struct {
	Camera string
	Up     bool
	// Reason says why it is not up, and Since when; empty and zero before the
	// first word from the source, and while up.
	Reason string
	Since  time.Time
	// While down: how often the source was dialled since, and when it is again. 0 and
	// zero for one that is not dialled.
	Attempts    uint32
	NextAttempt time.Time

	// Frames since Run began. Those neither published, dropped nor failed are on
	// their way.
	In, Published, Dropped, Failed uint64
	// Unleased counts Dropped that another box of a fleet might publish.
	Unleased uint64
	// DroppedBefore counts Dropped by the stage whose mailbox was full.
	DroppedBefore [Stages]uint64
	// Unseen counts published frames that the viewer's stage had no time for.
	Unseen uint64
	// Reconnects of the source, Restarts of the stages, PublishFailures of the bus.
	Reconnects, Restarts, PublishFailures uint64
	// Missed counts access units that gave no frame, by why.
	Missed [ingest.Misses]uint64
	// Deinterlaced: the newest picture was.
	Deinterlaced bool
	// Damaged counts frames of which the decoder had to invent a part.
	Damaged uint64

	// Per second over the last seconds.
	FPSIn, FPSOut float64
	// From capture to publish; Recent over the last seconds, Latency since Run began.
	Recent, Latency Percentiles
	// Between the first frame in and the last one published.
	Span time.Duration

	Objects []objects.Object // by rising id; not to be changed

	Zones zones.Counts // since Run began, or they were set; not to be changed
}

// Stage numbers a camera's stages in the order frames pass them.
type Stage int

// The stages that have a mailbox in front.
const (
	StageFeatures Stage = iota
	StageTrack
	StageView
	Stages = iota
)

// String is the stage's name in logs and metrics.
func (s Stage) String() string {
	return [Stages]string{"features", "track", "view"}[s]
}

// stats counts; it is shared by the stages of one camera.
type stats struct {
	mu      sync.Mutex
	snap    Snapshot // the counts; the derived fields stay zero
	in, out rolling.Rate
	samples rolling.Window
	whole   rolling.Histogram
	first   time.Time // first frame in
	last    time.Time // last frame published
}

func (s *stats) with(f func(*Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.snap)
}

// down says why the camera is down; empty while it is up.
func (s *stats) down() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.snap.Up && s.snap.Reason == "" {
		return "no frame has come yet"
	}
	return s.snap.Reason
}

func (s *stats) frameIn(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snap.In++
	s.in.Add(now)
	if s.first.IsZero() {
		s.first = now
	}
}

// published counts a frame on the bus.
func (s *stats) published(now time.Time, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snap.Published++
	s.out.Add(now)
	s.samples.Add(now, latency)
	s.whole.Add(latency)
	s.last = now
}

func (s *stats) snapshot(now time.Time) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.snap
	snap.FPSIn, snap.FPSOut = s.in.PerSecond(now), s.out.PerSecond(now)
	snap.Recent, snap.Latency = s.samples.Percentiles(now), s.whole.Percentiles()
	if s.last.After(s.first) {
		snap.Span = s.last.Sub(s.first)
	}
	return snap
}

// status is the once-a-second message of a camera that does as snap says.
func status(site string, snap Snapshot, now time.Time) *segdv1.Status {
	st := &segdv1.Status{
		Site: site, Camera: snap.Camera,
		Time: timestamppb.New(now),
		Up:   snap.Up, Error: snap.Reason,
		FpsIn: snap.FPSIn, FpsOut: snap.FPSOut,
		FramesIn: snap.In, FramesDropped: snap.Dropped + snap.Failed, FramesPublished: snap.Published,
		DroppedBeforeFeatures: snap.DroppedBefore[StageFeatures], DroppedBeforeTracking: snap.DroppedBefore[StageTrack],
		FramesFailed: snap.Failed, FramesUnseen: snap.Unseen, Missed: make(map[string]uint64),
		Reconnects: snap.Reconnects, Attempts: snap.Attempts, Deinterlaced: snap.Deinterlaced,
		LatencyP50Seconds: snap.Recent.P50.Seconds(), LatencyP95Seconds: snap.Recent.P95.Seconds(),
	}
	if !snap.Since.IsZero() {
		st.DownSince = timestamppb.New(snap.Since)
	}
	for why, n := range snap.Missed {
		if n > 0 {
			st.Missed[ingest.Miss(why).String()] = n
		}
	}
	if !snap.NextAttempt.IsZero() {
		st.NextAttempt = timestamppb.New(snap.NextAttempt)
	}
	for _, o := range snap.Objects {
		st.Objects = append(st.Objects, &segdv1.ObjectStatus{
			Id: o.ID, Label: o.Label, State: message.State(o.State), Area: int32(o.Area),
		})
	}
	for _, z := range snap.Zones.Zones {
		st.Zones = append(st.Zones, &segdv1.ZoneStatus{Name: z.Name, Objects: int32(z.Objects), Entries: z.Entries, Stays: z.Stays})
	}
	for _, l := range snap.Zones.Lines {
		st.Lines = append(st.Lines, &segdv1.LineStatus{Name: l.Name, AToB: l.AToB, BToA: l.BToA})
	}
	return st
}
