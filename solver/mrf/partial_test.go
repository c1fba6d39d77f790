package mrf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDecidedLabelsAreBest compares the labels that are decided ahead with every
// labeling of least energy.
func TestDecidedLabelsAreBest(t *testing.T) {
	ctx := context.Background()
	var p Potts
	decided, left := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 21))
		labels, n := 3+r.IntN(2), 1+r.IntN(8)
		edges := randomEdges(r, n, 2*n)
		p.Reset(n, labels, edges)
		for range 3 {
			u := randomUnaries(r, n, labels)
			y := make([]int32, n)
			if _, err := p.check(y, u); err != nil {
				t.Fatal(err)
			}
			p.common(ctx, u)
			for alpha := range int32(labels) {
				p.decide(ctx, alpha)
			}
			least := minimum(n, labels, edges, u)
			bruteForce(n, labels, func(y []int32) {
				if energy(edges, labels, y, u) > least+1e-9*(1+math.Abs(least)) {
					return
				}
				for i, l := range y {
					if !p.part.open[i] && p.next[i] != l {
						t.Fatalf("seed %d: node %d is decided for label %d, a minimum has %d", seed, i, p.next[i], l)
					}
				}
			})
			for i := range n {
				if p.part.open[i] {
					left++
				} else {
					decided++
				}
			}
		}
	}
	if left == 0 || decided < 2*left {
		t.Errorf("%d nodes decided, %d left open; want some open and most decided", decided, left)
	}
}

// bestExpansion is the least energy of an expansion move to alpha from y, by a cut of
// the whole graph.
func bestExpansion(edges []Edge, labels int, y []int32, u []float64, alpha int32) float64 {
	stay, change := make([]float64, len(y)), make([]float64, len(y))
	for i, l := range y {
		stay[i], change[i] = u[i*labels+int(l)], u[i*labels+int(alpha)]
	}
	var pairs []Edge
	for _, e := range edges {
		a, b := y[e.I], y[e.J]
		switch {
		case e.I == e.J || a == alpha && b == alpha:
		case a == b:
			pairs = append(pairs, e)
		case a == alpha:
			stay[e.J] += e.W
		case b == alpha:
			stay[e.I] += e.W
		default: // the weight unless both change
			stay[e.I], stay[e.J] = stay[e.I]+e.W/2, stay[e.J]+e.W/2
			pairs = append(pairs, Edge{e.I, e.J, e.W / 2})
		}
	}
	least := 0.0
	term := make([]float64, len(y))
	for i := range y {
		least += min(stay[i], change[i])
		if y[i] != alpha {
			term[i] = stay[i] - change[i]
		}
	}
	var c Cut
	c.Reset(len(y), pairs)
	for i, d := range term {
		c.SetTerminal(i, d)
	}
	c.Solve(context.Background())
	return least + c.Flow()
}

// TestNoExpansionIsLeft is TestExpansion on larger graphs, where labels are decided
// in regions, and most of what stays open is small.
func TestNoExpansionIsLeft(t *testing.T) {
	for _, labels := range []int{3, 5, 9} {
		t.Run(fmt.Sprint("L=", labels), func(t *testing.T) {
			var p Potts
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 22))
				n, edges := superpixels(400, 2, r)
				p.Reset(n, labels, edges)
				us := [][]float64{randomUnaries(r, n, labels), blobs(n, 2, labels, 1, r)}
				us = append(us, slices.Clone(us[1])) // with the labels of a node reversed
				for i := range n {
					slices.Reverse(us[2][i*labels : (i+1)*labels])
				}
				for k, u := range us {
					for i, v := range u {
						u[i] = min(v, 1e3) // in sums, infinities say nothing
					}
					y := randomLabels(r, n, labels)
					got := label(t, &p, edges, labels, y, u)
					for alpha := range int32(labels) {
						if e := bestExpansion(edges, labels, y, u, alpha); e < got-1e-9*(1+math.Abs(e)) {
							t.Fatalf("seed %d, unaries %d: expanding %d gives %v, less than %v", seed, k, alpha, e, got)
						}
					}
				}
			}
		})
	}
}
