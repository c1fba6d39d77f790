package window

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/belief"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Config tunes a Window.
type Config struct {
	Classifier float64 // weight of the classifier where the affinity knows nothing
	Evidence   float64 // weight of the affinity against the loss in training
	Balance    float64 // exponent of the class weights
	Ambiguous  float64 // training weight of a superpixel the affinity cannot place
	Marked     float64 // training weight of an earlier annotated frame's superpixels
	Nu         float64 // ν
	Gamma      float64 // γ
	Rho        float64 // ρ; the Lagrangian cannot rise if it is 2ν/γ at least
	MaxIter    int     // DC-ADMM iterations a frame

	Budget time.Duration // solving time a frame; 0 = no limit but MaxIter
}

// A frame that defines an object is rare, and the classifier starts from nothing: it gets
// more iterations, and a stiffer classifier with less slack for each superpixel, or a box
// loses what its search found (mean J .68 for .70, segd eval scribbles). Where descent is
// guaranteed, ρ = 2ν/γ at least, is as many times as far up.
const (
	annotatedIter  = 200
	annotatedNu    = 2.5  // times ν
	annotatedGamma = 0.25 // times γ
)

// Window is the classifier, and the workspace of those who estimate and use it. It must
// not be copied once it was used.
type Window struct {
	Config

	weight []float64 // classifier W, L×(d+1); objects it does not know yet lack their rows

	ws      solver.Workspace
	problem solver.Problem
	kernel  kernel.Linear
	graphs  mrf.Disjoint // of all frames
	state   solver.State
	offset  []float64 // N×L of all frames, their scores under the last classifier
	unary   []float64
	omega   []float64 // weights ω of all samples
	rarity  []float64 // L
	blocks  []*kernel.Block
	step    []float64 // Xᵀα, by which the classifier moves
	scores  []float64 // L, of one superpixel
	workers int       // goroutines that the next solve may use; 0: GOMAXPROCS
	report  Report
	observe func(solver.Iteration) // writes report's trace
}

// SetWorkers bounds the goroutines of the next solves; 0, as at first, is GOMAXPROCS. The results
// are the same, to the bit.
func (w *Window) SetWorkers(n int) { w.workers = n }

// Weights is the classifier, a row of Dim weights and that of picture.Bias for each label that
// it knows, for reading until the next call.
func (w *Window) Weights() []float64 { return w.weight }

// Learn takes over another window's classifier.
func (w *Window) Learn(other *Window) { w.weight = slices.Clone(other.weight) }

// Drop takes a label's row out of the classifier, whose rows have d features.
func (w *Window) Drop(label, d int) {
	if row := d + 1; len(w.weight) >= (label+1)*row {
		w.weight = slices.Delete(w.weight, label*row, (label+1)*row)
	}
}

// Guess writes the labels that the last classifier has for f to y, or none if there is
// no classifier.
func (w *Window) Guess(f *Frame, y []int32, labels int) {
	known := min(labels, len(w.weight)/(f.p.Dim+1))
	if known == 0 {
		return
	}
	w.scores = scratch.Grow(w.scores, known)
	for i := range y {
		w.score(w.scores, f, i)
		y[i] = labeling.Argmax(w.scores)
	}
}

// Estimate runs DC-ADMM over the frames, of which the last is the newest. The labels of
// all are free but for annotations; those of the newest start as y, and are left there.
// With learn false nothing is solved, because there is nothing to learn from. annotated
// is whether the newest frame defines an object: then the classifier starts from nothing
// and takes its time.
func (w *Window) Estimate(ctx context.Context, frames []*Frame, y []int32, labels int, annotated, learn bool) (Report, error) {
	f := frames[len(frames)-1]
	f.Keep(y)
	for len(w.weight) < labels*(f.p.Dim+1) { // objects it does not know yet
		w.weight = append(w.weight, 0)
	}
	if !learn {
		return Report{}, nil
	}
	w.balance(frames, labels)
	nu, gamma, rho := w.Nu, w.Gamma, w.Rho
	if annotated {
		clear(w.weight)
		nu, gamma, rho = nu*annotatedNu, gamma*annotatedGamma, rho*annotatedNu/annotatedGamma
	}
	w.gather(frames, labels, gamma)
	if w.observe == nil {
		w.observe = w.trace
	}
	w.report = Report{}
	opt := solver.Options{MaxIter: w.MaxIter, Rho: rho, Tau: 1, Consistent: true, Observe: w.observe, Workers: w.workers}
	if annotated {
		opt.MaxIter = annotatedIter
	} else if w.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Budget)
		defer cancel()
	}
	w.problem = solver.Problem{
		Labels: labels, Loss: loss.Hinge{}, Kernel: &w.kernel, MRF: &w.graphs,
		Omega: w.omega, Unary: w.unary, Offset: w.offset, Nu: nu,
	}
	res, err := solver.Solve(ctx, &w.ws, &w.problem, &w.state, opt)
	if err != nil {
		return Report{}, fmt.Errorf("window: %w", err)
	}
	w.scatter(frames)
	copy(y, f.y)
	if res.Iterations > 0 {
		w.move(labels)
	}
	w.report.sum(res, len(w.state.Y))
	return w.report, nil
}

// move adds Xᵀα of the solved window to the classifier.
func (w *Window) move(labels int) {
	w.step = scratch.Grow(w.step, len(w.weight))
	w.kernel.SolvedWeights(w.step, labels)
	for i, v := range w.step {
		w.weight[i] += v
	}
}

