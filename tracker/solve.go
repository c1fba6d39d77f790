package tracker

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// annotatedIter is how many iterations an annotated frame gets: it is rare, and
// the classifier starts from nothing.
const annotatedIter = 200

// solve labels f, the newest frame, by the tracker's mode and leaves the labels
// in f.y and f.soft.
func (t *Tracker) solve(ctx context.Context, f *frame, annotated bool, out *Solve) error {
	if annotated || t.cfg.Mode == Joint || t.cfg.Mode == NoTemporal {
		if err := t.joint(ctx, f, annotated, out); err != nil {
			return err
		}
	}
	var estimated []int32
	if annotated {
		estimated = slices.Clone(f.y)
	}
	if err := t.decide(ctx, f); err != nil {
		return err
	}
	if annotated {
		f.keepBegun(estimated, t.labels())
		f.keepMarked()
	}
	f.harden(t.labels())
	return nil
}

// keepBegun gives f the labels that were estimated together with a new classifier, but
// for the objects that an annotation of f says nothing of: they are where they were
// going to be, however much else is like them.
func (f *frame) keepBegun(estimated []int32, labels int) {
	begun := func(l int32) bool { return l == 0 || slices.Contains(f.marked, l) || slices.Contains(f.bounded, l) }
	for i, y := range estimated {
		switch decided := f.y[i]; {
		case begun(decided) && begun(y):
			f.y[i] = y
		case !begun(decided) && f.q[i*labels+int(decided)] == 0:
			f.y[i] = 0
		}
	}
}

// keepMarked gives the background what was labelled as an annotated object but
// hangs together with none of its marks: who marks an object marks all its
// pieces.
func (f *frame) keepMarked() {
	var next adjacency
	next.build(f.n, f.edges)
	kept := make([]bool, f.n)
	var open []int32
	for i, fixed := range f.fixed {
		if fixed > 0 {
			kept[i] = true
			open = append(open, int32(i))
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, j := range next.of(i) {
			if !kept[j] && f.y[j] == f.y[i] {
				kept[j] = true
				open = append(open, j)
			}
		}
	}
	for i, y := range f.y {
		if !kept[i] && slices.Contains(f.marked, y) {
			f.y[i] = 0
		}
	}
}

// harden makes the soft label of every superpixel that no annotation marked its
// label.
func (f *frame) harden(labels int) {
	for i, y := range f.y {
		if f.fixed[i] == annotation.Unmarked {
			row := f.soft[i*labels : (i+1)*labels]
			clear(row)
			row[y] = 1
		}
	}
}

// joint runs DC-ADMM over the window with f as its newest frame. The labels of
// all its frames are free but for annotations; the classifier is left in
// t.weight.
func (t *Tracker) joint(ctx context.Context, f *frame, annotated bool, out *Solve) error {
	frames := append(t.kept(), f)
	labels := t.labels()
	t.balance(frames)
	t.enter(f)
	if !annotated && t.cfg.Mode == Joint && !slices.ContainsFunc(t.objects, func(o object) bool { return o.state == Visible }) {
		return nil // nothing in sight to learn from: the classifier stays what it was
	}
	t.gather(frames)

	opt := solver.Options{MaxIter: t.cfg.MaxIter, Rho: t.cfg.Rho, Tau: t.cfg.Tau, Observe: out.observe}
	if annotated {
		opt.MaxIter = annotatedIter
	} else if t.cfg.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.cfg.Budget)
		defer cancel()
	}
	res, err := solver.Solve(ctx, &t.ws, &solver.Problem{
		Labels: labels, Loss: loss.Hinge{}, Kernel: &t.kernel, MRF: &t.window,
		Omega: t.omega, Unary: t.unary, Nu: t.cfg.Nu,
	}, &t.state, opt)
	if err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	t.scatter(frames)
	t.alpha = grow(t.alpha, len(t.state.Lambda))
	t.state.Alpha(t.alpha, t.cfg.Nu)
	t.kernel.Weights(t.weight, t.alpha, labels)
	out.fill(res, len(t.state.Y))
	return nil
}

// enter warm starts the newest frame: its scores under the last classifier and a
// subgradient of their loss, so that the frame joins the window without moving
// the classifier. The newest frame's weights are the last of ω.
func (t *Tracker) enter(f *frame) {
	labels, d := t.labels(), t.projection.Dim()+1
	for len(t.weight) < labels*d { // objects it does not know yet
		t.weight = append(t.weight, 0)
	}
	for i := range f.n {
		t.score(f.scores[i*labels:(i+1)*labels], f, i)
	}
	loss.Hinge{}.Gradient(f.lambda, f.scores, t.omega[len(t.omega)-f.n:], f.y, labels)
}

// score writes superpixel i's score for every label under the classifier.
func (t *Tracker) score(dst []float64, f *frame, i int) {
	d := t.projection.Dim() + 1
	for l := range dst {
		sum := 0.0
		for k, v := range f.rows[i*d : (i+1)*d] {
			sum += v * t.weight[l*d+k]
		}
		dst[l] = sum
	}
}

func (s *Solve) observe(it solver.Iteration) {
	for i := it.Index; i < Traced; i++ {
		s.Trace[i] = it.Lagrangian
	}
}

func (s *Solve) fill(res solver.Result, samples int) {
	s.Iterations, s.Start, s.Lagrangian = res.Iterations, res.Start, res.Last.Lagrangian
	s.Primal, s.Dual, s.Flips = res.Last.Primal, res.Last.Dual, res.Flips
	s.Violations, s.Guaranteed = res.Violations, res.Guaranteed
	s.Converged, s.OutOfTime = res.Status == solver.Converged, res.Status == solver.Interrupted
	if size := math.Abs(res.Start); size > 0 && !math.IsInf(size, 1) {
		s.Descent = (res.Start - res.Last.Lagrangian) / size
	}
	if res.Iterations > 0 {
		s.FlipRatio = float64(res.Flips) / float64(samples*res.Iterations)
	}
}

