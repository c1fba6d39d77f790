package davis

import (
	"math"

	"github.com/segd/segd/eval/internal/stats"
)

// fill writes what a run gives by itself.
func (s *Sequence) fill(run *following) {
	last := len(run.j) - 1
	s.Frames = last - 1
	s.J, s.F = stats.Mean(run.j[1:last]), stats.Mean(run.f[1:last])
	s.JDecay, s.FDecay = decay(run.j[1:last]), decay(run.f[1:last])
	s.Instability = stats.Mean(run.excess[1:last])
	s.StageMS, s.MSPerFrame = run.stageMS, run.stageMS.Total()
}

// compare writes what the disturbance d did.
func (s *Sequence) compare(run, plain *following, d disturbance) {
	last := len(plain.j) - 1
	undisturbed := stats.Mean(plain.j[1:last])
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
		s.FalseWhileCovered = new(stats.Median(shares))
	}
	from, to := p.gone(), p.gone()+afterFrames
	after, plainly := stats.Mean(run.j[from:to]), stats.Mean(plain.j[from:to])
	s.JAfter, s.JAfterUndisturbed = &after, &plainly
	if plainly > 0 {
		s.JAfterRatio = new(after / plainly)
	}
}

// sum writes the means and medians over the sequences.
func (r *Report) sum() {
	all := func(get func(*Sequence) *float64) (out []float64) {
		for i := range r.Sequences {
			if v := get(&r.Sequences[i]); v != nil {
				out = append(out, *v)
			}
		}
		return out
	}
	of := func(f func([]float64) float64, get func(*Sequence) *float64) *float64 {
		v := all(get)
		if len(v) == 0 {
			return nil
		}
		return new(f(v))
	}
	r.MeanJ = stats.Mean(all(func(s *Sequence) *float64 { return &s.J }))
	r.MeanF = stats.Mean(all(func(s *Sequence) *float64 { return &s.F }))
	r.MeanJDecay = stats.Mean(all(func(s *Sequence) *float64 { return &s.JDecay }))
	r.MeanFDecay = stats.Mean(all(func(s *Sequence) *float64 { return &s.FDecay }))
	r.MeanInstability = stats.Mean(all(func(s *Sequence) *float64 { return &s.Instability }))
	r.MeanMSPerFrame = stats.Mean(all(func(s *Sequence) *float64 { return &s.MSPerFrame }))
	for _, s := range r.Sequences {
		r.MeanStageMS.Add(s.StageMS, 1/float64(len(r.Sequences)))
	}
	r.MeanJUndisturbed = of(stats.Mean, func(s *Sequence) *float64 { return s.JUndisturbed })
	r.MeanJDrop = of(stats.Mean, func(s *Sequence) *float64 { return s.JDrop })
	r.MedianFalseWhileCovered = of(stats.Median, func(s *Sequence) *float64 { return s.FalseWhileCovered })
	ratio := func(s *Sequence) *float64 { return s.JAfterRatio }
	r.MeanJAfterRatio, r.MedianJAfterRatio = of(stats.Mean, ratio), of(stats.Median, ratio)
}

// decay is DAVIS-2016's: the values are cut into four bins, of which neighbours
// share a frame, and the mean of the last is taken from that of the first.
func decay(v []float64) float64 {
	const bins = 4
	cut := func(k int) int { // 0-based; halves are rounded up
		return int(math.Floor(1+float64(k)*float64(len(v)-1)/bins+0.5+1e-10)) - 1
	}
	return stats.Mean(v[:cut(1)+1]) - stats.Mean(v[cut(bins-1):])
}
