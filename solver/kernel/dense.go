package kernel

import (
	"errors"
	"fmt"
	"math"
)

// MaxDense is the largest n of a Dense: K and its eigenvectors take 16n² bytes, and
// finding those takes minutes from here on.
const MaxDense = 4096

// ErrAsymmetric says that a precomputed matrix differs from its transpose.
var ErrAsymmetric = errors.New("kernel: matrix not symmetric")

// Dense is K + γI with a precomputed K. Its eigenvectors are found once, after
// which a change of penalty is free. Where rounding, or a similarity that is no
// kernel, gives K negative eigenvalues, they count as 0: the nearest positive
// semidefinite matrix stands in for K. It must not be copied.
type Dense struct {
	sweep
	gamma    float64
	spectrum spectrum
	nu, rho  float64
}

// NewDense decomposes k, n×n row-major with n ≤ MaxDense, which is neither kept nor
// written; gamma > 0. It returns ErrNotFinite for a NaN or an infinity in k and
// ErrAsymmetric if two mirrored entries differ by more than 1e-9 of the largest.
// Cost O(n³): 0.25 s for n = 500, 2 s for 1,000.
func NewDense(k []float64, n int, gamma float64) (*Dense, error) {
	if n < 1 || n > MaxDense {
		return nil, fmt.Errorf("kernel: a precomputed matrix of %d samples; want 1 to %d", n, MaxDense)
	}
	checkRows(k, n, n)
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		panic(fmt.Sprintf("kernel: ridge %g; want > 0", gamma))
	}
	if err := checkSymmetric(k, n); err != nil {
		return nil, err
	}
	d := &Dense{gamma: gamma}
	d.spectrum.of(k, n)
	if !d.spectrum.known {
		return nil, fmt.Errorf("kernel: the eigenvalues of a matrix of %d samples did not converge", n)
	}
	d.spectrum.work = nil
	d.reset([]*Block{Rows(d.spectrum.vectors, n, n)})
	return d, nil
}

func checkSymmetric(k []float64, n int) error {
	largest := 0.0
	for i, v := range k {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: K[%d,%d] is %g", ErrNotFinite, i/n, i%n, v)
		}
		largest = max(largest, math.Abs(v))
	}
	const tolerance = 1e-9
	for i := range n {
		for j := range i {
			if a, b := k[i*n+j], k[j*n+i]; math.Abs(a-b) > tolerance*largest {
				return fmt.Errorf("%w: K[%d,%d] is %g, K[%d,%d] is %g", ErrAsymmetric, i, j, a, j, i, b)
			}
		}
	}
	return nil
}

// SigmaMin returns the smallest eigenvalue, at least γ.
func (k *Dense) SigmaMin() float64 { return k.spectrum.values[0] + k.gamma }

// Factor sets the penalties Solve uses. Cost O(1).
func (k *Dense) Factor(nu, rho float64) error {
	if err := checkPenalties(nu, rho); err != nil {
		return err
	}
	k.nu, k.rho = nu, rho
	return nil
}

// checkPenalties wants ν ≥ 0 and ρ > 0, both finite.
func checkPenalties(nu, rho float64) error {
	if !(nu >= 0 && rho > 0) || math.IsInf(nu, 1) || math.IsInf(rho, 1) {
		return fmt.Errorf("%w (ν=%g, ρ=%g)", ErrNotFinite, nu, rho)
	}
	return nil
}

// Solve writes (2νI + ρK)⁻¹R to alpha. Both are n×labels row-major and may not
// alias. Cost O(n²·labels).
func (k *Dense) Solve(alpha, r []float64, labels int) {
	if k.rho == 0 {
		panic("kernel: Solve without a Factor that succeeded")
	}
	k.apply(alpha, r, labels, true)
}

// Mul writes Kα, the ridge included, to dst. Both are n×labels row-major and may
// not alias. Cost O(n²·labels).
func (k *Dense) Mul(dst, alpha []float64, labels int) { k.apply(dst, alpha, labels, false) }

// apply scales src's coordinates along the eigenvectors.
func (k *Dense) apply(dst, src []float64, labels int, inverse bool) {
	k.check(dst, src, labels)
	columns := columnsOf(src, labels)
	k.project(src, labels, columns)
	for l := range columns {
		v := k.v[l*k.d : (l+1)*k.d]
		for i, value := range k.spectrum.values {
			if value += k.gamma; inverse {
				v[i] /= 2*k.nu + k.rho*value
			} else {
				v[i] *= value
			}
		}
	}
	k.expand(dst, src, labels, columns, 0, 1)
}
