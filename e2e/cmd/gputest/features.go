package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/segd/segd/features"
)

// featureReport is how a way fared with the clip's frames. Differences are the largest of all frames: that of a value,
// and the norm of the difference for the norm.
type featureReport struct {
	Way string `json:"way"`
	// Engine is its version and Library what it was loaded from.
	Engine  string `json:"engine_version"`
	Library string `json:"library,omitempty"`
	// Largest and Relative are of frames one at a time from what OpenCV makes of them on the processor, Batched
	// is the relative one of frames among others from those.
	Largest  float64 `json:"largest_difference"`
	Relative float64 `json:"relative_difference"`
	Batched  float64 `json:"batched_relative_difference"`
	MS       float64 `json:"ms_per_frame"` // one at a time, the median
	// What follows is of 8 goroutines and batches of 8.
	ImagesPerSecond float64 `json:"images_per_second"`
	ImagesPerRun    float64 `json:"images_per_run"`
	Unbatched       string  `json:"unbatched,omitempty"` // why there are no batches
	Failures        uint64  `json:"device_failures"`
}

const (
	featurePictures = 8
	// timedRounds is how often each picture is timed.
	timedRounds = 3
	// askers ask for a picture each at once, in batches of so many at most.
	askers = 8
	// throughputTime is how long it is counted what they get.
	throughputTime = 5 * time.Second
	// leastPerRun is how many images a run has at least, with that many asking.
	leastPerRun = 2
)

// difference is how far maps are apart.
type difference struct{ largest, relative float64 }

// wider is the larger of each.
func (d difference) wider(o difference) difference {
	return difference{max(d.largest, o.largest), max(d.relative, o.relative)}
}

// differenceOf compares maps with those that are wanted. Maps of other shapes, and values that are no numbers, are an
// error.
func differenceOf(want, got []features.Map) (d difference, err error) {
	if len(got) != len(want) {
		return d, fmt.Errorf("%d maps; want %d", len(got), len(want))
	}
	var apart, norm float64
	for i := range want {
		w, g := &want[i], &got[i]
		if g.Channels != w.Channels || g.Height != w.Height || g.Width != w.Width || len(g.Data) != len(w.Data) {
			return d, fmt.Errorf("map %d is %d×%d×%d with %d values; want %d×%d×%d with %d", i,
				g.Height, g.Width, g.Channels, len(g.Data), w.Height, w.Width, w.Channels, len(w.Data))
		}
		for k, v := range w.Data {
			by := float64(g.Data[k]) - float64(v)
			apart, norm = apart+by*by, norm+float64(v)*float64(v)
			d.largest = max(d.largest, math.Abs(by))
		}
	}
	d.relative = math.Sqrt(apart / norm)
	if math.IsNaN(d.relative) || math.IsInf(d.relative, 0) {
		return d, fmt.Errorf("the norm of the difference is %g, that wanted is %g; want numbers, and the latter above 0", math.Sqrt(apart), math.Sqrt(norm))
	}
	return d, nil
}

// measureFeatures is done by a child.
func measureFeatures(ctx context.Context, q request) (*featureReport, error) {
	pictures, err := readPictures(q.Clip, featurePictures)
	if err != nil {
		return nil, err
	}
	want, err := referenceMaps(q, pictures)
	if err != nil {
		return nil, err
	}
	r := &featureReport{Way: q.Way.Name}
	alone, err := measureAlone(ctx, q, pictures, want, r)
	if err != nil {
		return nil, err
	}
	if err := measureBatches(ctx, q, pictures, alone, r); err != nil {
		return nil, fmt.Errorf("in batches: %w", err)
	}
	return r, nil
}

