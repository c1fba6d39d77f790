package loss

import "math"

// Softmax is the multinomial logistic loss ℓ(y; β) = log Σ_l exp β_l − β_y.
//
// With s = ω/ρ the minimiser of ω ℓ(y; β) + ρ/2‖β − t‖² has β_y = t_y + R and
// β_l = t_l − q_l for the others, R = Σ_{l≠y} q_l. Everything follows from one
// number, the margin z = β_y − log Σ_{l≠y} exp β_l: with p = 1/(1 + exp z), the
// probability that is not y's,
//
//	R = s p,  ℓ = a = log(1 + exp −z),
//	q_l = W(exp(x_l)),  x_l = t_l − t_y + log s − a − R,
//	Σ_{l≠y} q_l = R
//
// with W Lambert's function (Lapin et al., 2016). Written so, nothing overflows
// and nothing cancels: p, a and R keep their relative precision from label y
// being hopeless to its being certain.
type Softmax struct{}

const (
	// Halley's method cubes its error: a step below this leaves none.
	halleyTol = 3e-5
	// maxSteps bounds the safeguarded iterations: one to three are usual, ten the most
	// seen in 400,000 prox with targets to 1e4 and ω/ρ from 1e-10 to 1e10, and
	// bisection alone would need about 60.
	maxSteps = 80
	// frozen is the R below which the prox does not move the margin.
	frozen = 1e-17
)

// odds returns p = 1/(1+exp z) and q = 1−p.
func odds(z float64) (p, q float64) {
	e := math.Exp(-math.Abs(z))
	q = 1 / (1 + e)
	if z < 0 {
		return q, e * q
	}
	return e * q, q
}

// softplus returns log(1+exp −z), of which p and q are the odds.
func softplus(z, p, q float64) float64 {
	if z < 0 {
		return -z - math.Log(p)
	}
	if p < 0.25 {
		return math.Log1p(p / q)
	}
	return -math.Log(q)
}

// halley is a step towards the root of f, of which slope is positive; it is at
// most twice Newton's.
func halley(f, slope, curve float64) float64 {
	return -2 * f * slope / max(slope*slope, 2*slope*slope-f*curve)
}

// logistic solves z = m + κ/(1+exp z) for κ > 0 by Halley's method. p and q are
// the odds of m.
func logistic(m, kappa, p, q float64) float64 {
	lo, hi := m, m+kappa
	var z float64
	if kappa < 4 {
		z = m + kappa*p/(1+kappa*p*q) // Newton's first step
	} else {
		// 1/(1+exp z) is at most exp −z and 1; the root is near the lesser.
		z = min(hi, m+roughOmega(math.Log(kappa)-m))
	}
	for range maxSteps {
		p, q := odds(z)
		f := z - m - kappa*p
		if f > 0 {
			hi = z
		} else {
			lo = z
		}
		step := halley(f, 1+kappa*p*q, kappa*p*q*(p-q))
		z += step
		if !(math.Abs(step) > halleyTol) {
			return z
		}
		if z < lo || z > hi {
			z = lo + (hi-lo)/2
		}
	}
	return z
}

// rivals sums up the labels other than y: d = log Σ_{l≠y} exp(t_l) − t_y and the
// number of labels that share the sum, (Σ exp t_l)²/Σ exp(2t_l).
func rivals(t []float64, y int) (d, share float64) {
	top := t[rival(t, y)]
	sum, squares := 0.0, 0.0
	for l, tl := range t {
		if l != y {
			e := math.Exp(tl - top)
			sum += e
			squares += e * e
		}
	}
	return top - t[y] + math.Log(sum), sum * sum / squares
}

// margin solves Softmax's equation for the margin z of label y and returns p, a
// and Σ_{l≠y} q_l². d and share are those of rivals, logS = log s, s > 0.
//
// Were all mass in `share` equal rivals, z = −d + s(1+1/share)p would be the
// equation; with two labels it is. Its root starts Halley's method on the
// logarithm of Σ q_l/R, which is nearly linear in z.
func margin(t []float64, y int, d, share, s, logS float64) (p, a, squares float64) {
	p, q := odds(-d)
	if s*p < frozen {
		return p, softplus(-d, p, q), s * p * s * p / share
	}
	z := logistic(-d, s+s/share, p, q)
	if len(t) == 2 {
		p, q = odds(z)
		return p, softplus(z, p, q), s * p * s * p
	}
	ty, lo, hi := t[y], -d, -d+2*s
	for range maxSteps {
		p, q = odds(z)
		a = softplus(z, p, q)
		shift := logS - a - s*p
		// Σ q_l, its first two derivatives by the common shift, and those of
		// Σ q_l²/2.
		var sum, sum1, sum2, half1, half2 float64
		squares = 0
		for l, tl := range t {
			if l == y {
				continue
			}
			v := omega(tl - ty + shift)
			g := 1 / (1 + v)
			v1 := v * g
			v2 := v1 * g * g
			sum += v
			sum1 += v1
			sum2 += v2
			squares += v * v
			half1 += v * v1
			half2 += v1*v1 + v*v2
		}
		f := math.Log(sum / (s * p))
		if f > 0 {
			hi = z
		} else {
			lo = z
		}
		if math.IsInf(f, 0) { // Σ q_l or R underflows, far from the root
			z = lo + (hi-lo)/2
			continue
		}
		// The shift's derivatives by z, then those of f.
		x1 := p * (1 + s*q)
		x2 := -p * q * (1 + s*(q-p))
		rate := sum1 / sum * x1
		step := halley(f, rate+q, (sum2*x1*x1+sum1*x2)/sum-rate*rate+p*q)
		z += step
		if !(math.Abs(step) > halleyTol) {
			p, q = odds(z)
			dx := step * (x1 + step*x2/2)
			return p, softplus(z, p, q), squares + dx*(2*half1+dx*half2)
		}
		if z < lo || z > hi {
			z = lo + (hi-lo)/2
		}
	}
	return p, a, squares
}

