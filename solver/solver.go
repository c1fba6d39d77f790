package solver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/segd/segd/solver/internal/workers"
)

// ErrProblem says that a problem is none: something is missing, or a size or a label does not fit. The state is as
// it was.
var ErrProblem = errors.New("solver: bad problem")

// ErrNotFinite says that a NaN or an infinity arose from the problem's numbers.
var ErrNotFinite = errors.New("solver: NaN or infinity in the problem")

// Loss is a per-sample loss with its lookup table and proximal map; see loss.Hinge
// for the shapes. Rows are independent, and several goroutines may be given different
// ones at a time.
type Loss interface {
	Table(u, t, omega []float64, labels int, rho float64) error
	Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error
	Value(beta, omega []float64, y []int32, labels int) (float64, error)
}

// Kernel is a positive definite Gram matrix over n samples; see kernel.Linear.
type Kernel interface {
	Len() int
	SigmaMin() float64
	Factor(nu, rho float64) error
	Solve(alpha, r []float64, labels int) error
}

// Labeler is the discrete energy E and a solver for it. Label improves y under
// Σ_i u[i·L+y_i] + E(y), exactly or not: the solver checks what it returns.
type Labeler interface {
	Label(ctx context.Context, y []int32, u []float64) error
	Energy(y []int32) (float64, error)
}

// Problem is one instance. Nothing of it is kept or written.
type Problem struct {
	Labels int       // L ≥ 2
	Loss   Loss      //
	Kernel Kernel    // over n samples
	MRF    Labeler   // over the same n samples
	Omega  []float64 // n weights ω ≥ 0; nil means all 1
	Unary  []float64 // n×L extra energies U, +Inf forbids a label; nil means none
	Nu     float64   // ν > 0

	// Offset is n×L scores O of a classifier W₀ that is given: the loss is of
	// β = O + Kα, so that ν⟨α, Kα⟩ draws the classifier to W₀. Nil means none. See
	// State for how a window slides by it.
	Offset []float64
}

// Options tune a Solve. The zero value takes every default.
//
// With Relax > 1 the α- and λ-updates see β moved on, away from the last Kα (Boyd
// et al., Distributed Optimization and Statistical Learning via ADMM, 2011, §3.4.3).
// The closer together K's eigenvalues are, the closer to 2 is best: see kernel.Linear.Whiten.
type Options struct {
	MaxIter int     // iterations at most; 0 = 200
	Rho     float64 // ρ₀; 0 = 2ν, see Problem.Nu
	RhoMax  float64 // ρ stops growing here; 0 = 2ν/σ_min(K), where descent is guaranteed
	Relax   float64 // over-relaxation of the α-update in [1, 2), see below; 0 = 1
	Tau     float64 // ρ grows by this factor an iteration, ≥ 1; 0 = 1.05
	Delta   float64 // δ ≥ 0 of the descent condition; 0 = any decrease does
	Tol     float64 // relative residual at which it has converged; 0 = 1e-3
	Workers int     // goroutines for the lookup tables; 0 = GOMAXPROCS. The results are the same, to the bit
	Observe func(Iteration)

	// Consistent says that the start is, see State, so that descent can be guaranteed
	// in the first iteration too. It changes nothing else.
	Consistent bool
}

// Iteration is what an observer is told after each iteration.
type Iteration struct {
	Index      int     // from 0
	Lagrangian float64 // L_ρ(α⁺, β⁺, λ⁺, y⁺), eq. dc_augm_lagr
	Primal     float64 // ‖O + Kα − β‖_F / √(nL)
	Dual       float64 // ρ‖K(α⁺ − α)‖_F / √(nL)
	Rho        float64
	Flips      int  // labels that changed
	Rejected   bool // the MRF's labeling failed the descent condition
	Rose       bool // L_ρ is higher than at the same ρ before the iteration, by more than rounding
	Guaranteed bool // L_ρ cannot rise, see the package comment
}

// Status is why a Solve ended.
type Status uint8

const (
	Converged     Status = iota // residuals below Tol and no label flipped
	IterationsMet               // MaxIter iterations were run
	Interrupted                 // the context ended
)

func (s Status) String() string {
	return [...]string{"converged", "iterations met", "interrupted"}[s]
}