// referenceMaps are what OpenCV makes of pictures on the processor.
func referenceMaps(q request, pictures []picture) (maps [][]features.Map, err error) {
	m, err := q.open(ways[0], 1, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, p := range pictures {
		made, err := m.Features(features.Sight{}, p.bgr, p.width, p.height, features.View{})
		if err != nil {
			return nil, err
		}
		maps = append(maps, made.Maps)
	}
	return maps, nil
}

// measureAlone computes pictures one at a time, and returns what was made of them.
func measureAlone(ctx context.Context, q request, pictures []picture, want [][]features.Map, r *featureReport) (maps [][]features.Map, err error) {
	m, err := q.open(q.Way, 1, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, e := range m.Info().Engines {
		if e.Name == q.Way.Engine && e.Device == q.Way.Device {
			r.Engine, r.Library = e.Version, e.Library
		}
	}
	var apart difference
	for i, p := range pictures {
		made, err := m.Features(features.Sight{}, p.bgr, p.width, p.height, features.View{})
		if err != nil {
			return nil, err
		}
		d, err := differenceOf(want[i], made.Maps)
		if err != nil {
			return nil, fmt.Errorf("picture %d: %w", i, err)
		}
		apart, maps = apart.wider(d), append(maps, made.Maps)
	}
	r.Largest, r.Relative = apart.largest, apart.relative
	var took []float64
	var made features.Sight
	for range timedRounds {
		for _, p := range pictures {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			begin := time.Now()
			if made, err = m.Features(made, p.bgr, p.width, p.height, features.View{}); err != nil {
				return nil, err
			}
			took = append(took, 1e3*time.Since(begin).Seconds())
		}
	}
	slices.Sort(took)
	r.MS = took[len(took)/2]
	r.Failures += m.Status().Failures
	return maps, nil
}

// measureBatches has several ask at once, first for what becomes of each picture among others, then for how many
// it are.
func measureBatches(ctx context.Context, q request, pictures []picture, want [][]features.Map, r *featureReport) (err error) {
	m, err := q.open(q.Way, askers, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, e := range m.Info().Engines {
		if e.Name == q.Way.Engine && e.Device == q.Way.Device {
			r.Unbatched = e.Unbatched
		}
	}
	var mu sync.Mutex
	var apart difference
	err = together(askers, func(i int) error {
		var made features.Sight
		for round := range len(pictures) {
			at := (i + round) % len(pictures)
			p := pictures[at]
			var err error
			if made, err = m.Features(made, p.bgr, p.width, p.height, features.View{}); err != nil {
				return err
			}
			d, err := differenceOf(want[at], made.Maps)
			if err != nil {
				return fmt.Errorf("picture %d: %w", at, err)
			}
			mu.Lock()
			apart = apart.wider(d)
			mu.Unlock()
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if work := m.Status().Work[q.Way.Device]; r.Unbatched == "" && work.Runs >= work.Images {
		return fmt.Errorf("%d images took %d runs while %d were wanted at once; want fewer runs", work.Images, work.Runs, askers)
	}
	r.Batched = apart.relative
	before, begin := m.Status().Work[q.Way.Device], time.Now()
	err = together(askers, func(i int) error {
		var made features.Sight
		for k := i; time.Since(begin) < throughputTime; k++ {
			p := pictures[k%len(pictures)]
			var err error
			if made, err = m.Features(made, p.bgr, p.width, p.height, features.View{}); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	s := m.Status()
	images, runs := s.Work[q.Way.Device].Images-before.Images, s.Work[q.Way.Device].Runs-before.Runs
	r.ImagesPerSecond, r.ImagesPerRun = float64(images)/took, float64(images)/float64(max(1, runs))
	r.Failures += s.Failures
	return nil
}

// together has so many goroutines do something, each with its number, and waits for all.
func together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() { errs[i] = do(i) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// faults are what is wrong with how a way fared.
func (r *featureReport) faults(w way) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if !(r.Relative <= w.mostApart()) {
		fault("what it makes differs from what OpenCV makes on the processor by %.2g of its norm; want %g at most", r.Relative, w.mostApart())
	}
	if !(r.Batched <= w.mostApart()) {
		fault("what it makes of a frame among others differs from what it makes of it alone by %.2g of its norm; want %g at most", r.Batched, w.mostApart())
	}
	switch {
	case r.Unbatched != "":
		fault("it computes one image at a time: %s; want batches", r.Unbatched)
	case !(r.ImagesPerRun >= leastPerRun):
		fault("%.2f images in a run while %d are wanted at once; want %d or more", r.ImagesPerRun, askers, leastPerRun)
	}
	if r.Failures > 0 {
		fault("the card failed %d times; want none", r.Failures)
	}
	return faults
}

func tellFeatures(w io.Writer, rows []*featureReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "features\tlargest difference\trelative\tin batches\tms/frame\timages/s\timages/run\tversion\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%.2g\t%.2g\t%.2g\t%.1f\t%.1f\t%.2f\t%s\n", r.Way, r.Largest, r.Relative, r.Batched, r.MS, r.ImagesPerSecond, r.ImagesPerRun, r.Engine)
	}
	return t.Flush()
}
