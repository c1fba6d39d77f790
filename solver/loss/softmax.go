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
	// Newton's error is squared and Halley's cubed by the step that is smaller
	// than this.
	newtonTol, halleyTol = 1e-7, 1e-5
	// maxSteps bounds the safeguarded iterations; five is usual, and bisection
	// alone would need about 60.
	maxSteps = 80
	// frozen is the R below which the prox does not move the margin.
	frozen = 1e-17
)

// sigmoid returns p = 1/(1+exp z), q = 1−p and a = log(1+exp −z) = −log q.
func sigmoid(z float64) (p, q, a float64) {
	e := math.Exp(-math.Abs(z))
	q = 1 / (1 + e)
	p, a = e*q, math.Log1p(e)
	if z < 0 {
		return q, p, a - z
	}
	return p, q, a
}

// logistic solves z = m + κ/(1+exp z) for κ > 0 by Halley's method.
func logistic(m, kappa float64) float64 {
	lo, hi := m, m+kappa
	// 1/(1+exp z) is at most exp −z.
	hi = min(hi, m+omega(math.Log(kappa)-m))
	z := hi
	for range maxSteps {
		e := math.Exp(-math.Abs(z))
		p := 1 / (1 + e)
		q := e * p
		if z > 0 {
			p, q = q, p
		}
		f, slope := z-m-kappa*p, 1+kappa*p*q
		if f > 0 {
			hi = z
		} else {
			lo = z
		}
		step := -2 * f * slope / (2*slope*slope - f*kappa*p*q*(p-q))
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
// and Σ_{l≠y} q_l². d and share are those of rivals, s > 0.
//
// Were all mass in `share` equal rivals, z = −d + s(1+1/share)p would be the
// equation; with two labels it is. Its root starts Newton's method on the
// logarithm of Σ q_l/R, which is nearly linear in z.
func margin(t []float64, y int, d, share, s float64) (p, a, squares float64) {
	if p, _, a = sigmoid(-d); s*p < frozen {
		return p, a, s * p * s * p / share
	}
	z := logistic(-d, s+s/share)
	if len(t) == 2 {
		p, _, a = sigmoid(z)
		return p, a, s * p * s * p
	}
	logS, ty := math.Log(s), t[y]
	lo, hi := -d, -d+2*s
	for range maxSteps {
		var q float64
		p, q, a = sigmoid(z)
		shift := logS - a - s*p
		var sum, slope, cross float64
		squares = 0
		for l, tl := range t {
			if l == y {
				continue
			}
			v := omega(tl - ty + shift)
			dv := v / (1 + v)
			sum += v
			slope += dv
			squares += v * v
			cross += v * dv
		}
		f := math.Log(sum / (s * p))
		if f > 0 {
			hi = z
		} else {
			lo = z
		}
		dx := p * (1 + s*q) // of every x_l by z
		step := -f / (slope/sum*dx + q)
		z += step
		if !(math.Abs(step) > newtonTol) {
			p, _, a = sigmoid(z)
			return p, a, squares + 2*cross*dx*step
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
// nil for all ones. rho is > 0. It costs two or three passes of L−1 Lambert
// functions a label; what starts them is shared by all labels.
func (Softmax) Table(u, t, omega []float64, labels int, rho float64) {
	w := 1.0
	for i := 0; i+labels <= len(t); i += labels {
		if omega != nil {
			w = omega[i/labels]
		}
		ti, ui := t[i:i+labels], u[i:i+labels]
		if w == 0 {
			clear(ui)
			continue
		}
		softmaxRow(ui, ti, w, rho)
	}
}

func softmaxRow(u, t []float64, w, rho float64) {
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
		var d, share float64
		switch {
		case len(t) == 2:
			d, share = t[1-y]-t[y], 1
		case y == top:
			d, share = rivals(t, y)
		default:
			rest := sum - e
			d, share = t[top]-t[y]+math.Log(rest), rest*rest/(squares-e*e)
		}
		p, a, q2 := margin(t, y, d, share, s)
		u[y] = w*a + rho/2*(s*p*s*p+q2)
	}
}

// Prox writes argmin_β ω_i ℓ(y_i; β) + ρ/2‖β − t_i‖² to row i of dst.
// dst may alias t.
func (Softmax) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) {
	w := 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		softmaxProx(dst[i*labels:(i+1)*labels], t[i*labels:(i+1)*labels], int(yi), w/rho)
	}
}

func softmaxProx(dst, t []float64, y int, s float64) {
	if s == 0 {
		copy(dst, t)
		return
	}
	ty := t[y]
	d, share := t[rival(t, y)]-ty, 1.0
	if len(t) > 2 {
		d, share = rivals(t, y)
	}
	p, a, _ := margin(t, y, d, share, s)
	if len(t) == 2 {
		dst[1-y] = t[1-y] - s*p
	} else {
		shift := math.Log(s) - a - s*p
		for l, tl := range t {
			if l != y {
				dst[l] = tl - omega(tl-ty+shift)
			}
		}
	}
	dst[y] = ty + s*p
}

// Gradient writes the gradient of ω_i ℓ(y_i; ·) at β_i to row i of dst: ω_i times
// the softmax of β_i less 1 at y_i. dst may alias beta.
func (Softmax) Gradient(dst, beta, omega []float64, y []int32, labels int) {
	w := 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		bi, di := beta[i*labels:(i+1)*labels], dst[i*labels:(i+1)*labels]
		top := bi[0]
		for _, b := range bi {
			top = max(top, b)
		}
		others, own := 0.0, 0.0
		for l, b := range bi {
			e := math.Exp(b - top)
			if di[l] = e; l == int(yi) {
				own = e
			} else {
				others += e
			}
		}
		scale := w / (own + others)
		for l, e := range di {
			di[l] = scale * e
		}
		di[yi] = -scale * others
	}
}

// Value returns Σ_i ω_i ℓ(y_i; β_i), each term to full relative precision however
// small it is.
func (Softmax) Value(beta, omega []float64, y []int32, labels int) float64 {
	total, w := 0.0, 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		d, _ := rivals(beta[i*labels:(i+1)*labels], int(yi))
		_, _, a := sigmoid(-d)
		total += w * a
	}
	return total
}
