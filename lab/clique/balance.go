package clique

import (
	"context"
	"fmt"
	"math"
)

// Balance bounds how often each label occurs among all samples. It implements
// solver.Labeler and is exact.
type Balance struct {
	lo, hi []int
	next   []int32
	count  []int   // samples of each label
	flow   []int   // units of each label that count, within [lo, hi]
	heaps  []moves // L×L: heaps[j·L+k] offers samples of label j to label k

	dist []float64 // L+1: shortest distances from the nodes with excess
	from []int
	via  []int32 // the sample that an arc of the path moves, −1 for an arc of the sink
}

// NewBalance bounds label l to [lo[l], hi[l]] samples. The slices are kept. It
// panics if they differ in length, name fewer than two labels, or cross.
func NewBalance(lo, hi []int) *Balance {
	if len(lo) != len(hi) || len(lo) < 2 {
		panic(fmt.Sprintf("clique: %d lower and %d upper bounds; want as many, at least 2", len(lo), len(hi)))
	}
	for l := range lo {
		if lo[l] > hi[l] || hi[l] < 0 {
			panic(fmt.Sprintf("clique: label %d in [%d, %d]", l, lo[l], hi[l]))
		}
	}
	n := len(lo)
	return &Balance{lo: lo, hi: hi, count: make([]int, n), flow: make([]int, n), heaps: make([]moves, n*n),
		dist: make([]float64, n+1), from: make([]int, n+1), via: make([]int32, n+1)}
}

// Energy returns Penalty for each sample that y has outside the bounds.
func (b *Balance) Energy(y []int32) (float64, error) {
	return Penalty * float64(b.violations(y)), nil
}

func (b *Balance) violations(y []int32) int {
	clear(b.count)
	for _, l := range y {
		b.count[l]++
	}
	sum := 0
	for l, c := range b.count {
		sum += outside(c, b.lo[l], b.hi[l])
	}
	return sum
}

// Label writes the labeling of least Σ_i u[i·L+y_i] within the bounds to y. Of
// equally good ones it keeps the one handed in. The unconstrained labeling is
// made feasible one sample at a time, each along a shortest path of label
// changes, which keeps it optimal for the counts it has (successive shortest
// paths; Ahuja, Magnanti & Orlin, Network Flows, ch. 9). Cost O(nL log n) for
// the heaps and O(L³ + L log n) for each sample in surplus.
//
// It wraps ErrInfeasible if there is none; y is then as it was.
func (b *Balance) Label(ctx context.Context, y []int32, u []float64) error {
	labels := len(b.lo)
	if len(u) != len(y)*labels {
		panic(fmt.Sprintf("clique: %d unaries for %d samples × %d labels", len(u), len(y), labels))
	}
	if cap(b.next) < len(y) {
		b.next = make([]int32, len(y))
	}
	b.next = b.next[:len(y)]
	if err := cheapest(b.next, u, labels); err != nil {
		return err
	}
	if b.violations(b.next) > 0 {
		if err := b.repair(ctx, u); err != nil {
			return err
		}
	}
	if cost(y, u, labels) > cost(b.next, u, labels) || b.violations(y) > 0 {
		copy(y, b.next)
	}
	return nil
}

// repair routes surplus samples to labels that lack some. Nodes are the labels
// and a sink (node L) that takes flow[l] ∈ [lo, hi] units of each; what a label
// has beyond its flow is its excess, what it lacks its deficit.
func (b *Balance) repair(ctx context.Context, u []float64) error {
	labels := len(b.lo)
	b.fill(u)
	for l, c := range b.count {
		b.flow[l] = min(max(c, b.lo[l]), b.hi[l])
	}
	for ctx.Err() == nil {
		target, done := b.shortest(u)
		if done {
			return nil
		}
		if target < 0 {
			return fmt.Errorf("%w: %v of the labels, want within %v and %v", ErrInfeasible, b.count, b.lo, b.hi)
		}
		for at := target; b.from[at] >= 0; at = b.from[at] {
			from := b.from[at]
			switch {
			case at == labels:
				b.flow[from]++
			case from == labels:
				b.flow[at]--
			default:
				b.move(b.via[at], from, at, u)
			}
		}
	}
	return ctx.Err()
}

// excess is how much a node has to give (positive) or to get.
func (b *Balance) excess(node int) int {
	if node < len(b.lo) {
		return b.count[node] - b.flow[node]
	}
	sum := -len(b.next)
	for _, f := range b.flow {
		sum += f
	}
	return sum
}

// shortest finds the nearest node in deficit from any in excess by Bellman and
// Ford: arcs may be negative, cycles are not. It returns −1 if none is within
// reach, and done if no node has excess or deficit.
func (b *Balance) shortest(u []float64) (target int, done bool) {
	labels := len(b.lo)
	done = true
	for v := range b.dist {
		b.dist[v], b.from[v] = math.Inf(1), -1
		if e := b.excess(v); e > 0 {
			b.dist[v] = 0
			done = false
		} else if e < 0 {
			done = false
		}
	}
	if done {
		return -1, true
	}
	for range labels + 1 {
		changed := false
		relax := func(j, k int, d float64, via int32) {
			// A node with excess is a root: no path leads into it.
			if b.dist[j]+d < b.dist[k] && b.excess(k) <= 0 {
				b.dist[k], b.from[k], b.via[k] = b.dist[j]+d, j, via
				changed = true
			}
		}
		for j := range labels {
			for k := range labels {
				if j == k || math.IsInf(b.dist[j], 1) {
					continue
				}
				if i, d, ok := b.heaps[j*labels+k].top(b.next, int32(j)); ok {
					relax(j, k, d, i)
				}
			}
			if b.flow[j] < b.hi[j] {
				relax(j, labels, 0, -1)
			}
			if b.flow[j] > b.lo[j] {
				relax(labels, j, 0, -1)
			}
		}
		if !changed {
			break
		}
	}
	target = -1
	for v, d := range b.dist {
		if b.excess(v) < 0 && !math.IsInf(d, 1) && (target < 0 || d < b.dist[target]) {
			target = v
		}
	}
	return target, false
}

// move gives sample i of label j the label k.
func (b *Balance) move(i int32, j, k int, u []float64) {
	labels := len(b.lo)
	b.next[i] = int32(k)
	b.count[j]--
	b.count[k]++
	row := u[int(i)*labels : (int(i)+1)*labels]
	for l, v := range row {
		if l != k && !math.IsInf(v, 1) {
			b.heaps[k*labels+l].push(offer{v - row[k], i})
		}
	}
}

// fill offers every sample to every label but its own.
func (b *Balance) fill(u []float64) {
	labels := len(b.lo)
	for h := range b.heaps {
		b.heaps[h] = b.heaps[h][:0]
	}
	for i, j := range b.next {
		row := u[i*labels : (i+1)*labels]
		for l, v := range row {
			if l != int(j) && !math.IsInf(v, 1) {
				h := &b.heaps[int(j)*labels+l]
				*h = append(*h, offer{v - row[j], int32(i)})
			}
		}
	}
	for h := range b.heaps {
		b.heaps[h].order()
	}
}
