package stats

// bins are those of a reliability table.
const bins = 10

// Bin is how many of the masks with a score in a tenth of 0…1 are right.
type Bin struct {
	From  float64 `json:"from"`  // least score
	Masks int     `json:"masks"` // at least one
	Score float64 `json:"score"` // mean
	Right float64 `json:"right"` // share
}

// Reliability gathers scores and whether what they are of is right: scores are calibrated if
// in every bin the share that is right is the mean score. The zero value is empty.
type Reliability struct {
	masks, right [bins]int
	sum          [bins]float64
}

// Add takes in one score, of 0…1.
func (r *Reliability) Add(score float64, right bool) {
	k := min(max(int(score*bins), 0), bins-1)
	r.masks[k]++
	r.sum[k] += score
	if right {
		r.right[k]++
	}
}

// Bins are those with any masks, by rising score.
func (r *Reliability) Bins() (all []Bin) {
	for k, n := range r.masks {
		if n > 0 {
			all = append(all, Bin{float64(k) / bins, n, r.sum[k] / float64(n), float64(r.right[k]) / float64(n)})
		}
	}
	return all
}