// Result sums a Solve up.
type Result struct {
	Status     Status
	Iterations int
	Start      float64 // objective at the warm start, with α = −λ/2ν and its Scores for O + Kα; +Inf if U forbids its labels
	Fitted     float64 // L_ρ there, with the β that is best for it: of the last window's solution in this one. As Start without iterations
	Last       Iteration
	Flips      int // over all iterations
	Rejected   int // labelings refused by the descent condition
	Violations int // iterations in which the Lagrangian rose
	Guaranteed int // iterations in which it could not
}

// Workspace is a Solve's scratch memory. The zero value is ready; it grows to
// the largest problem and is then reused. It must not be copied.
type Workspace struct {
	t, beta, r, alpha, u []float64
	y                    []int32
	parts                []part
	energy               float64 // E of the state's labels
	gap                  float64 // ‖O + Kα − β‖² of the last iteration

	// What the passes over the samples work on.
	p                      *Problem
	s                      *State
	rho, relax             float64
	pool                   workers.Pool
	owner                  *Workspace // whom those below are bound to
	starts                 func(int)
	tables, steps, updates func(int)
}

// A part is chunkRows samples' share of the sums that an iteration needs. Their
// number depends on the samples alone, and they are added in order, so the bits do
// not depend on the workers.
type part struct {
	loss, quad, unary, primal, dual, cross, lambda float64

	err error // the loss's
}

const (
	chunkRows = 1 << 11
	// From parallelFrom scores on a second goroutine is worth waking.
	parallelFrom = 1 << 14
)

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (ws *Workspace) reset(p *Problem, s *State) (err error) {
	n := len(s.Y)
	size := n * p.Labels
	ws.t, ws.beta, ws.r = grow(ws.t, size), grow(ws.beta, size), grow(ws.r, size)
	ws.alpha, ws.u = grow(ws.alpha, size), grow(ws.u, size)
	ws.y = grow(ws.y, n)
	ws.parts = grow(ws.parts, (n+chunkRows-1)/chunkRows)
	clear(ws.parts)
	ws.p, ws.s = p, s
	if ws.owner != ws {
		ws.owner, ws.pool = ws, workers.Pool{}
		ws.starts, ws.tables, ws.steps, ws.updates = ws.start, ws.table, ws.step, ws.update
	}
	if ws.energy, err = p.MRF.Energy(s.Y); err != nil {
		return fmt.Errorf("solver: %w", err)
	}
	return nil
}

// each calls pass for every part, and returns the first error of one.
func (ws *Workspace) each(pass func(int), workers int) error {
	if len(ws.t) < parallelFrom {
		workers = 1
	}
	ws.pool.Each(pass, len(ws.parts), workers)
	for i := range ws.parts {
		if err := ws.parts[i].err; err != nil {
			return fmt.Errorf("solver: %w", err)
		}
	}
	return nil
}

// rows returns part c's samples, from lo to hi, and their weights.
func (ws *Workspace) rows(c int) (lo, hi int, omega []float64) {
	lo, hi = c*chunkRows, min((c+1)*chunkRows, len(ws.y))
	if ws.p.Omega != nil {
		omega = ws.p.Omega[lo:hi]
	}
	return lo, hi, omega
}

// offset returns those of the scores from ≤ i < to, or nil.
func (ws *Workspace) offset(from, to int) []float64 {
	if ws.p.Offset == nil {
		return nil
	}
	return ws.p.Offset[from:to]
}

func (o Options) withDefaults(nu, sigma float64) Options {
	o.MaxIter = cmp.Or(o.MaxIter, 200)
	o.Rho = cmp.Or(o.Rho, 2*nu)
	o.RhoMax = cmp.Or(o.RhoMax, math.Max(o.Rho, 2*nu/sigma))
	o.Relax, o.Tau, o.Tol = cmp.Or(o.Relax, 1), cmp.Or(o.Tau, 1.05), cmp.Or(o.Tol, 1e-3)
	return o
}

