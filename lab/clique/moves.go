package clique

// offer is a sample that would change its label, and what that adds to the cost.
type offer struct {
	delta  float64
	sample int32
}

func (a offer) before(b offer) bool {
	return a.delta < b.delta || a.delta == b.delta && a.sample < b.sample
}

// moves is a binary heap of offers, the cheapest on top. Offers of samples that
// have left their label stay until they reach the top. container/heap would
// allocate for every offer.
type moves []offer

func (h moves) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *moves) push(o offer) {
	*h = append(*h, o)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// top returns the cheapest offer of a sample that still has the label.
func (h *moves) top(y []int32, label int32) (sample int32, delta float64, ok bool) {
	for s := *h; len(s) > 0; s = *h {
		if y[s[0].sample] == label {
			return s[0].sample, s[0].delta, true
		}
		last := len(s) - 1
		s[0] = s[last]
		*h = s[:last]
		h.down(0)
	}
	return 0, 0, false
}

func (h moves) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
