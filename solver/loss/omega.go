package loss

import "math"

// omega is Wright's function, Lambert's W(exp x), for real x: the w > 0 with
// w + log w = x. Relative error is a few units in the last place plus that of
// exp x. It does not overflow: omega(x) ≈ x − log x for large x.
//
// After Lawrence, Corless and Jeffrey, Algorithm 917 (ACM TOMS 38, 2012): a guess
// and one or two steps of Fritsch, Shafer and Crowley's fourth-order iteration.
func omega(x float64) float64 {
	var w float64
	switch {
	case x < -36: // W(v) = v − v² + …, and v² is below the last place
		return math.Exp(x)
	case x < -2:
		v := math.Exp(x)
		w = v * (1 - v*(1-v*(1.5-v*(8.0/3-v*125/24)))) // W's power series
	case x <= 1+math.Pi:
		// Taylor's polynomial at x = 1 where w = 1; its denominators are
		// those of Algorithm 917.
		d := x - 1
		w = 1 + d*(1.0/2+d*(1.0/16+d*(-1.0/192+d*(-1.0/3072+d*13.0/61440))))
	case x > 1e20: // the next term, log(x)/x, is below the last place, and w⁶ may overflow
		return x - math.Log(x)
	default:
		l := math.Log(x)
		w = x - l + l/x + l*(l-2)/(2*x*x) + l*(6-9*l+2*l*l)/(6*x*x*x)
	}
	for range 2 {
		r := x - w - math.Log(w)
		w1 := 1 + w
		t := w1 * (w1 + 2.0/3*r)
		w *= 1 + r/w1*(t-r/2)/(t-r)
		// The step's error, as a fraction of w, is at most
		// |2w²−8w−1| r⁴ / (72 (1+w)⁶).
		r2, w3 := r*r, w1*w1*w1
		if !(math.Abs(2*w*w-8*w-1)*r2*r2 > 72*0x1p-53*w3*w3) {
			break
		}
	}
	return w
}
