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
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Config tunes a Window.
type Config struct {
	Nu      float64       // ν
	Rho     float64       // ρ; the Lagrangian cannot rise if it is 2ν/γ at least
	MaxIter int           // DC-ADMM iterations a frame, at most
	Budget  time.Duration // solving time a frame; 0 = no limit but MaxIter

	FixedLabels bool // the labels of the frames stay as they are: DC-ADMM without its discrete step
	Memoryless  bool // nothing is learnt from the windows before: W₀ = 0
	Cold        bool // the same problem, but DC-ADMM starts from zero scores, α = λ = 0
}

// fixed are graphs whose labels stay as they are.
type fixed struct{ mrf.Disjoint }

func (fixed) Label(context.Context, []int32, []float64) error { return nil }

// Tolerance is the residual, per score, below which a window has converged: a thousandth of the margin.
const Tolerance = 1e-3

// Gamma is γ, a superpixel's slack.
const Gamma = 4.0

const (
	tau         = Gamma / 2 // τ, how far the classifier may move from a window to the next; more takes more iterations
	relax       = 1.9       // over-relaxation, in [1, 2)
	rarityPower = 0.6       // exponent of the class weights
	ambiguous   = 0.1       // training weight of a superpixel the affinity cannot place
	marked      = 3         // training weight of an earlier annotated frame's superpixels
)

// delta is δ: labels that lower the Lagrangian by less are not worth another iteration. A variable, so that a test can
// do without.
var delta = 1.0

// ridge is ε of the metric: the classifier hardly moves in directions that the rows of a window have less of than that.
const ridge = 8

// A frame that defines an object is rare, and the classifier starts from nothing: it gets
// more iterations, and a stiffer classifier with less slack for each superpixel, or a box
// loses what its search found (mean J .68 for .70, segd eval scribbles). Where descent is
// guaranteed, ρ = 2ν/γ at least, is as many times as far up.
const (
	annotatedIter  = 60
	annotatedNu    = 2.5  // times ν
	annotatedGamma = 0.25 // times γ
)

// Window is the classifier, and the workspace of those who estimate and use it. It must
// not be copied once it was used.
type Window struct {
	Config

	// The classifier: L×(d+1), of the objects, and of what is around each of them; the background has none of its
	// own. Objects that it does not know yet lack their rows.
	weight, around []float64

	// Of the object that is estimated or labelled, with n samples.
	parts   []*part
	ws      solver.Workspace
	problem solver.Problem
	kernel  kernel.Linear
	graphs  mrf.Disjoint
	state   solver.State
	own     []float64 // 2×(d+1): its classifier
	alpha   []float64 // n×2, at the start
	step    []float64 // M⁻¹Xᵀα, by which that moves
	q       []float64 // n×2
	blocks  []*kernel.Block
	offset  []float64 // n×2: the scores under the last classifier
	unary   []float64 // n×2
	omega   []float64 // n weights ω
	rarity  []float64 // L
	y       []int32   // of one frame
	before  []int32

	solves  uint64 // windows that were solved; a part tells by it whether it was in the last one
	workers int    // goroutines that the next solve may use; 0: GOMAXPROCS
	report  Report
	budget  budget
	trace   trace
	observe func(solver.Iteration) // trace.add
}

// budget is a context that is over at a time, too, for the solver, which asks Err now and then. Its Done is that of the
// context alone: context.WithTimeout makes a timer and more for each frame.
type budget struct {
	context.Context
	end time.Time
}

func (b *budget) Err() error {
	if err := b.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(b.end) {
		return context.DeadlineExceeded
	}
	return nil
}

// SetWorkers bounds the goroutines of the next solves; 0, as at first, is GOMAXPROCS. The results
// are the same, to the bit.
func (w *Window) SetWorkers(n int) { w.workers = n }

// Weights is the classifier, a row of Dim weights and that of picture.Bias for each label that
// it knows, all 0 for the background, for reading until the next call.
func (w *Window) Weights() []float64 { return w.weight }

// Learn takes over another window's classifier.
func (w *Window) Learn(other *Window) {
	w.weight, w.around = slices.Clone(other.weight), slices.Clone(other.around)
}

// Drop takes a label's rows out of the classifier, whose rows have d features.
func (w *Window) Drop(label, d int) {
	if from, to := label*(d+1), (label+1)*(d+1); len(w.weight) >= to {
		w.weight, w.around = slices.Delete(w.weight, from, to), slices.Delete(w.around, from, to)
	}
}

