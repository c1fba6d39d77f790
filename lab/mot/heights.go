package mot

import "math"

// heights part boxes by how tall they are, in pixels.
var heights = [...]float64{0, 40, 80, math.Inf(1)}

// Height are the figures of boxes from From to less than To pixels tall; To is null for the tallest.
type Height struct {
	From   float64  `json:"from"`
	To     *float64 `json:"to"`
	True   int      `json:"true"`   // true boxes
	Recall *float64 `json:"recall"` // share of these that are found
	False  int      `json:"false"`  // found boxes that are not right
}

// byHeight counts as [Score] does, each frame by itself.
func byHeight(frames []frame) []Height {
	var out []Height
	for k, from := range heights[:len(heights)-1] {
		to := heights[k+1]
		within := func(b Box) bool { return b.Height >= from && b.Height < to }
		h, right := Height{From: from}, 0
		if !math.IsInf(to, 1) {
			h.To = &to
		}
		for _, f := range frames {
			wrong := map[int]bool{}
			for j, b := range f.found {
				wrong[j] = within(b.box)
			}
			for i, j := range pair(f.truth, f.found, trackDistance) {
				delete(wrong, j)
				if within(f.truth[i].box) {
					h.True++
					if j >= 0 {
						right++
					}
				}
			}
			for _, is := range wrong {
				if is {
					h.False++
				}
			}
		}
		h.Recall = share(right, h.True)
		out = append(out, h)
	}
	return out
}