// Table writes, for every sample i and label y,
//
//	u[i·L+y] = min_β ω_i ℓ(y; β) + ρ/2‖β − t_i‖².
//
// t and u are n×L row-major and may not alias. omega holds n weights ≥ 0, or is
// nil for all ones. rho is > 0. It costs one to three passes of L−1 Lambert
// functions a label; what starts them is shared by all labels.
func (Softmax) Table(u, t, omega []float64, labels int, rho float64) error {
	if err := check(u, t, omega, labels); err != nil {
		return err
	}
	w, logS := 1.0, math.Log(1/rho)
	for i := 0; i+labels <= len(t); i += labels {
		if omega != nil && omega[i/labels] != w {
			w = omega[i/labels]
			logS = math.Log(w / rho)
		}
		s, ti, ui := w/rho, t[i:i+labels], u[i:i+labels]
		switch {
		case w == 0:
			clear(ui)
		case labels == 2:
			for y := range ui {
				p, a, _ := margin(ti, y, ti[1-y]-ti[y], 1, s, logS)
				ui[y] = w*a + rho*s*p*s*p
			}
		default:
			softmaxRow(ui, ti, w, rho, logS)
		}
	}
	return nil
}

// softmaxRow is Table for one sample with ω > 0.
func softmaxRow(u, t []float64, w, rho, logS float64) {
	s, top := w/rho, 0
	for l, tl := range t {
		if tl > t[top] {
			top = l
		}
	}
	// rivals for all labels at once. For those but the largest, sum ≥ 1 and
	// taking exp(t_y − t_top) out of it cancels nothing.
	sum, squares := 0.0, 0.0
	for l, tl := range t {
		u[l] = math.Exp(tl - t[top])
		sum += u[l]
		squares += u[l] * u[l]
	}
	for y, e := range u {
		rest := sum - e
		d, share := t[top]-t[y]+math.Log(rest), rest*rest/(squares-e*e)
		if y == top {
			d, share = rivals(t, y)
		}
		p, a, q2 := margin(t, y, d, share, s, logS)
		u[y] = w*a + rho/2*(s*p*s*p+q2)
	}
}

// Prox writes argmin_β ω_i ℓ(y_i; β) + ρ/2‖β − t_i‖² to row i of dst.
// dst may alias t.
func (Softmax) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error {
	if err := checkLabels(dst, t, omega, y, labels); err != nil {
		return err
	}
	w, logS := 1.0, math.Log(1/rho)
	for i, yi := range y {
		if omega != nil && omega[i] != w {
			w = omega[i]
			logS = math.Log(w / rho)
		}
		softmaxProx(dst[i*labels:(i+1)*labels], t[i*labels:(i+1)*labels], int(yi), w/rho, logS)
	}
	return nil
}

func softmaxProx(dst, t []float64, y int, s, logS float64) {
	if s == 0 {
		copy(dst, t)
		return
	}
	ty := t[y]
	if len(t) == 2 {
		p, _, _ := margin(t, y, t[1-y]-ty, 1, s, logS)
		dst[1-y] = t[1-y] - s*p
		dst[y] = ty + s*p
		return
	}
	d, share := rivals(t, y)
	p, a, _ := margin(t, y, d, share, s, logS)
	shift := logS - a - s*p
	for l, tl := range t {
		if l != y {
			dst[l] = tl - omega(tl-ty+shift)
		}
	}
	dst[y] = ty + s*p
}

// Value returns Σ_i ω_i ℓ(y_i; β_i), each term to full relative precision however
// small it is.
func (Softmax) Value(beta, omega []float64, y []int32, labels int) (float64, error) {
	if err := checkLabels(beta, beta, omega, y, labels); err != nil {
		return 0, err
	}
	total, w := 0.0, 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		d, _ := rivals(beta[i*labels:(i+1)*labels], int(yi))
		p, q := odds(-d)
		total += w * softplus(-d, p, q)
	}
	return total, nil
}
