package davis

import (
	"math"

	"github.com/segd/segd/eval/internal/stats"
)

// False is how much of the masks is not the object, as shares of the object's pixels, all
// frames' taken together, by how far it is from the object: within what F allows an outline
// to be off by, within the object's size, which is the square root of its pixels, and
// farther. A frame without the object has all of it far away.
type False struct {
	Outline float64 `json:"outline"`
	Near    float64 `json:"near"`
	Far     float64 `json:"far"`
}

// figures lists the shares.
func (f *False) figures() []*float64 { return []*float64{&f.Outline, &f.Near, &f.Far} }

// countFalse returns how many pixels of got are not in want, masks of height×width as
// boundaryF takes them: in the order of False.
func countFalse(got, want []uint8, width, height int) (counts [3]int) {
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
	tolerance := math.Ceil(boundaryTolerance * math.Hypot(float64(width), float64(height)))
	for p, v := range got {
		if v == 0 || want[p] != 0 {
			continue
		}
		switch d := nearest(p); {
		case d <= tolerance:
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
func falseOf(counts [][3]int, pixels []int) (f False) {
	all := 0
	for _, n := range pixels {
		all += n
	}
	for k, share := range f.figures() {
		for _, c := range counts {
			*share += float64(c[k]) / float64(max(all, 1))
		}
	}
	return f
}

// meanFalse is the mean over sequences or repeats.
func meanFalse(rows []Sequence) (f False) {
	for k, share := range f.figures() {
		values := make([]float64, len(rows))
		for i := range rows {
			values[i] = *rows[i].False.figures()[k]
		}
		*share = stats.Mean(values)
	}
	return f
}
