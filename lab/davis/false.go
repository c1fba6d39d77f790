package davis

import "math"

// False is how much of the masks is not the object, as shares of the object's pixels, all
// frames' taken together, by how far it is from the object: within what F allows an outline
// to be off by, within the object's size, which is the square root of its pixels, and
// farther. A frame without the object has all of it far away.
type False struct {
	Outline float64 `json:"outline"`
	Near    float64 `json:"near"`
	Far     float64 `json:"far"`
}

// countFalse returns how many pixels of got are not in want, masks and reach as boundaryF takes
// them: in the order of False.
func countFalse(got, want []uint8, width, height, reach int) (counts [3]int) {
	size := 0
	for _, v := range want {
		if v != 0 {
			size++
		}
	}
	if size == 0 {
		for _, v := range got {
			if v != 0 {
				counts[2]++
			}
		}
		return counts
	}
	edge := outline(want, width, height)
	nearest := func(p int) float64 {
		x, y, least := p%width, p/width, math.MaxInt
		for _, q := range edge {
			dx, dy := q%width-x, q/width-y
			least = min(least, dx*dx+dy*dy)
		}
		return math.Sqrt(float64(least))
	}
	for p, v := range got {
		if v == 0 || want[p] != 0 {
			continue
		}
		switch d := nearest(p); {
		case d <= float64(reach):
			counts[0]++
		case d <= math.Sqrt(float64(size)):
			counts[1]++
		default:
			counts[2]++
		}
	}
	return counts
}

// falseOf sums the frames' counts up, as shares of the object's pixels in them.
func falseOf(counts [][3]int, pixels []int) False {
	var sum [3]float64
	all := 0
	for i, c := range counts {
		all += pixels[i]
		for k, n := range c {
			sum[k] += float64(n)
		}
	}
	n := float64(max(all, 1))
	return False{Outline: sum[0] / n, Near: sum[1] / n, Far: sum[2] / n}
}