// Estimate runs DC-ADMM over the frames, of which the last is the newest. The labels of
// all are free but for annotations; those of the newest start as y, and are left there.
// With learn false nothing is solved, because there is nothing to learn from. defined are the labels
// of objects that the newest frame defines, if any: the classifiers of these start from nothing and take their time; the others stay
// as they are.
func (w *Window) Estimate(ctx context.Context, frames []*Frame, y []int32, labels int, defined []int32, learn bool) (Report, error) {
	f := frames[len(frames)-1]
	f.Keep(y)
	for len(w.weight) < labels*(f.p.Dim+1) { // objects it does not know yet
		w.weight, w.around = append(w.weight, 0), append(w.around, 0)
	}
	if !learn {
		return Report{Unlearnt: labels - 1}, nil
	}
	nu, gamma, annotated := w.Nu, Gamma, len(defined) > 0
	if w.observe == nil {
		w.observe = w.trace.add
	}
	w.trace.reset()
	w.report = Report{Converged: true}
	opt := solver.Options{
		MaxIter: w.MaxIter, Rho: w.Rho, Tau: 1, Relax: relax, Delta: delta, Tol: Tolerance,
		Consistent: !w.Cold, Observe: w.observe, Workers: w.workers,
	}
	if w.Memoryless {
		clear(w.weight)
		clear(w.around)
	}
	if annotated {
		nu, gamma = nu*annotatedNu, gamma*annotatedGamma
		opt.Rho, opt.MaxIter, opt.Delta = opt.Rho*annotatedNu/annotatedGamma, annotatedIter, 0
	} else if w.Budget > 0 {
		w.budget = budget{ctx, time.Now().Add(w.Budget)}
		ctx = &w.budget
		defer func() { w.budget = budget{} }()
	}
	w.solves++
	w.balance(frames, labels)
	for label := range f.objects(labels) {
		if annotated {
			if !slices.Contains(defined, label) {
				w.report.Unlearnt++
				continue
			}
			own, around := w.rowsOf(label, f.p.Dim)
			clear(own)
			clear(around)
		}
		w.report.Estimated++
		if err := w.gather(frames, label, labels, gamma); err != nil {
			return Report{}, err
		}
		if !annotated {
			if err := w.kernel.Whiten(tau, ridge); err != nil {
				return Report{}, fmt.Errorf("window: %w", err)
			}
		}
		if err := w.start(nu, gamma, annotated); err != nil {
			return Report{}, fmt.Errorf("window: %w", err)
		}
		w.problem = solver.Problem{
			Labels: 2, Loss: loss.Hinge{}, Kernel: &w.kernel, MRF: &w.graphs,
			Omega: w.omega, Unary: w.unary, Offset: w.offset, Nu: nu,
		}
		if w.FixedLabels {
			w.problem.MRF = fixed{w.graphs}
		}
		res, err := solver.Solve(ctx, &w.ws, &w.problem, &w.state, opt)
		if err != nil {
			return Report{}, fmt.Errorf("window: %w", err)
		}
		w.scatter(frames, labels)
		if !annotated { // in the next window its rows weigh something else
			w.leave()
		}
		if res.Iterations > 0 {
			if err := w.move(label, f.p.Dim); err != nil {
				return Report{}, err
			}
		}
		w.report.sum(&w.trace, res, len(w.state.Y))
	}
	for _, f := range frames {
		f.forget()
	}
	copy(y, f.y)
	w.report.finish(&w.trace)
	return w.report, nil
}

// rowsOf are the classifier's rows for an object: its own and that of what is around it.
func (w *Window) rowsOf(label int32, dim int) (own, around []float64) {
	from, to := int(label)*(dim+1), int(label+1)*(dim+1)
	return w.weight[from:to], w.around[from:to]
}

// compose sets w.own to the classifier of an object, nothing of one that it does not know.
func (w *Window) compose(label int32, dim int) {
	w.own = scratch.Zero(w.own, 2*(dim+1))
	if len(w.weight) >= int(label+1)*(dim+1) {
		own, around := w.rowsOf(label, dim)
		n := copy(w.own, around)
		copy(w.own[n:], own)
	}
}

