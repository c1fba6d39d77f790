package davis

import (
	"math"

	"github.com/segd/segd/lab/internal/stats"
)

// fill writes what a run gives by itself.
func (s *Sequence) fill(run *following) {
	last := len(run.j) - 1
	s.Frames = float64(last - 1)
	s.J, s.F = run.Mean()
	s.JDecay, s.FDecay = decay(run.j[1:last]), decay(run.f[1:last])
	s.Instability = stats.Mean(run.excess[1:last])
	s.False = falseOf(run.false[1:last], run.seen[1:last])
	s.CameraMotion = run.motion
	s.StageMS, s.MSPerFrame = run.stageMS, run.stageMS.Total()
}

// rightJ is the J from which on a mask is taken to be of its object.
const rightJ = 0.5

// rate takes in how reliable the scores of the masks are.
func (run *following) rate(r *stats.Reliability) {
	last := len(run.j) - 1
	for i := 1; i < last; i++ {
		if run.area[i] > 0 {
			r.Add(run.score[i], run.j[i] >= rightJ)
		}
	}
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

// figures lists those that are means over repeats.
func (s *Sequence) figures() []*float64 {
	return []*float64{&s.Frames, &s.J, &s.F, &s.CameraMotion, &s.MSPerFrame, &s.JDecay, &s.FDecay, &s.Instability, &s.False.Outline, &s.False.Near, &s.False.Far}
}

// optional lists those that can be null.
func (s *Sequence) optional() []**float64 {
	return []**float64{&s.Scale, &s.Others, &s.JUndisturbed, &s.JDrop, &s.FalseWhileCovered, &s.JAfter, &s.JAfterUndisturbed, &s.JAfterRatio}
}

// meanOf is the mean over the rows of the repeats of one sequence. What is null in
// some of them is the mean over the others.
func meanOf(rows []Sequence) Sequence {
	out := Sequence{Name: rows[0].Name}
	values := make([]float64, 0, len(rows))
	for k, v := range out.figures() {
		values = values[:0]
		for i := range rows {
			values = append(values, *rows[i].figures()[k])
		}
		*v = stats.Mean(values)
	}
	for k, v := range out.optional() {
		values = values[:0]
		for i := range rows {
			if p := *rows[i].optional()[k]; p != nil {
				values = append(values, *p)
			}
		}
		if len(values) > 0 {
			*v = new(stats.Mean(values))
		}
	}
	for _, r := range rows {
		out.StageMS.Add(r.StageMS, 1/float64(len(rows)))
	}
	return out
}

// sum writes the rows of the sequences from those of their repeats, or of the single
// runs if n is 0, and the means and medians over them.
func (r *Report) sum(repeats [][]Sequence, n int) {
	for _, rows := range repeats {
		if n == 0 {
			r.Sequences = append(r.Sequences, rows[0])
			continue
		}
		row := meanOf(rows)
		j := make([]float64, n)
		for i := range rows {
			j[i] = rows[i].J
		}
		row.JSD = new(stats.Deviation(j))
		r.Sequences = append(r.Sequences, row)
	}
	for i := range r.Sequences {
		r.Sequences[i].stands()
	}
	r.Standing, r.Moving = r.byCamera(standing), r.byCamera(moving)
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
	if n > 0 {
		means := make([]float64, n) // over the sequences, of each repeat
		for i := range means {
			for _, rows := range repeats {
				means[i] += rows[i].J / float64(len(repeats))
			}
		}
		r.Repeat = &Repeat{N: n, MeanJ: r.MeanJ, SDJ: stats.Deviation(means)}
	}
	r.MeanF = stats.Mean(all(func(s *Sequence) *float64 { return &s.F }))
	r.MeanJDecay = stats.Mean(all(func(s *Sequence) *float64 { return &s.JDecay }))
	r.MeanFDecay = stats.Mean(all(func(s *Sequence) *float64 { return &s.FDecay }))
	r.MeanInstability = stats.Mean(all(func(s *Sequence) *float64 { return &s.Instability }))
	r.MeanFalse = False{
		Outline: stats.Mean(all(func(s *Sequence) *float64 { return &s.False.Outline })),
		Near:    stats.Mean(all(func(s *Sequence) *float64 { return &s.False.Near })),
		Far:     stats.Mean(all(func(s *Sequence) *float64 { return &s.False.Far })),
	}
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
