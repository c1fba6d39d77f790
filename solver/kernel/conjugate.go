package kernel

import "math"

// Operator is a Gram matrix that multiplies: Product, Linear, Dense.
type Operator interface {
	Len() int
	SigmaMin() float64
	Mul(dst, alpha []float64, labels int)
}

// Conjugate solves with K by conjugate gradients, for a width at which a d×d
// matrix cannot be formed or factorised. It takes products with K only, all labels
// at once, and starts from the last solution, which between two iterations of the
// solver is close.
//
// A solution is as good as Tol. The solver takes Kα from α by the normal equation,
// so what is left of the residual, divided by ρ, is an error of the scores.
type Conjugate struct {
	Op      Operator
	Tol     float64 // ‖R − (2νI+ρK)α‖ ≤ Tol·‖R‖ for each label; 0 = 1e-10
	MaxIter int     // products a Solve may take; 0 = 500

	nu, rho           float64
	last              []float64 // α of the last Solve
	res, dir, product []float64 // n×labels each
	columns           []labelState
	report            Report
}

// Report says how the last Solve of a Conjugate went.
type Report struct {
	Iterations int     // products with K, but for that of the warm start
	Residual   float64 // ‖R − (2νI+ρK)α‖/‖R‖ of the worst label
	Converged  bool    // Residual ≤ Tol
}

// labelState is one label's share of the iteration.
type labelState struct {
	norm   float64 // ‖R‖²
	square float64 // ‖residual‖²
	done   bool
}

// Len returns n, the number of samples.
func (k *Conjugate) Len() int { return k.Op.Len() }

// SigmaMin returns the operator's lower bound on K's smallest eigenvalue.
func (k *Conjugate) SigmaMin() float64 { return k.Op.SigmaMin() }

// Mul writes Kα to dst, as the operator does.
func (k *Conjugate) Mul(dst, alpha []float64, labels int) { k.Op.Mul(dst, alpha, labels) }

// Report tells of the last Solve.
func (k *Conjugate) Report() Report { return k.report }

// Forget makes the next Solve start from 0, for samples that have nothing to do
// with the last ones. (Another n or number of labels does so by itself.)
func (k *Conjugate) Forget() { k.last = k.last[:0] }

// Factor sets the penalties Solve uses. Cost O(1).
func (k *Conjugate) Factor(nu, rho float64) error {
	if err := checkPenalties(nu, rho); err != nil {
		return err
	}
	k.nu, k.rho = nu, rho
	return nil
}

// Solve writes (2νI + ρK)⁻¹R to alpha, or what it has after MaxIter products: see
// Report. Both are n×labels row-major and may not alias. A NaN in r makes alpha
// NaN. It allocates nothing once grown.
func (k *Conjugate) Solve(alpha, r []float64, labels int) {
	if k.rho == 0 {
		panic("kernel: Solve without a Factor that succeeded")
	}
	tol, limit := k.Tol, k.MaxIter
	if tol == 0 {
		tol = 1e-10
	}
	if limit == 0 {
		limit = 500
	}
	k.start(alpha, r, labels)
	k.report = Report{}
	for k.open(tol) && k.report.Iterations < limit {
		k.report.Iterations++
		k.iterate(alpha, labels)
	}
	for i := range k.columns {
		if c := &k.columns[i]; c.norm > 0 || math.IsNaN(c.norm) {
			k.report.Residual = math.Max(k.report.Residual, math.Sqrt(c.square/c.norm))
		}
	}
	k.report.Converged = k.report.Residual <= tol
	if math.IsNaN(k.report.Residual) {
		for i := range alpha {
			alpha[i] = math.NaN()
		}
		k.Forget()
		return
	}
	k.last = append(k.last[:0], alpha...)
}

// start sets alpha to the last solution and the residual and directions to what is
// left of r.
func (k *Conjugate) start(alpha, r []float64, labels int) {
	size := len(r)
	k.res, k.dir, k.product = grow(k.res, size), grow(k.dir, size), grow(k.product, size)
	if cap(k.columns) < labels {
		k.columns = make([]labelState, labels)
	}
	k.columns = k.columns[:labels]
	clear(k.columns)
	copy(k.res, r)
	if len(k.last) == size {
		copy(alpha, k.last)
		k.Op.Mul(k.product, alpha, labels)
		for i, p := range k.product {
			k.res[i] -= 2*k.nu*alpha[i] + k.rho*p
		}
	} else {
		clear(alpha)
	}
	copy(k.dir, k.res)
	for i := range r {
		c := &k.columns[i%labels]
		c.norm += r[i] * r[i]
		c.square += k.res[i] * k.res[i]
	}
	for l := range k.columns {
		if k.columns[l].norm == 0 { // then α is 0, whatever the warm start
			for i := l; i < size; i += labels {
				alpha[i], k.dir[i] = 0, 0
			}
			k.columns[l].done = true
		}
	}
}

// open marks the labels that have converged, or cannot go on, and tells whether any
// is left.
func (k *Conjugate) open(tol float64) bool {
	open := false
	for l := range k.columns {
		c := &k.columns[l]
		if !(c.square > tol*tol*c.norm) || math.IsInf(c.square, 1) {
			c.done = true
		}
		open = open || !c.done
	}
	return open
}

// iterate takes one step along every open label's direction and makes the next
// direction.
func (k *Conjugate) iterate(alpha []float64, labels int) {
	k.Op.Mul(k.product, k.dir, labels)
	for l := range k.columns {
		c := &k.columns[l]
		curvature := 0.0
		for i := l; i < len(k.dir); i += labels {
			k.product[i] = 2*k.nu*k.dir[i] + k.rho*k.product[i]
			curvature += k.dir[i] * k.product[i]
		}
		if c.done {
			continue
		}
		step, was := c.square/curvature, c.square
		c.square = 0
		for i := l; i < len(k.dir); i += labels {
			alpha[i] += step * k.dir[i]
			k.res[i] -= step * k.product[i]
			c.square += k.res[i] * k.res[i]
		}
		for i := l; i < len(k.dir); i += labels {
			k.dir[i] = k.res[i] + c.square/was*k.dir[i]
		}
	}
}
