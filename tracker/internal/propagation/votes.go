package propagation

import "github.com/segd/segd/tracker/internal/cosine"

// CorrectedWeight is what a vote of a corrected superpixel weighs: enough to leave no
// doubt, in which the classifier would speak, against the annotated frame that led to
// what was wrong (anchorWeight) and the latest frames.
const CorrectedWeight = 40

// votes are what is counted for one picture.
type votes struct {
	q                 []float64 // N×L: votes for the labels
	support, reliable []float64 // N: their weights' sum, and its trusted part
	can               *sparse   // which labels are heard at all beside the background
	labels            int
}

// add adds the soft labels of the matched superpixels of r: each match counts its weight,
// or by its cosine alone CorrectedWeight times if it leads to a corrected superpixel, and
// as much of it as r can be trusted there. What r calls background may
// be an object that was out of sight there or first annotated later; that share of its
// votes is divided as q stands among the background and the objects r does not know.
func (v *votes) add(matches []cosine.Match, weights []float64, k int, r *Reference) {
	for i := range len(matches) / k {
		if matches[i*k].To < 0 {
			continue
		}
		row, rest, can := v.q[i*v.labels:(i+1)*v.labels], 0.0, v.can.of(int32(i))
		for c, m := range matches[i*k : (i+1)*k] {
			if m.To < 0 {
				break
			}
			w := weights[i*k+c]
			if len(r.Corrected) > 0 && r.Corrected[m.To] {
				w = CorrectedWeight * m.Weight(Temperature)
			}
			soft := r.Soft[int(m.To)*v.labels : int(m.To+1)*v.labels]
			trusted := w * r.Trust[m.To]
			heard := soft[0]
			for _, l := range can {
				heard += soft[l]
				if r.Knows(int(l)) {
					row[l] += trusted * soft[l]
				}
			}
			v.support[i] += w * heard
			v.reliable[i] += trusted * heard
			rest += trusted * soft[0]
		}
		r.divide(row, can, rest)
	}
}

// divide adds rest to label 0 and those that can be that r says nothing of, in proportion to
// what they have.
func (r *Reference) divide(row []float64, can []int32, rest float64) {
	has := row[0]
	for _, l := range can {
		if !r.Knows(int(l)) {
			has += row[l]
		}
	}
	if has == 0 {
		row[0] += rest
		return
	}
	row[0] += rest * row[0] / has
	for _, l := range can {
		if !r.Knows(int(l)) {
			row[l] += rest * row[l] / has
		}
	}
}

// normalise makes every row of q sum to 1. A row without votes becomes uniform, but
// certain background if it was not asked.
func (v *votes) normalise(asked []bool) {
	for i := range int32(len(asked)) {
		row, can := v.q[int(i)*v.labels:][:v.labels], v.can.of(i)
		sum := row[0]
		for _, l := range can {
			sum += row[l]
		}
		switch {
		case !asked[i]:
			row[0] = 1
			for _, l := range can {
				row[l] = 0
			}
		case sum <= 0:
			for l := range row {
				row[l] = 1 / float64(v.labels)
			}
		default:
			row[0] /= sum
			for _, l := range can {
				row[l] /= sum
			}
		}
	}
}

// Uncertainty is 1 − (largest − second largest) of a probability row: 0 when it is
// sure, 1 when two labels tie.
func Uncertainty(q []float64) float64 {
	first, second := 0.0, 0.0
	for _, v := range q {
		if v > first {
			first, second = v, first
		} else if v > second {
			second = v
		}
	}
	return 1 - (first - second)
}
