package rolling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The histogram's percentiles must lie within 1 %, or its unit, of the sorted samples'.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name string
		draw func() time.Duration
		n    int
	}{
		{"one sample", func() time.Duration { return 42 * time.Millisecond }, 1},
		{"uniform", func() time.Duration { return time.Duration(rng.Int64N(int64(200*time.Millisecond))) + time.Millisecond }, 1000},
		{"long tail", func() time.Duration { return time.Duration(float64(20*time.Millisecond) * math.Exp(rng.NormFloat64())) }, 10000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h Histogram
			samples := make([]time.Duration, tt.n)
			for i := range samples {
				samples[i] = tt.draw()
				h.Add(samples[i])
			}
			slices.Sort(samples)
			got := h.Percentiles()
			for _, q := range []struct {
				p    float64
				have time.Duration
			}{{0.5, got.P50}, {0.95, got.P95}, {0.99, got.P99}} {
				want := samples[int(math.Ceil(q.p*float64(len(samples))))-1]
				if off := (q.have - want).Abs(); off > max(want/100, 100*time.Microsecond) {
					t.Errorf("p%v is %v, sorted samples say %v", 100*q.p, q.have, want)
				}
			}
		})
	}
}

func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if h.Percentiles() != (Percentiles{}) {
		t.Error("percentiles without samples are not zero")
	}
	h.Add(-time.Second) // a camera's clock can run ahead
	h.Add(24 * time.Hour)
	if p := h.Percentiles(); p.P50 > time.Millisecond || p.P99 < 4*time.Minute {
		t.Errorf("got %+v", p)
	}
}

func TestRate(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := []struct {
		name  string
		fps   float64
		from  time.Duration // of the events
		until time.Duration
		at    time.Duration // when asked
		want  float64
	}{
		{"steady", 10, 0, 20 * time.Second, 20 * time.Second, 10},
		{"just begun", 10, 0, 2500 * time.Millisecond, 2500 * time.Millisecond, 10},
		{"stopped long ago", 10, 0, 20 * time.Second, time.Minute, 0},
		{"slow", 1, 0, 20 * time.Second, 20*time.Second - time.Millisecond, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Rate
			for d := tt.from; d < tt.until; d += time.Duration(float64(time.Second) / tt.fps) {
				r.Add(start.Add(d))
			}
			if got := r.PerSecond(start.Add(tt.at)); math.Abs(got-tt.want) > 0.1*tt.want+0.01 {
				t.Errorf("got %v fps, want %v", got, tt.want)
			}
		})
	}
	assert.EqualValues(t, 0, (&Rate{}).PerSecond(start), "a rate without events is not 0")
}

// The window forgets what is older than the last seconds, whole seconds at a time.
func TestWindow(t *testing.T) {
	var w Window
	start := time.Unix(1000, 0)
	if p := w.Percentiles(start); p != (Percentiles{}) {
		t.Errorf("before the first: %+v", p)
	}
	for i := range 3000 {
		w.Add(start.Add(time.Duration(i)*10*time.Millisecond), time.Duration(i)*time.Millisecond)
	}
	near := func(got, want time.Duration) bool { return (got - want).Abs() <= want/100 }
	// Samples 2500 to 2999 are no older than five seconds.
	end := start.Add(30 * time.Second)
	if p := w.Percentiles(end); !near(p.P50, 2749*time.Millisecond) || !near(p.P95, 2974*time.Millisecond) || !near(p.P99, 2994*time.Millisecond) {
		t.Errorf("got %+v", p)
	}
	// Of the last two of those seconds.
	if p := w.Percentiles(end.Add(3 * time.Second)); !near(p.P50, 2899*time.Millisecond) {
		t.Errorf("three seconds later: %+v", p)
	}
	if p := w.Percentiles(end.Add(time.Hour)); p != (Percentiles{}) {
		t.Errorf("an hour later: %+v", p)
	}
	w.Add(end.Add(time.Hour), 7*time.Millisecond)
	if p := w.Percentiles(end.Add(time.Hour)); p != (Percentiles{7 * time.Millisecond, 7 * time.Millisecond, 7 * time.Millisecond}) {
		t.Errorf("one sample: %+v", p)
	}
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { w.Add(end.Add(time.Hour), time.Second) }), "allocations a frame")
}