// move adds M⁻¹Xᵀα of the solved object to its classifier.
func (w *Window) move(label int32, dim int) error {
	w.step = scratch.Grow(w.step, len(w.own))
	if err := w.kernel.SolvedWeights(w.step, 2); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	for i, v := range w.step {
		w.own[i] += v
	}
	own, around := w.rowsOf(label, dim)
	n := copy(around, w.own)
	copy(own, w.own[n:])
	return nil
}

// score returns superpixel i's scores for what is around the object, and for the object.
func (w *Window) score(f *Frame, i int) (scores [2]float64) {
	d := f.p.Dim + 1
	row := f.p.Rows[i*d : (i+1)*d]
	for l := range scores {
		sum, weight := 0.0, w.own[l*d:(l+1)*d]
		for k, v := range row {
			sum += float64(v) * weight[k]
		}
		scores[l] = sum
	}
	return scores
}

// gather writes the problem of an object: kernel blocks, unaries and the graph; and the labels that it starts with.
func (w *Window) gather(frames []*Frame, label int32, labels int, gamma float64) error {
	w.parts, w.blocks, w.graphs = w.parts[:0], w.blocks[:0], w.graphs[:0]
	w.state.Y, w.q, w.omega = w.state.Y[:0], w.q[:0], w.omega[:0]
	for _, f := range frames {
		c, err := f.part(label, labels)
		if err != nil {
			return err
		}
		if err := c.fill(f); err != nil {
			return fmt.Errorf("window: %w", err)
		}
		w.parts, w.blocks, w.graphs = append(w.parts, c), append(w.blocks, &c.block), append(w.graphs, &c.graph)
		for _, i := range c.rows {
			w.state.Y, w.omega = append(w.state.Y, c.own(f.y[i])), append(w.omega, f.omega[i])
			w.q = append(w.q, 0, 0)
			c.believe(w.q[len(w.q)-2:], f, i, labels)
		}
	}
	w.unary = scratch.Grow(w.unary, len(w.q))
	n := 0
	for k, f := range frames {
		w.parts[k].price(w.unary[2*n:], w.q[2*n:], w.omega[n:], f)
		n += len(w.parts[k].rows)
	}
	w.kernel.SetWorkers(w.workers)
	if err := w.kernel.Reset(w.blocks, gamma); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	w.compose(label, frames[len(frames)-1].p.Dim)
	w.offset = scratch.Grow(w.offset, len(w.unary))
	if err := w.kernel.Scores(w.offset, w.own, 2); err != nil {
		return fmt.Errorf("window: %w", err)
	}
	return nil
}

// start sets where an object's problem starts. Rows that the last window had too keep their λ. Others get the λ that is optimal
// for W₀ and their labels: with s = XW₀ and ρ = 2ν/γ, β = prox(s) and λ = ρ(s − β). Scores are XW₀ + Kα of α = −λ/2ν, so the start is
// consistent. Where the classifier starts from nothing, anew, α = λ = 0: without the metric, the α that is optimal at W₀ = 0 is far
// from the solution.
func (w *Window) start(nu, gamma float64, anew bool) error {
	w.state.Scores = append(w.state.Scores[:0], w.offset...)
	w.state.Lambda = scratch.Zero(w.state.Lambda, len(w.offset))
	if w.Cold {
		clear(w.state.Scores)
	}
	if w.Cold || w.Memoryless || anew {
		return nil
	}
	lambda, rho := w.state.Lambda, 2*nu/gamma
	if err := (loss.Hinge{}).Prox(lambda, w.offset, w.omega, w.state.Y, 2, rho); err != nil {
		return err
	}
	for i, s := range w.offset {
		lambda[i] = rho * (s - lambda[i])
	}
	from := 0
	for _, c := range w.parts {
		if c.solved > 0 && c.solved == w.solves-1 {
			copy(lambda[2*from:], c.lambda)
			w.trace.carried += len(c.rows)
		}
		from += len(c.rows)
	}
	w.alpha, w.step = scratch.Grow(w.alpha, len(lambda)), scratch.Grow(w.step, len(w.own))
	if err := w.state.Alpha(w.alpha, nu); err != nil {
		return err
	}
	if err := w.kernel.Weights(w.step, w.alpha, 2); err != nil {
		return err
	}
	if err := w.kernel.Scores(w.state.Scores, w.step, 2); err != nil {
		return err
	}
	for i, a := range w.alpha {
		w.state.Scores[i] += w.offset[i] + gamma*a
	}
	return nil
}