// check says what is wrong with the arguments of Solve. That numbers are finite shows while they are computed with.
func check(ws *Workspace, p *Problem, s *State, opt *Options) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrProblem}, args...)...)
	}
	switch {
	case ws == nil || p == nil || s == nil:
		return bad("workspace %p, problem %p and state %p; want each", ws, p, s)
	case opt.MaxIter < 0 || !(opt.Delta >= 0 && opt.Tol >= 0):
		return bad("%d iterations, δ = %g and tolerance %g; want ≥ 0", opt.MaxIter, opt.Delta, opt.Tol)
	case opt.Relax != 0 && !(opt.Relax >= 1 && opt.Relax < 2) || opt.Tau != 0 && !(opt.Tau >= 1):
		return bad("relaxation %g and τ = %g; want 1 to 2, and ≥ 1", opt.Relax, opt.Tau)
	case p.Labels < 2 || p.Labels > math.MaxInt32:
		return bad("%d labels; want at least 2", p.Labels)
	case p.Loss == nil || p.Kernel == nil || p.MRF == nil:
		return bad("loss %T, kernel %T and MRF %T; want each", p.Loss, p.Kernel, p.MRF)
	case !(p.Nu > 0):
		return bad("ν = %g; want > 0", p.Nu)
	}
	n := p.Kernel.Len()
	switch {
	case n < 1:
		return bad("no samples; want at least 1")
	case len(s.Scores) != n*p.Labels || len(s.Lambda) != n*p.Labels || len(s.Y) != n:
		return bad("state of %d scores, %d λ and %d labels for %d samples × %d labels", len(s.Scores), len(s.Lambda), len(s.Y), n, p.Labels)
	case p.Omega != nil && len(p.Omega) != n:
		return bad("%d weights for %d samples", len(p.Omega), n)
	case p.Offset != nil && len(p.Offset) != n*p.Labels:
		return bad("%d offsets for %d samples × %d labels", len(p.Offset), n, p.Labels)
	case p.Unary != nil && len(p.Unary) != n*p.Labels:
		return bad("%d unaries for %d samples × %d labels", len(p.Unary), n, p.Labels)
	}
	for i, y := range s.Y {
		if y < 0 || int(y) >= p.Labels {
			return bad("sample %d has label %d; want 0 to %d", i, y, p.Labels-1)
		}
	}
	return nil
}

// Solve runs DC-ADMM (Alg. 1) on p from s until it converges, ctx ends or
// opt.MaxIter iterations have passed, and leaves the iterate in s.
//
// The error wraps ErrProblem for what is no problem, and ErrNotFinite where numbers are not finite, or is that of the loss, the
// kernel or the MRF.
// When ctx ends, s holds the last whole iteration; that is a Status, not an error. Once ws has
// grown to the largest n, it allocates nothing but what p.MRF allocates.
func Solve(ctx context.Context, ws *Workspace, p *Problem, s *State, opt Options) (Result, error) {
	if err := check(ws, p, s, &opt); err != nil {
		return Result{}, err
	}
	sigma := p.Kernel.SigmaMin()
	opt = opt.withDefaults(p.Nu, sigma)
	defer func() { ws.p, ws.s = nil, nil }()
	if err := ws.reset(p, s); err != nil {
		return Result{}, err
	}

	res := Result{Status: IterationsMet}
	if err := ws.each(ws.starts, opt.Workers); err != nil {
		return Result{}, err
	}
	start := ws.sum()
	res.Start, ws.gap = ws.lagrangian(0, start), 0
	res.Fitted = res.Start
	rho, factored := opt.Rho, 0.0
	for it := 0; it < opt.MaxIter; it++ {
		if ctx.Err() != nil {
			res.Status = Interrupted
			break
		}
		if rho != factored {
			if err := p.Kernel.Factor(p.Nu, rho); err != nil {
				return res, fmt.Errorf("%w: %w", ErrNotFinite, err)
			}
			factored = rho
		}
		before := res.Start
		if it > 0 {
			before = res.Last.Lagrangian + (rho-res.Last.Rho)/2*ws.gap
		}
		ws.rho, ws.relax = rho, opt.Relax
		if err := ws.each(ws.tables, opt.Workers); err != nil {
			return res, err
		}
		if it == 0 {
			// Completing the square, min over β of ⟨λ, O + Kα − β⟩ + ρ/2‖O + Kα − β‖² + loss is the table's less ‖λ‖²/2ρ.
			res.Fitted = unary(ws.u, s.Y, p.Labels) + ws.energy + p.Nu*start.quad - start.lambda/(2*rho)
		}
		step, err := iterate(ctx, ws, rho, opt)
		if err != nil {
			return res, err
		}
		step.Index = it
		step.Guaranteed = (it > 0 || opt.Consistent) && rho >= 2*p.Nu/sigma
		step.Rose = step.Lagrangian > before+rounding*math.Abs(before)
		res.Iterations, res.Last = it+1, step
		res.Flips += step.Flips
		res.Rejected += count(step.Rejected)
		res.Violations += count(step.Rose)
		res.Guaranteed += count(step.Guaranteed)
		if opt.Observe != nil {
			opt.Observe(step)
		}
		if step.Flips == 0 && step.Primal < opt.Tol && step.Dual < opt.Tol*rho {
			res.Status = Converged
			break
		}
		if rho < opt.RhoMax {
			rho = math.Min(opt.RhoMax, opt.Tau*rho)
		}
	}
	return res, nil
}

