package clique

import "math"

// repair changes labels one at a time, then two at a time, while that breaks
// fewer bounds, always at the least cost for what it mends. It returns by how
// many samples the labeling is still outside.
func (q *Cliques) repair(u []float64) int {
	unmet := q.Violations(q.next) // leaves counts of next
	for unmet > 0 {
		gain := q.bestMove(u)
		if gain == 0 {
			gain = q.bestPair(u)
		}
		if gain == 0 {
			return unmet
		}
		unmet -= gain
	}
	q.polish(u)
	return 0
}

// polish takes moves that break nothing and cost less, until there is none.
func (q *Cliques) polish(u []float64) {
	for changed := true; changed; {
		changed = false
		for _, i := range q.bound {
			ui := u[int(i)*q.labels : (int(i)+1)*q.labels]
			for l := range q.labels {
				if ui[l] < ui[q.next[i]] && q.gain(i, int32(l)) >= 0 {
					q.move(i, int32(l))
					changed = true
				}
			}
		}
	}
}

// gain is by how much fewer samples are outside if sample i takes label l.
func (q *Cliques) gain(i, l int32) int {
	from, sum := q.next[i], 0
	for _, c := range q.member[i] {
		clique, k := &q.cliques[c], q.counts[int(c)*q.labels:]
		sum += outside(k[from], clique.Lo[from], clique.Hi[from]) - outside(k[from]-1, clique.Lo[from], clique.Hi[from]) +
			outside(k[l], clique.Lo[l], clique.Hi[l]) - outside(k[l]+1, clique.Lo[l], clique.Hi[l])
	}
	return sum
}

func (q *Cliques) move(i, l int32) {
	for _, c := range q.member[i] {
		q.counts[int(c)*q.labels+int(q.next[i])]--
		q.counts[int(c)*q.labels+int(l)]++
	}
	q.next[i] = l
}

// bestMove makes the single change that mends most for its cost and returns what
// it mended, 0 if none does.
func (q *Cliques) bestMove(u []float64) int {
	best, gained := math.Inf(1), 0
	var bi, bl int32
	for _, i := range q.bound {
		ui := u[int(i)*q.labels : (int(i)+1)*q.labels]
		for l := range int32(q.labels) {
			if l == q.next[i] || math.IsInf(ui[l], 1) {
				continue
			}
			if g := q.gain(i, l); g > 0 {
				if price := (ui[l] - ui[q.next[i]]) / float64(g); price < best {
					best, gained, bi, bl = price, g, i, l
				}
			}
		}
	}
	if gained > 0 {
		q.move(bi, bl)
	}
	return gained
}

// bestPair is bestMove for two changes, the first of which mends nothing by
// itself but breaks nothing either.
func (q *Cliques) bestPair(u []float64) int {
	best, gained := math.Inf(1), 0
	var bi, bl, bj, bm int32
	for _, i := range q.bound {
		ui := u[int(i)*q.labels : (int(i)+1)*q.labels]
		was := q.next[i]
		for l := range int32(q.labels) {
			if l == was || math.IsInf(ui[l], 1) || q.gain(i, l) < 0 {
				continue
			}
			q.move(i, l)
			for _, j := range q.bound {
				uj := u[int(j)*q.labels : (int(j)+1)*q.labels]
				for m := range int32(q.labels) {
					if j == i || m == q.next[j] || math.IsInf(uj[m], 1) {
						continue
					}
					price := ui[l] - ui[was] + uj[m] - uj[q.next[j]]
					if price >= best {
						continue
					}
					if g := q.gain(j, m); g > 0 {
						best, gained, bi, bl, bj, bm = price, g, i, l, j, m
					}
				}
			}
			q.move(i, was)
		}
	}
	if gained > 0 {
		q.move(bi, bl)
		q.move(bj, bm)
	}
	return gained
}