// gather writes the window's problem: kernel blocks, warm start, unaries and the
// graph.
func (t *Tracker) gather(frames []*frame) {
	labels := t.labels()
	t.blocks, t.edges, t.unary = t.blocks[:0], t.edges[:0], t.unary[:0]
	t.state.Scores, t.state.Lambda, t.state.Y = t.state.Scores[:0], t.state.Lambda[:0], t.state.Y[:0]
	for _, f := range frames {
		first := int32(len(t.state.Y))
		t.blocks = append(t.blocks, &f.block)
		t.state.Scores = append(t.state.Scores, f.scores...)
		t.state.Lambda = append(t.state.Lambda, f.lambda...)
		t.state.Y = append(t.state.Y, f.y...)
		for _, e := range f.edges {
			t.edges = append(t.edges, mrf.Edge{I: first + e.I, J: first + e.J, W: e.W})
		}
		t.unary = f.appendUnary(t.unary, labels)
	}
	for i := range t.unary {
		t.unary[i] *= t.cfg.Evidence * t.omega[i/labels]
	}
	t.kernel.Reset(t.blocks, t.cfg.Gamma)
	t.window.Reset(len(t.state.Y), labels, t.edges)
}

func (t *Tracker) scatter(frames []*frame) {
	row, labels := 0, t.labels()
	for _, f := range frames {
		copy(f.scores, t.state.Scores[row*labels:])
		copy(f.lambda, t.state.Lambda[row*labels:])
		copy(f.y, t.state.Y[row:row+f.n])
		row += f.n
	}
}

// appendUnary appends f's n×labels discrete energies: 1 − q, and +Inf for what an
// annotation rules out.
func (f *frame) appendUnary(dst []float64, labels int) []float64 {
	for i := range f.n {
		for l := range labels {
			u := 1 - f.q[i*labels+l]
			if f.forbids(i, l) {
				u = math.Inf(1)
			}
			dst = append(dst, u)
		}
	}
	return dst
}

// forbids tells whether an annotation of f rules label l out for superpixel i.
func (f *frame) forbids(i, l int) bool {
	switch fixed := f.fixed[i]; fixed {
	case annotation.Unmarked, annotation.Outside:
		return f.isOutside(i, l)
	default:
		return int(fixed) != l
	}
}

// balance sets the training weights ω, mean 1: a rare label's samples count more
// (by the power Balance of how rare it is), samples the affinity cannot place
// count less, and unmarked samples of a frame with no other evidence count as
// those do.
func (t *Tracker) balance(frames []*frame) {
	labels := t.labels()
	count := make([]float64, labels)
	n := 0.0
	for _, f := range frames {
		for _, y := range f.y {
			count[y]++
		}
		n += float64(f.n)
	}
	rarity := count
	for l, c := range count {
		rarity[l] = math.Pow(n/(float64(labels)*math.Max(1, c)), t.cfg.Balance)
	}
	t.omega = t.omega[:0]
	sum := 0.0
	for _, f := range frames {
		for i := range f.n {
			w := 1.0
			if f.fixed[i] == annotation.Unmarked {
				w = 1 - (1-t.cfg.Ambiguous)*uncertainty(f.q[i*labels:(i+1)*labels])
			}
			w *= rarity[f.y[i]]
			t.omega = append(t.omega, w)
			sum += w
		}
	}
	for i := range t.omega {
		t.omega[i] *= n / sum
	}
}

// decide labels the newest frame by a cut: affinity where it is sure, the
// classifier where it is not, and smoothness.
func (t *Tracker) decide(ctx context.Context, f *frame) error {
	labels := t.labels()
	t.unary = t.unary[:0]
	if t.cfg.Mode == Frozen { // q is the classifier's word
		t.unary = grow(t.unary, f.n*labels)
		clear(t.unary)
	} else {
		t.unary = f.appendUnary(t.unary, labels)
	}
	if t.cfg.Mode != Affinity {
		for i := range f.n {
			w := 1.0
			if t.cfg.Mode != Frozen {
				w = t.cfg.Classifier * uncertainty(f.q[i*labels:(i+1)*labels])
				if f.unlearnt[i] {
					w = 0
				}
			}
			t.addClassifier(t.unary[i*labels:(i+1)*labels], f, i, w)
			if t.cfg.Mode == Frozen {
				for l, score := range t.scores {
					f.q[i*labels+l] = math.Max(0, math.Min(1, (1+score)/2))
				}
			}
		}
	}
	t.newest.Reset(f.n, labels, f.edges)
	if err := t.newest.Label(ctx, f.y, t.unary); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	return nil
}

// scoreLimit bounds the classifier's scores: beyond it a superpixel is as sure as
// one can be.
const scoreLimit = 2.0

// addClassifier adds weight × the one-vs-all hinge of superpixel i's scores to u,
// scaled so that two labels with scores ±1 differ by 2·weight.
func (t *Tracker) addClassifier(u []float64, f *frame, i int, weight float64) {
	t.scores = grow(t.scores, len(u))
	t.score(t.scores, f, i)
	for l, score := range t.scores {
		score = math.Max(-scoreLimit, math.Min(scoreLimit, score))
		pos, neg := math.Max(0, 1-score), math.Max(0, 1+score)
		for c := range u {
			if c == l {
				u[c] += weight / 2 * pos
			} else {
				u[c] += weight / 2 * neg
			}
		}
	}
}
