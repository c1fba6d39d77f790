// Package rolling counts frames and how long they took, in constant memory: over the last seconds, and for ever. Its
// values are for one goroutine at a time.
package rolling

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// recent is how far back "over the last seconds" reaches.
const recent = 5 * time.Second

// Percentiles of a duration; all 0 without samples.
type Percentiles struct {
	P50, P95, P99 time.Duration
}

// Rate counts events by the second over the last few seconds.
type Rate struct {
	first  time.Time
	counts [int(recent/time.Second) + 1]int // ring, by second since first
	second int                              // newest second counted or passed
}

// Add counts an event.
func (r *Rate) Add(now time.Time) {
	if r.first.IsZero() {
		r.first = now
	}
	r.advance(now)
	r.counts[r.second%len(r.counts)]++
}

func (r *Rate) advance(now time.Time) {
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

// PerSecond averages over the last whole seconds, or over what there is before
// the first one has passed.
func (r *Rate) PerSecond(now time.Time) float64 {
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

// Histogram counts durations for ever in constant memory.
type Histogram struct {
	h *hdrhistogram.Histogram // nil before the first
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	if h.h == nil {
		h.h = hdrhistogram.New(1, int64(latencyMost/latencyUnit), latencyDigits)
	}
	count(h.h, d)
}

// Percentiles are those of all that was counted.
func (h *Histogram) Percentiles() Percentiles {
	if h.h == nil {
		return Percentiles{}
	}
	return percentilesOf(h.h)
}

// Window counts durations by the second, and forgets them after the last few seconds.
type Window struct {
	h      *hdrhistogram.WindowedHistogram // nil before the first
	first  time.Time
	second int // since first; the one that is counted
}

// windowSeconds is recent, and the second that has not passed yet.
const windowSeconds = int(recent/time.Second) + 1

// Add counts a latency now.
func (w *Window) Add(now time.Time, latency time.Duration) {
	if w.h == nil {
		w.h = hdrhistogram.NewWindowed(windowSeconds, 1, int64(latencyMost/latencyUnit), latencyDigits)
		w.first = now
	}
	w.advance(now)
	count(w.h.Current, latency)
}

func (w *Window) advance(now time.Time) {
	second := int(now.Sub(w.first) / time.Second)
	for range min(second-w.second, windowSeconds) {
		w.h.Rotate()
	}
	w.second = max(w.second, second)
}

// Percentiles are those of the last seconds.
func (w *Window) Percentiles(now time.Time) Percentiles {
	if w.h == nil {
		return Percentiles{}
	}
	w.advance(now)
	return percentilesOf(w.h.Merge())
}
