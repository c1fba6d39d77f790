package loss

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
func (Hinge) Table(u, t, omega []float64, labels int, rho float64) {
	w := 1.0
	for i := 0; i+labels <= len(t); i += labels {
		if omega != nil {
			w = omega[i/labels]
		}
		ti, ui := t[i:i+labels], u[i:i+labels]
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
}

// Prox writes argmin_β ω_i ℓ(y_i; β) + ρ/2‖β − t_i‖² to row i of dst.
// dst may alias t.
func (Hinge) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) {
	w := 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		for l := 0; l < labels; l++ {
			k := i*labels + l
			if int32(l) == yi {
				dst[k], _ = prox(t[k], w, rho)
			} else {
				b, _ := prox(-t[k], w, rho)
				dst[k] = -b
			}
		}
	}
}

// Value returns Σ_i ω_i ℓ(y_i; β_i).
func (Hinge) Value(beta, omega []float64, y []int32, labels int) float64 {
	total, w := 0.0, 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		sum := 0.0
		for l := 0; l < labels; l++ {
			s := -1.0
			if int32(l) == yi {
				s = 1
			}
			if m := 1 - s*beta[i*labels+l]; m > 0 {
				sum += m
			}
		}
		total += w * sum
	}
	return total
}
