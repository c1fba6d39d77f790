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
	candidate         []bool    // N×L: which labels are heard at all
	labels            int
	heard             []int32 // of one superpixel
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
		row, rest := v.q[i*v.labels:(i+1)*v.labels], 0.0
		v.heard = v.heard[:0]
		for l, can := range v.candidate[i*v.labels : (i+1)*v.labels] {
			if can {
				v.heard = append(v.heard, int32(l))
			}
		}
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
			heard := 0.0
			for _, l := range v.heard {
				heard += soft[l]
				if l > 0 && r.Knows(int(l)) {
					row[l] += trusted * soft[l]
				}
			}
			v.support[i] += w * heard
			v.reliable[i] += trusted * heard
			rest += trusted * soft[0]
		}
		r.divide(row, rest)
	}
}

// divide adds rest to label 0 and the labels r says nothing of, in proportion to what
// they have.
func (r *Reference) divide(row []float64, rest float64) {
	has := row[0]
	for l := range row {
		if !r.Knows(l) {
			has += row[l]
		}
	}
	if has == 0 {
		row[0] += rest
		return
	}
	for l := range row {
		if l == 0 || !r.Knows(l) {
			row[l] += rest * row[l] / has
		}
	}
}

// normalise makes every row of q sum to 1. A row without votes becomes uniform, but
// certain background if it was not asked.
func normalise(q []float64, asked []bool, labels int) {
	for i := 0; i < len(q); i += labels {
		row, sum := q[i:i+labels], 0.0
		if !asked[i/labels] {
			clear(row)
			row[0] = 1
			continue
		}
		for _, v := range row {
			sum += v
		}
		if sum <= 0 {
			for l := range row {
				row[l] = 1 / float64(labels)
			}
			continue
		}
		for l := range row {
			row[l] /= sum
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
