package clique

import (
	"context"
	"fmt"
	"math"
)

// Program is the relaxation's feasible set: rows of a sparse matrix A, by rows,
// with Lower ≤ Ax ≤ Upper and 0 ≤ x ≤ 1.
type Program struct {
	Columns      int
	Start        []int32 // row r holds entries [Start[r], Start[r+1])
	Index        []int32 // column of an entry; every value is 1
	Lower, Upper []float64
}

// LP minimises c·x over the program it was made for, writes the minimiser to x
// and returns the minimum. It may start from where the last call ended.
type LP interface {
	Minimise(ctx context.Context, x, c []float64) (float64, error)
}

// Cliques bounds the labels within overlapping cliques. It implements
// solver.Labeler by relaxation, rounding and repair.
type Cliques struct {
	n, labels int
	cliques   []Clique
	lp        LP
	bound     []int32   // samples in some clique, in the program's order
	member    [][]int32 // cliques of each sample
	counts    []int     // cliques×L, of the labeling at hand

	x, c []float64
	next []int32
}

// New bounds the labels of n samples by cliques, which are kept. lp must solve
// the program that Relax returns for the same arguments. Malformed cliques are a
// programming error and panic.
func New(n, labels int, cliques []Clique, lp LP) *Cliques {
	q := &Cliques{n: n, labels: labels, cliques: cliques, lp: lp, member: make([][]int32, n),
		counts: make([]int, len(cliques)*labels), next: make([]int32, n)}
	for c, clique := range cliques {
		clique.check(n, labels)
		for _, i := range clique.Members {
			q.member[i] = append(q.member[i], int32(c))
		}
	}
	for i, m := range q.member {
		if len(m) > 0 {
			q.bound = append(q.bound, int32(i))
		}
	}
	q.x, q.c = make([]float64, len(q.bound)*labels), make([]float64, len(q.bound)*labels)
	return q
}

// Relax is the linear relaxation over the samples that are in some clique, in
// ascending order: column s·L+l says how much of label l the s-th of them has.
// A sample in no clique takes its cheapest label and needs no program.
func Relax(n, labels int, cliques []Clique) Program {
	q := New(n, labels, cliques, nil)
	place := make([]int32, n)
	p := Program{Columns: len(q.bound) * labels, Start: []int32{0}}
	row := func(lower, upper float64) {
		p.Start = append(p.Start, int32(len(p.Index)))
		p.Lower, p.Upper = append(p.Lower, lower), append(p.Upper, upper)
	}
	for s, i := range q.bound {
		place[i] = int32(s)
		for l := range labels {
			p.Index = append(p.Index, int32(s*labels+l))
		}
		row(1, 1)
	}
	for _, c := range cliques {
		for l := range labels {
			for _, i := range c.Members {
				p.Index = append(p.Index, place[i]*int32(labels)+int32(l))
			}
			row(float64(c.Lo[l]), float64(c.Hi[l]))
		}
	}
	return p
}

// Energy returns Penalty for each sample that y has outside a clique's bounds.
func (q *Cliques) Energy(y []int32) (float64, error) {
	return Penalty * float64(q.Violations(y)), nil
}

// Violations sums over cliques and labels by how many samples y leaves the bounds.
func (q *Cliques) Violations(y []int32) int {
	q.count(y)
	sum := 0
	for c, clique := range q.cliques {
		for l, k := range q.counts[c*q.labels : (c+1)*q.labels] {
			sum += outside(k, clique.Lo[l], clique.Hi[l])
		}
	}
	return sum
}

func (q *Cliques) count(y []int32) {
	clear(q.counts)
	for _, i := range q.bound {
		for _, c := range q.member[i] {
			q.counts[int(c)*q.labels+int(y[i])]++
		}
	}
}

// forbidden stands for +Inf in the program's costs, beyond every other unary.
const forbidden = 1e7

// Label solves the relaxation, gives each sample the label it has most of, and
// repairs what that breaks, as far as it can: Violations tells. The y handed in is
// kept if it breaks no more bounds and costs no more.
func (q *Cliques) Label(ctx context.Context, y []int32, u []float64) error {
	if len(y) != q.n || len(u) != q.n*q.labels {
		panic(fmt.Sprintf("clique: %d labels and %d unaries for %d samples × %d labels", len(y), len(u), q.n, q.labels))
	}
	if err := cheapest(q.next, u, q.labels); err != nil {
		return err
	}
	if len(q.bound) > 0 {
		for s, i := range q.bound {
			for l := range q.labels {
				q.c[s*q.labels+l] = math.Min(u[int(i)*q.labels+l], forbidden)
			}
		}
		if _, err := q.lp.Minimise(ctx, q.x, q.c); err != nil {
			return fmt.Errorf("clique: relaxation: %w", err)
		}
		q.round(u)
	}
	unmet := q.repair(u)
	was := q.Violations(y)
	if was > unmet || was == unmet && cost(y, u, q.labels) > cost(q.next, u, q.labels) {
		copy(y, q.next)
	}
	return nil
}

// round gives each sample its largest share, the cheaper of equal ones.
func (q *Cliques) round(u []float64) {
	for s, i := range q.bound {
		row, ui := q.x[s*q.labels:(s+1)*q.labels], u[int(i)*q.labels:(int(i)+1)*q.labels]
		best := -1
		for l, v := range row {
			if math.IsInf(ui[l], 1) {
				continue
			}
			if best < 0 || v > row[best]+1e-6 || v > row[best]-1e-6 && ui[l] < ui[best] {
				best = l
			}
		}
		q.next[i] = int32(best)
	}
}