// rounding is the relative change of a Lagrangian, a sum of many terms, that means
// nothing.
const rounding = 1e-9

func count(happened bool) int {
	if happened {
		return 1
	}
	return 0
}

// iterate is one pass of Alg. 1's loop at a fixed ρ, after the tables.
func iterate(ctx context.Context, ws *Workspace, rho float64, opt Options) (Iteration, error) {
	p, step := ws.p, Iteration{Rho: rho}
	if err := label(ctx, ws, opt.Delta, &step); err != nil {
		return step, err
	}
	if err := ws.each(ws.steps, opt.Workers); err != nil {
		return step, err
	}
	if err := p.Kernel.Solve(ws.alpha, ws.r, p.Labels); err != nil {
		return step, fmt.Errorf("solver: α-update: %w", err)
	}
	if err := ws.each(ws.updates, opt.Workers); err != nil {
		return step, err
	}

	sum := ws.sum()
	ws.gap = sum.primal
	scale := math.Sqrt(float64(len(ws.alpha)))
	step.Primal, step.Dual = math.Sqrt(sum.primal)/scale, rho*math.Sqrt(sum.dual)/scale
	step.Lagrangian = ws.lagrangian(rho, sum)
	if math.IsNaN(step.Lagrangian) || math.IsInf(step.Lagrangian, 0) {
		return step, fmt.Errorf("%w: Lagrangian is %g at ρ = %g", ErrNotFinite, step.Lagrangian, rho)
	}
	return step, nil
}

// sum adds the parts up, in order.
func (ws *Workspace) sum() (sum part) {
	for _, v := range ws.parts {
		sum.loss, sum.quad, sum.unary = sum.loss+v.loss, sum.quad+v.quad, sum.unary+v.unary
		sum.primal, sum.dual, sum.cross = sum.primal+v.primal, sum.dual+v.dual, sum.cross+v.cross
		sum.lambda += v.lambda
	}
	return sum
}

// lagrangian is L_ρ (eq. dc_augm_lagr) of the sums over all samples.
func (ws *Workspace) lagrangian(rho float64, sum part) float64 {
	return sum.loss + ws.p.Nu*sum.quad + sum.unary + ws.energy + sum.cross + rho/2*sum.primal
}

// start sums part c's objective up, with β the scores.
func (ws *Workspace) start(c int) {
	lo, hi, omega := ws.rows(c)
	from, to := lo*ws.p.Labels, hi*ws.p.Labels
	scores, y := ws.s.Scores[from:to], ws.s.Y[lo:hi]
	sum := part{}
	sum.loss, sum.err = ws.p.Loss.Value(scores, omega, y, ws.p.Labels)
	offset := ws.offset(from, to)
	for i, l := range ws.s.Lambda[from:to] {
		k := scores[i]
		if offset != nil {
			k -= offset[i]
		}
		sum.quad -= l * k
		sum.lambda += l * l
	}
	sum.quad /= 2 * ws.p.Nu
	if ws.p.Unary != nil {
		sum.unary = unary(ws.p.Unary[from:to], y, ws.p.Labels)
	}
	ws.parts[c] = sum
}