// leave has every part keep its λ of the solution.
func (w *Window) leave() {
	from := 0
	for _, c := range w.parts {
		to := from + len(c.rows)
		c.lambda, c.solved = append(c.lambda[:0], w.state.Lambda[2*from:2*to]...), w.solves
		from = to
	}
}

// scatter takes each frame's labels of the solution.
func (w *Window) scatter(frames []*Frame, labels int) {
	from := 0
	for k, f := range frames {
		c := w.parts[k]
		c.take(f.y, f, w.state.Y[from:][:len(c.rows)], labels)
		from += len(c.rows)
	}
}

// balance sets the training weights ω, of mean 1 over all superpixels of the frames: a rare label's samples count more
// (by the power rarityPower of how rare it is), those that were not marked less as the affinity
// cannot place them, and all of an earlier annotated frame marked times. Not those of the
// newest: of a box only what is outside is marked, which must not outweigh what is inside. Labels are counted as they were published:
// where the solve's own labels set the weights, a superpixel that weighs more with one label than with the other changes it in every window.
func (w *Window) balance(frames []*Frame, labels int) {
	w.rarity = scratch.Zero(w.rarity, labels) // counts first
	n := 0.0
	for _, f := range frames {
		for _, y := range f.told {
			w.rarity[y]++
		}
		n += float64(f.p.N)
	}
	for l, c := range w.rarity {
		w.rarity[l] = math.Pow(n/(float64(labels)*math.Max(1, c)), rarityPower)
	}
	sum := 0.0
	for k, f := range frames {
		frame := 1.0
		if k < len(frames)-1 && f.Marks.Any() {
			frame = marked
		}
		f.omega = scratch.Grow(f.omega, f.p.N)
		if k == len(frames)-1 || len(f.doubt) == 0 {
			f.question(labels)
		}
		for i := range f.omega {
			omega := frame
			if f.Marks.Free(i) {
				omega *= 1 - (1-ambiguous)*f.doubt[i]
			}
			f.omega[i] = omega * w.rarity[f.told[i]]
			sum += f.omega[i]
		}
	}
	for _, f := range frames {
		for i := range f.omega {
			f.omega[i] *= n / sum
		}
	}
}

// Decide labels f, the newest frame, by a cut for each object, starting at y: affinity where it is sure,
// the classifier where it is not, and smoothness. Without the classifier it is left out. What is no object is
// background, and what two objects want that one's that is likelier.
func (w *Window) Decide(ctx context.Context, f *Frame, y []int32, labels int, classifier bool) error {
	w.before = append(w.before[:0], y...)
	clear(y)
	for label := range f.objects(labels) {
		c, err := f.part(label, labels)
		if err != nil {
			return err
		}
		w.y, w.q, w.unary = w.y[:0], scratch.Grow(w.q, 2*len(c.rows)), scratch.Grow(w.unary, 2*len(c.rows))
		for r, i := range c.rows {
			w.y = append(w.y, c.own(w.before[i]))
			c.believe(w.q[2*r:][:2], f, i, labels)
		}
		c.price(w.unary, w.q, nil, f)
		if classifier {
			w.compose(label, f.p.Dim)
			for r, i := range c.rows {
				if !f.Belief.Unlearnt[i] {
					w.addClassifier(w.unary[2*r:][:2], f, i, label, labels, propagation.Uncertainty(w.q[2*r:][:2]))
				}
			}
		}
		if err := c.graph.Label(ctx, w.y, w.unary); err != nil {
			return fmt.Errorf("window: %w", err)
		}
		c.take(y, f, w.y, labels)
	}
	return nil
}

// scoreLimit bounds the classifier's scores: beyond it a superpixel is as sure as
// one can be.
const scoreLimit = 2.0

// addClassifier adds weight × the one-vs-all hinge of superpixel i's scores to u,
// scaled so that two labels with scores ±1 differ by 2·weight.
func (w *Window) addClassifier(u []float64, f *Frame, i, label int32, labels int, weight float64) {
	for l, score := range w.score(f, int(i)) {
		score = math.Max(-scoreLimit, math.Min(scoreLimit, score))
		if len(f.Belief.Shown) > 0 && l > 0 {
			score = f.Belief.Shown[int(i)*labels+int(label)]*(score+scoreLimit) - scoreLimit
		}
		u[l] += weight / 2 * math.Max(0, 1-score)
		u[1-l] += weight / 2 * math.Max(0, 1+score)
	}
}