// score writes superpixel i's score for every label under the classifier.
func (w *Window) score(dst []float64, f *Frame, i int) {
	d := f.p.Dim + 1
	row := f.p.Rows[i*d : (i+1)*d]
	for l := range dst {
		sum, weight := 0.0, w.weight[l*d:(l+1)*d]
		for k, v := range row {
			sum += float64(v) * weight[k]
		}
		dst[l] = sum
	}
}

// gather writes the window's problem: kernel blocks, unaries and the graph; and its
// start, the last classifier: α = 0, so λ = 0 and the scores are XW.
func (w *Window) gather(frames []*Frame, labels int, gamma float64) {
	w.blocks, w.graphs, w.unary, w.state.Y = w.blocks[:0], w.graphs[:0], w.unary[:0], w.state.Y[:0]
	for _, f := range frames {
		w.blocks, w.graphs = append(w.blocks, &f.block), append(w.graphs, f.potts(labels))
		w.state.Y = append(w.state.Y, f.y...)
		w.unary = f.appendUnary(w.unary, labels)
	}
	for i, u := range w.unary {
		if !math.IsInf(u, 1) { // what is ruled out stays so, however little the rest weighs
			w.unary[i] = u * w.Evidence * w.omega[i/labels]
		}
	}
	w.kernel.SetWorkers(w.workers)
	w.kernel.Reset(w.blocks, gamma)
	w.offset = scratch.Grow(w.offset, len(w.unary))
	w.kernel.Scores(w.offset, w.weight, labels)
	w.state.Scores = append(w.state.Scores[:0], w.offset...)
	w.state.Lambda = scratch.Zero(w.state.Lambda, len(w.unary))
}

// scatter takes each frame's labels of the solution.
func (w *Window) scatter(frames []*Frame) {
	row := 0
	for _, f := range frames {
		row += copy(f.y, w.state.Y[row:])
	}
}

// balance sets the training weights ω, mean 1: a rare label's samples count more
// (by the power Balance of how rare it is), those that nobody marked less as the affinity
// cannot place them, and all of an earlier annotated frame Marked times. Not those of the
// newest: of a box only what is outside is marked, which must not outweigh what is inside.
func (w *Window) balance(frames []*Frame, labels int) {
	w.rarity = scratch.Zero(w.rarity, labels) // counts first
	n := 0.0
	for _, f := range frames {
		for _, y := range f.y {
			w.rarity[y]++
		}
		n += float64(f.p.N)
	}
	for l, c := range w.rarity {
		w.rarity[l] = math.Pow(n/(float64(labels)*math.Max(1, c)), w.Balance)
	}
	w.omega = w.omega[:0]
	sum := 0.0
	for k, f := range frames {
		frame := 1.0
		if k < len(frames)-1 && f.Marks.Any() {
			frame = w.Marked
		}
		for i := range f.p.N {
			omega := frame
			if f.Marks.Free(i) {
				omega *= 1 - (1-w.Ambiguous)*belief.Uncertainty(f.Belief.Q[i*labels:(i+1)*labels])
			}
			omega *= w.rarity[f.y[i]]
			w.omega = append(w.omega, omega)
			sum += omega
		}
	}
	for i := range w.omega {
		w.omega[i] *= n / sum
	}
}

// Decide labels f, the newest frame, by a cut, starting at y: affinity where it is sure,
// the classifier where it is not, and smoothness. Without the classifier it is left out.
func (w *Window) Decide(ctx context.Context, f *Frame, y []int32, labels int, classifier bool) error {
	w.unary = f.appendUnary(w.unary[:0], labels)
	for i := 0; i < f.p.N && classifier; i++ {
		weight := w.Classifier * belief.Uncertainty(f.Belief.Q[i*labels:(i+1)*labels])
		if f.Belief.Unlearnt[i] {
			weight = 0
		}
		w.addClassifier(w.unary[i*labels:(i+1)*labels], f, i, weight)
	}
	return w.cut(ctx, f, y, labels)
}

// DecideAlone is Decide by the classifier and smoothness alone. What the classifier says
// becomes f's belief.
func (w *Window) DecideAlone(ctx context.Context, f *Frame, y []int32, labels int) error {
	w.unary = scratch.Zero(w.unary, f.p.N*labels)
	for i := range f.p.N {
		w.addClassifier(w.unary[i*labels:(i+1)*labels], f, i, 1)
		f.Belief.Score(i, w.scores)
	}
	return w.cut(ctx, f, y, labels)
}

func (w *Window) cut(ctx context.Context, f *Frame, y []int32, labels int) error {
	if err := f.potts(labels).Label(ctx, y, w.unary); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	return nil
}

// scoreLimit bounds the classifier's scores: beyond it a superpixel is as sure as
// one can be.
const scoreLimit = 2.0

// addClassifier adds weight × the one-vs-all hinge of superpixel i's scores to u,
// scaled so that two labels with scores ±1 differ by 2·weight. It leaves the scores in
// w.scores.
func (w *Window) addClassifier(u []float64, f *Frame, i int, weight float64) {
	w.scores = scratch.Grow(w.scores, len(u))
	var shown []float64
	if len(f.Belief.Shown) > 0 {
		shown = f.Belief.Shown[i*len(u):][:len(u)]
	}
	w.score(w.scores, f, i)
	for l, score := range w.scores {
		score = math.Max(-scoreLimit, math.Min(scoreLimit, score))
		if len(shown) > 0 {
			score = shown[l]*(score+scoreLimit) - scoreLimit
		}
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
