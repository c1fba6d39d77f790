package loss

import (
	"errors"
	"fmt"
	"math"
)

// ErrInput is wrapped by the errors of arguments that do not fit each other.
var ErrInput = errors.New("loss: bad input")

// Check returns the error of a loss's method whose n×labels results dst and targets t, or n weights, differ in their n; nil weights
// fit any. Losses elsewhere begin with it too.
func Check(dst, t, omega []float64, labels int) error {
	if labels < 1 || labels > math.MaxInt32 || len(t)%labels != 0 || len(dst) != len(t) || omega != nil && len(omega) != len(t)/labels {
		return fmt.Errorf("%w: %d and %d numbers and %d weights for samples of %d labels", ErrInput, len(dst), len(t), len(omega), labels)
	}
	return nil
}

// CheckLabels is Check of a method that takes the samples' labels y, too.
func CheckLabels(dst, t, omega []float64, y []int32, labels int) error {
	if err := Check(dst, t, omega, labels); err != nil {
		return err
	}
	if len(y) != len(t)/labels {
		return fmt.Errorf("%w: labels of %d samples for %d", ErrInput, len(y), len(t)/labels)
	}
	for i, l := range y {
		if l < 0 || int(l) >= labels {
			return fmt.Errorf("%w: sample %d has label %d; want 0 to %d", ErrInput, i, l, labels-1)
		}
	}
	return nil
}

// Hinge is the one-vs-all hinge loss
//
//	ℓ(y; β) = Σ_l max(0, 1 − s_l β_l),  s_l = +1 if l = y, else −1.
//
// It separates over labels, so every minimiser below is in closed form and a
// table costs O(nL).
type Hinge struct{}

// prox returns argmin_b ω·max(0, 1−b) + ρ/2·(b−t)² and its minimum.
func prox(t, omega, rho float64) (b, value float64) {
	if t >= 1 {
		return t, 0
	}
	step := omega / rho
	if t <= 1-step {
		return t + step, omega*(1-t-step) + omega*step/2
	}
	gap := 1 - t
	return 1, rho / 2 * gap * gap
}

// Table writes, for every sample i and label y,
//
//	u[i·L+y] = min_β ω_i ℓ(y; β) + ρ/2‖β − t_i‖².
//
// t and u are n×L row-major and may not alias. omega holds n weights ≥ 0, or is
// nil for all ones. rho is > 0.
func (Hinge) Table(u, t, omega []float64, labels int, rho float64) error {
	if err := Check(u, t, omega, labels); err != nil {
		return err
	}
	w := 1.0
	for i := 0; i+labels <= len(t); i += labels {
		if omega != nil {
			w = omega[i/labels]
		}
		ti, ui := t[i:i+labels], u[i:i+labels]
		if labels == 2 && ti[0] == -ti[1] { // as two labels are but for y
			_, first := prox(ti[0], w, rho)
			_, second := prox(ti[1], w, rho)
			ui[0], ui[1] = 2*first, 2*second
			continue
		}
		// Σ over labels of the price of β_l being negative; label y pays the
		// price of being positive at its own column instead.
		sum := 0.0
		for l, tl := range ti {
			_, neg := prox(-tl, w, rho)
			_, pos := prox(tl, w, rho)
			sum += neg
			ui[l] = pos - neg
		}
		for l := range ui {
			ui[l] += sum
		}
	}
	return nil
}

// Prox writes argmin_β ω_i ℓ(y_i; β) + ρ/2‖β − t_i‖² to row i of dst.
// dst may alias t.
func (Hinge) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error {
	if err := CheckLabels(dst, t, omega, y, labels); err != nil {
		return err
	}
	w := 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		ti, to := t[i*labels:(i+1)*labels], dst[i*labels:(i+1)*labels]
		for l, v := range ti {
			if int32(l) == yi {
				to[l], _ = prox(v, w, rho)
			} else {
				b, _ := prox(-v, w, rho)
				to[l] = -b
			}
		}
	}
	return nil
}

// Value returns Σ_i ω_i ℓ(y_i; β_i).
func (Hinge) Value(beta, omega []float64, y []int32, labels int) (float64, error) {
	if err := CheckLabels(beta, beta, omega, y, labels); err != nil {
		return 0, err
	}
	total, w := 0.0, 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		sum, bi := 0.0, beta[i*labels:(i+1)*labels]
		for l, b := range bi {
			if int32(l) == yi {
				b = -b
			}
			sum += max(0, 1+b)
		}
		total += w * sum
	}
	return total, nil
}
