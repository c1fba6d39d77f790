package pipeline

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/zones"
)

// recent is how far back "over the last seconds" reaches.
const recent = 5 * time.Second

// Percentiles of a duration; all 0 without samples.
type Percentiles struct {
	P50, P95, P99 time.Duration
}

// Snapshot is how a camera does at one moment.
type Snapshot struct {
	Camera string
	Up     bool
	// Reason says why it is not up, and Since when; empty and zero before the
	// first word from the source, and while up.
	Reason string
	Since  time.Time
	// While down: how often the source was dialled since, and when it is again. 0 and
	// zero for one that nobody dials.
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
	in, out rate
	samples window
	whole   histogram
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
	s.in.add(now)
	if s.first.IsZero() {
		s.first = now
	}
}

// published counts a frame on the bus.
func (s *stats) published(now time.Time, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snap.Published++
	s.out.add(now)
	s.samples.add(now, latency)
	s.whole.add(latency)
	s.last = now
}

func (s *stats) snapshot(now time.Time) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.snap
	snap.FPSIn, snap.FPSOut = s.in.perSecond(now), s.out.perSecond(now)
	snap.Recent, snap.Latency = s.samples.percentiles(now), s.whole.percentiles()
	if s.last.After(s.first) {
		snap.Span = s.last.Sub(s.first)
	}
	return snap
}

// rate counts events by the second over the last few seconds.
type rate struct {
	first  time.Time
	counts [int(recent/time.Second) + 1]int // ring, by second since first
	second int                              // newest second counted or passed
}

func (r *rate) add(now time.Time) {
	if r.first.IsZero() {
		r.first = now
	}
	r.advance(now)
	r.counts[r.second%len(r.counts)]++
}

func (r *rate) advance(now time.Time) {
	second := int(now.Sub(r.first) / time.Second)
	if second-r.second >= len(r.counts) {
		clear(r.counts[:])
		r.second = second
	}
	for r.second < second {
		r.second++
		r.counts[r.second%len(r.counts)] = 0
	}
}

// perSecond averages over the last whole seconds, or over what there is before
// the first one has passed.
func (r *rate) perSecond(now time.Time) float64 {
	if r.first.IsZero() {
		return 0
	}
	r.advance(now)
	sum := 0
	for _, n := range r.counts {
		sum += n
	}
	partial := now.Sub(r.first) - time.Duration(r.second)*time.Second
	span := partial + time.Duration(min(r.second, len(r.counts)-1))*time.Second
	// A rate over less than a second says little but is not more than was counted.
	return float64(sum) / max(1, span.Seconds())
}

// Latencies are counted in tenths of a millisecond up to five minutes, which what is
// longer counts as; a percentile is known to within 1 %, or that unit.
const (
	latencyUnit   = 100 * time.Microsecond
	latencyMost   = 5 * time.Minute
	latencyDigits = 2
)

// count counts d. A camera's clock can run ahead, so it may be negative.
func count(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 0), latencyMost).Round(latencyUnit) / latencyUnit)) // in range
}

func percentilesOf(h *hdrhistogram.Histogram) Percentiles {
	at := func(p float64) time.Duration { return time.Duration(h.ValueAtPercentile(p)) * latencyUnit }
	return Percentiles{at(50), at(95), at(99)}
}

// histogram counts durations for ever in constant memory.
type histogram struct {
	h *hdrhistogram.Histogram // nil before the first
}

func (h *histogram) add(d time.Duration) {
	if h.h == nil {
		h.h = hdrhistogram.New(1, int64(latencyMost/latencyUnit), latencyDigits)
	}
	count(h.h, d)
}

func (h *histogram) percentiles() Percentiles {
	if h.h == nil {
		return Percentiles{}
	}
	return percentilesOf(h.h)
}

// window counts durations by the second, and forgets them after the last few seconds.
type window struct {
	h      *hdrhistogram.WindowedHistogram // nil before the first
	first  time.Time
	second int // since first; the one that is counted
}

// windowSeconds is recent, and the second that has not passed yet.
const windowSeconds = int(recent/time.Second) + 1

func (w *window) add(now time.Time, latency time.Duration) {
	if w.h == nil {
		w.h = hdrhistogram.NewWindowed(windowSeconds, 1, int64(latencyMost/latencyUnit), latencyDigits)
		w.first = now
	}
	w.advance(now)
	count(w.h.Current, latency)
}

func (w *window) advance(now time.Time) {
	second := int(now.Sub(w.first) / time.Second)
	for range min(second-w.second, windowSeconds) {
		w.h.Rotate()
	}
	w.second = max(w.second, second)
}

func (w *window) percentiles(now time.Time) Percentiles {
	if w.h == nil {
		return Percentiles{}
	}
	w.advance(now)
	return percentilesOf(w.h.Merge())
}
