package pipeline

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/tracker"
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

	Objects []ObjectSnapshot // by rising id
}

// ObjectSnapshot is one object in the newest frame.
type ObjectSnapshot struct {
	ID            uint32
	Label         string
	State         tracker.State
	Area          int    // pixels
	VisibleFrames uint64 // published frames it was visible in
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

// published counts a frame on the bus with the objects in it.
func (s *stats) published(now time.Time, latency time.Duration, objects []tracker.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snap.Published++
	s.out.add(now)
	s.samples.add(now, latency)
	s.whole.add(latency)
	s.last = now
	seen := make(map[uint32]uint64, len(s.snap.Objects))
	for _, o := range s.snap.Objects {
		seen[o.ID] = o.VisibleFrames
	}
	s.snap.Objects = s.snap.Objects[:0]
	for _, o := range objects {
		frames := seen[o.ID]
		if o.State == tracker.Visible {
			frames++
		}
		s.snap.Objects = append(s.snap.Objects, ObjectSnapshot{
			ID: o.ID, Label: o.Label, State: o.State, Area: o.Area, VisibleFrames: frames,
		})
	}
}

func (s *stats) snapshot(now time.Time) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.snap
	snap.Objects = slices.Clone(s.snap.Objects)
	slices.SortFunc(snap.Objects, func(a, b ObjectSnapshot) int { return int(a.ID) - int(b.ID) })
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

// window holds the newest latencies.
type window struct {
	at      [1024]time.Time // ring; at 60 fps it reaches 17 s back
	latency [1024]time.Duration
	count   int
	scratch []time.Duration
}

func (w *window) add(now time.Time, latency time.Duration) {
	i := w.count % len(w.at)
	w.at[i], w.latency[i] = now, latency
	w.count++
}

func (w *window) percentiles(now time.Time) Percentiles {
	w.scratch = w.scratch[:0]
	for i := range min(w.count, len(w.at)) {
		if now.Sub(w.at[i]) <= recent {
			w.scratch = append(w.scratch, w.latency[i])
		}
	}
	slices.Sort(w.scratch)
	at := func(p float64) time.Duration {
		if len(w.scratch) == 0 {
			return 0
		}
		return w.scratch[rank(p, len(w.scratch))-1]
	}
	return Percentiles{at(0.50), at(0.95), at(0.99)}
}

// rank is the 1-based nearest rank of quantile p among n samples.
func rank(p float64, n int) int {
	return min(n, max(1, int(math.Ceil(p*float64(n)))))
}

// The histogram's buckets grow by 2 % from 0.1 ms, so a percentile is known to
// within that; the last one holds all beyond 5 minutes.
const (
	bucketLeast  = 100 * time.Microsecond
	bucketGrowth = 1.02
	buckets      = 760
)

// histogram counts durations for ever in constant memory.
type histogram struct {
	counts [buckets]uint64
	n      uint64
}

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > bucketLeast {
		i = int(math.Log(float64(d)/float64(bucketLeast)) / math.Log(bucketGrowth))
	}
	h.counts[min(i, buckets-1)]++
	h.n++
}

func (h *histogram) percentiles() Percentiles {
	return Percentiles{h.quantile(0.50), h.quantile(0.95), h.quantile(0.99)}
}

// quantile returns the middle of the bucket that holds it.
func (h *histogram) quantile(p float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	need := uint64(max(1, math.Ceil(p*float64(h.n))))
	for i, c := range h.counts {
		if c >= need {
			return time.Duration(float64(bucketLeast) * math.Pow(bucketGrowth, float64(i)+0.5))
		}
		need -= c
	}
	return 0
}
