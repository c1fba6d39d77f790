package loss

import "slices"

// CrammerSinger is the multiclass hinge loss of Crammer and Singer (2001)
//
//	ℓ(y; β) = max_l (β_l + [l≠y]) − β_y = max(0, max_{l≠y} 1 + β_l − β_y).
//
// With s = ω/ρ the minimiser of ω ℓ(y; β) + ρ/2‖β − t‖² raises label y by some
// step and cuts the others off at a common height x above t_y, less the margin:
//
//	β_y = t_y + min(s, x),  β_l = t_l − max(0, g_l − x),  g_l = 1 + t_l − t_y,
//	Σ_{l≠y} max(0, g_l − x) = min(s, x).
//
// That is the dual problem, a projection onto a simplex, with the variable of
// label y eliminated.
type CrammerSinger struct{}

// stackLabels is the number of labels up to which scratch memory is on the stack.
const stackLabels = 32

// height returns the x of CrammerSinger for one label, in the manner of Kiwiel's
// variable fixing (2008): a set of labels that contains the cut ones gives a lower
// bound of x, labels below the bound are dropped, until none is. Two or three
// passes over t are usual.
func height(t []float64, y int, s float64) float64 {
	x, count := 0.0, len(t)
	for {
		sum, k := 0.0, 0
		for l, tl := range t {
			if g := 1 + (tl - t[y]); l != y && g > x {
				sum += g
				k++
			}
		}
		if k >= count || k == 0 { // never more, but for rounding
			return x
		}
		count = k
		x = sum / float64(k+1)
		if x > s {
			x = (sum - s) / float64(k)
		}
	}
}

// Table writes, for every sample i and label y,
//
//	u[i·L+y] = min_β ω_i ℓ(y; β) + ρ/2‖β − t_i‖².
//
// t and u are n×L row-major and may not alias. omega holds n weights ≥ 0, or is
// nil for all ones. rho is > 0. It costs O(L log L) a sample: one sort serves all
// labels.
func (CrammerSinger) Table(u, t, omega []float64, labels int, rho float64) error {
	if err := check(u, t, omega, labels); err != nil {
		return err
	}
	var stack [3*stackLabels + 2]float64
	scratch := stack[:]
	if labels > stackLabels {
		scratch = make([]float64, 3*labels+2)
	}
	w := 1.0
	for i := 0; i+labels <= len(t); i += labels {
		if omega != nil {
			w = omega[i/labels]
		}
		ti, ui := t[i:i+labels], u[i:i+labels]
		if labels == 2 {
			ui[0] = pair(1+(ti[1]-ti[0]), w, rho)
			ui[1] = pair(1+(ti[0]-ti[1]), w, rho)
			continue
		}
		crammerSingerRow(ui, ti, w, rho, scratch)
	}
	return nil
}

// pair is the minimum with two labels whose targets violate the margin by g.
func pair(g, w, rho float64) float64 {
	if g <= 0 {
		return 0
	}
	step := min(w/rho, g/2)
	return w*(g-2*step) + rho*step*step
}

// crammerSingerRow is Table for one sample. It measures heights downward from the
// largest target: e_l = max t − t_l are the depths and the others are cut off at
// depth v = 1 + e_y − x, so that Σ_{l≠y} max(0, v − e_l) = min(s, 1 + e_y − v): a
// basin with bottom e filled to level v. Sorted depths and their prefix sums give
// the number of labels under water by bisection. scratch holds 3L+2 floats.
func crammerSingerRow(u, t []float64, w, rho float64, scratch []float64) {
	n := len(t)
	s, top := w/rho, slices.Max(t)
	e, sum, squares := scratch[:n], scratch[n:2*n+1], scratch[2*n+1:3*n+2]
	first := -1
	for l, tl := range t {
		e[l] = top - tl
		if tl == top && first < 0 {
			first = l
		}
	}
	slices.Sort(e)
	sum[0], squares[0] = 0, 0
	for k, ek := range e {
		sum[k+1], squares[k+1] = sum[k]+ek, squares[k]+ek*ek
	}
	for y, ty := range t {
		if y == first {
			u[y] = cutValue(t, y, w, rho)
			continue
		}
		ey := top - ty
		// The largest target is under water for every other y, so level lies
		// in (e[k-1], e[k]] for the k found here.
		lo, hi := 1, n
		for lo < hi {
			k := (lo + hi) / 2
			volume := float64(k)*e[k] - sum[k] - max(0, e[k]-ey)
			if volume >= min(s, 1+ey-e[k]) {
				hi = k
			} else {
				lo = k + 1
			}
		}
		k, bottom, bottom2 := float64(lo), sum[lo], squares[lo]
		if ey <= e[lo-1] { // y is among the first lo
			k, bottom, bottom2 = k-1, bottom-ey, bottom2-ey*ey
		}
		level := (1 + ey + bottom) / (k + 1)
		if 1+ey-level > s {
			level = (s + bottom) / k
		}
		// All terms are at most level², which the largest target contributes:
		// nothing cancels.
		cut := max(0, level*(k*level-2*bottom)+bottom2)
		x := 1 + ey - level
		step := min(s, x)
		u[y] = w*(x-step) + rho/2*(cut+step*step)
	}
}

// cutValue is the minimum for label y of one sample, in O(L) a pass of height.
func cutValue(t []float64, y int, w, rho float64) float64 {
	x := height(t, y, w/rho)
	step := min(w/rho, x)
	sum := step * step
	for l, tl := range t {
		if g := 1 + (tl - t[y]); l != y && g > x {
			sum += (g - x) * (g - x)
		}
	}
	return w*(x-step) + rho/2*sum
}

// Prox writes argmin_β ω_i ℓ(y_i; β) + ρ/2‖β − t_i‖² to row i of dst.
// dst may alias t.
func (CrammerSinger) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) error {
	if err := checkLabels(dst, t, omega, y, labels); err != nil {
		return err
	}
	w := 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		s, ti, di := w/rho, t[i*labels:(i+1)*labels], dst[i*labels:(i+1)*labels]
		x, ty := height(ti, int(yi), s), ti[yi]
		for l, tl := range ti {
			di[l] = tl - max(0, 1+(tl-ty)-x)
		}
		di[yi] = ty + min(s, x)
	}
	return nil
}

// rival returns the label other than y with the largest score, the first of equals.
func rival(beta []float64, y int) int {
	best := -1
	for l, b := range beta {
		if l != y && (best < 0 || b > beta[best]) {
			best = l
		}
	}
	return best
}

// Value returns Σ_i ω_i ℓ(y_i; β_i).
func (CrammerSinger) Value(beta, omega []float64, y []int32, labels int) (float64, error) {
	if err := checkLabels(beta, beta, omega, y, labels); err != nil {
		return 0, err
	}
	total, w := 0.0, 1.0
	for i, yi := range y {
		if omega != nil {
			w = omega[i]
		}
		bi := beta[i*labels : (i+1)*labels]
		total += w * max(0, 1+(bi[rival(bi, int(yi))]-bi[yi]))
	}
	return total, nil
}