// table writes part c's lookup table and the extra energies to ws.u.
func (ws *Workspace) table(c int) {
	lo, hi, omega := ws.rows(c)
	from, to := lo*ws.p.Labels, hi*ws.p.Labels
	t, u := ws.t[from:to], ws.u[from:to]
	scores, lambda := ws.s.Scores[from:to], ws.s.Lambda[from:to]
	for i, l := range lambda {
		t[i] = scores[i] + l/ws.rho
	}
	ws.parts[c].err = ws.p.Loss.Table(u, t, omega, ws.p.Labels, ws.rho)
	if ws.p.Unary != nil {
		for i, v := range ws.p.Unary[from:to] {
			u[i] += v
		}
	}
}

// step makes part c's β and the right side of the α-update, R = ρ(β − O) − λ, with
// β over-relaxed.
func (ws *Workspace) step(c int) {
	lo, hi, omega := ws.rows(c)
	from, to := lo*ws.p.Labels, hi*ws.p.Labels
	beta, r, scores, lambda := ws.beta[from:to], ws.r[from:to], ws.s.Scores[from:to], ws.s.Lambda[from:to]
	ws.parts[c].err = ws.p.Loss.Prox(beta, ws.t[from:to], omega, ws.s.Y[lo:hi], ws.p.Labels, ws.rho)
	for i, b := range beta {
		r[i] = ws.rho*(b+(ws.relax-1)*(b-scores[i])) - lambda[i]
	}
	for i, o := range ws.offset(from, to) {
		r[i] -= ws.rho * o
	}
}

// update takes part c's α over into the state. (2νI + ρK)α = R gives Kα without
// another product, and the dual update λ + ρ(O + Kα − β) is −2να.
func (ws *Workspace) update(c int) {
	lo, hi, omega := ws.rows(c)
	from, to := lo*ws.p.Labels, hi*ws.p.Labels
	r, beta, scores, lambda := ws.r[from:to], ws.beta[from:to], ws.s.Scores[from:to], ws.s.Lambda[from:to]
	offset := ws.offset(from, to)
	sum, nu, perRho := part{}, 2*ws.p.Nu, 1/ws.rho
	for i, a := range ws.alpha[from:to] {
		l := -nu * a
		k := (r[i] + l) * perRho
		sum.quad += a * k
		if offset != nil {
			k += offset[i]
		}
		move, gap := k-scores[i], k-beta[i]
		sum.dual += move * move
		sum.primal += gap * gap
		sum.cross += l * gap
		scores[i], lambda[i] = k, l
	}
	y := ws.s.Y[lo:hi]
	sum.loss, sum.err = ws.p.Loss.Value(beta, omega, y, ws.p.Labels)
	if ws.p.Unary != nil {
		sum.unary = unary(ws.p.Unary[from:to], y, ws.p.Labels)
	}
	ws.parts[c] = sum
}

// label updates the labels by the MRF solver if that meets the descent condition
// (eq. suff_descent_discrete): with the table's minimising β the Lagrangian
// difference is the difference of the tabulated energies.
func label(ctx context.Context, ws *Workspace, delta float64, step *Iteration) error {
	p, s := ws.p, ws.s
	copy(ws.y, s.Y)
	if err := p.MRF.Label(ctx, ws.y, ws.u); err != nil {
		return fmt.Errorf("solver: label update: %w", err)
	}
	for i, y := range ws.y {
		if y != s.Y[i] {
			step.Flips++
		}
	}
	if step.Flips == 0 {
		return nil
	}
	energy, err := p.MRF.Energy(ws.y)
	if err != nil {
		return fmt.Errorf("solver: label update: %w", err)
	}
	was := unary(ws.u, s.Y, p.Labels) + ws.energy
	now := unary(ws.u, ws.y, p.Labels) + energy
	if now > was-delta || math.IsNaN(now) {
		step.Flips, step.Rejected = 0, true
		return nil
	}
	copy(s.Y, ws.y)
	ws.energy = energy
	return nil
}

// unary returns Σ_i u[i·L + y_i].
func unary(u []float64, y []int32, labels int) float64 {
	sum := 0.0
	for i, yi := range y {
		sum += u[i*labels+int(yi)]
	}
	return sum
}
