package loss

import "math"

// omega is Wright's function, Lambert's W(exp x), for real x: the w > 0 with
// w + log w = x. Relative error is a few units in the last place plus that of
// exp x. It does not overflow: omega(x) ≈ x − log x for large x.
//
// As in Lawrence, Corless and Jeffrey, Algorithm 917 (ACM TOMS 38, 2012), a guess
// is followed by Fritsch, Shafer and Crowley's fourth-order iteration; the guess
// is good enough that one step always does.
func omega(x float64) float64 {
	w := roughOmega(x)
	if x < -6.5 || x > 1e20 {
		return w // is exact to the last place, and w⁶ may overflow
	}
	r := x - w - math.Log(w)
	w1 := 1 + w
	t := w1 * (w1 + 2.0/3*r)
	return w * (1 + r/w1*(t-r/2)/(t-r))
}

// roughOmega is omega to a relative error of 2e-4.
func roughOmega(x float64) float64 {
	switch {
	case x < -2:
		// W's power series; the next term is 52v⁷ of the first.
		v := math.Exp(x)
		return v * (1 - v*(1-v*(1.5-v*(8.0/3-v*(125.0/24-v*(54.0/5-v*16807.0/720))))))
	case x < 5:
		// Least relative error polynomial of degree 8 in x − 1 on [−2, 5], by
		// reweighted least squares; off by 3e-05 at most.
		d := x - 1
		return 0.999988 + d*(0.500036+d*(0.0625659+d*(-0.00524546+d*(-0.000373842+d*(0.000224775+d*(-2.0144e-05+d*(-4.55195e-06+d*7.71592e-07)))))))
	default:
		l := math.Log(x)
		return x - l + l/x + l*(l-2)/(2*x*x) + l*(6-9*l+2*l*l)/(6*x*x*x)
	}
}
