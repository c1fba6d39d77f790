package eval

import (
	"math"
	"slices"
)

// fill writes what a run gives by itself.
func (s *DavisSequence) fill(run *following) {
	last := len(run.j) - 1
	s.Frames = last - 1
	s.J, s.F = mean(run.j[1:last]), mean(run.f[1:last])
	s.JDecay, s.FDecay = decay(run.j[1:last]), decay(run.f[1:last])
	s.Instability = mean(run.excess[1:last])
	s.StageMS, s.MSPerFrame = run.stageMS, run.stageMS.total()
}

// compare writes what the disturbance d did.
func (s *DavisSequence) compare(run, plain *following, d disturbance) {
	last := len(plain.j) - 1
	undisturbed := mean(plain.j[1:last])
	drop := undisturbed - s.J
	s.JUndisturbed, s.JDrop = &undisturbed, &drop
	p, ok := d.(*patch)
	if !ok {
		return
	}
	var shares []float64
	for i := p.covered(); i < p.covered()+coverFrames; i++ {
		if run.truth[i] > 0 {
			shares = append(shares, float64(run.area[i])/float64(run.truth[i]))
		}
	}
	if len(shares) > 0 {
		s.FalseWhileCovered = new(median(shares))
	}
	from, to := p.gone(), p.gone()+afterFrames
	after, plainly := mean(run.j[from:to]), mean(plain.j[from:to])
	s.JAfter, s.JAfterUndisturbed = &after, &plainly
	if plainly > 0 {
		s.JAfterRatio = new(after / plainly)
	}
}

// sum writes the means and medians over the sequences.
func (r *DavisReport) sum() {
	all := func(get func(*DavisSequence) *float64) (out []float64) {
		for i := range r.Sequences {
			if v := get(&r.Sequences[i]); v != nil {
				out = append(out, *v)
			}
		}
		return out
	}
	of := func(f func([]float64) float64, get func(*DavisSequence) *float64) *float64 {
		v := all(get)
		if len(v) == 0 {
			return nil
		}
		return new(f(v))
	}
	r.MeanJ = mean(all(func(s *DavisSequence) *float64 { return &s.J }))
	r.MeanF = mean(all(func(s *DavisSequence) *float64 { return &s.F }))
	r.MeanJDecay = mean(all(func(s *DavisSequence) *float64 { return &s.JDecay }))
	r.MeanFDecay = mean(all(func(s *DavisSequence) *float64 { return &s.FDecay }))
	r.MeanInstability = mean(all(func(s *DavisSequence) *float64 { return &s.Instability }))
	r.MeanMSPerFrame = mean(all(func(s *DavisSequence) *float64 { return &s.MSPerFrame }))
	for _, s := range r.Sequences {
		r.MeanStageMS.add(s.StageMS, 1/float64(len(r.Sequences)))
	}
	r.MeanJUndisturbed = of(mean, func(s *DavisSequence) *float64 { return s.JUndisturbed })
	r.MeanJDrop = of(mean, func(s *DavisSequence) *float64 { return s.JDrop })
	r.MedianFalseWhileCovered = of(median, func(s *DavisSequence) *float64 { return s.FalseWhileCovered })
	ratio := func(s *DavisSequence) *float64 { return s.JAfterRatio }
	r.MeanJAfterRatio, r.MedianJAfterRatio = of(mean, ratio), of(median, ratio)
}

// decay is DAVIS-2016's: the values are cut into four bins, of which neighbours
// share a frame, and the mean of the last is taken from that of the first.
func decay(v []float64) float64 {
	const bins = 4
	cut := func(k int) int { // 0-based; halves are rounded up
		return int(math.Floor(1+float64(k)*float64(len(v)-1)/bins+0.5+1e-10)) - 1
	}
	return mean(v[:cut(1)+1]) - mean(v[cut(bins-1):])
}

// mean is 0 of nothing.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / math.Max(1, float64(len(v)))
}

// median is the middle value, or the mean of the middle two; 0 of nothing.
func median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
