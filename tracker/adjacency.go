package tracker

import "github.com/segd/segd/solver/mrf"

// adjacency lists the neighbours of every superpixel, in the order of the edges.
type adjacency struct {
	first []int32 // neighbours of i: near[first[i]:first[i+1]]
	near  []int32
}

// build lays out the edges between n superpixels, reusing memory.
func (a *adjacency) build(n int, edges []mrf.Edge) {
	a.first = grow(a.first, n+2)
	clear(a.first)
	for _, e := range edges {
		a.first[e.I+2]++
		a.first[e.J+2]++
	}
	for i := 2; i < len(a.first); i++ {
		a.first[i] += a.first[i-1]
	}
	a.near = grow(a.near, 2*len(edges))
	for _, e := range edges {
		a.near[a.first[e.I+1]] = e.J
		a.first[e.I+1]++
		a.near[a.first[e.J+1]] = e.I
		a.first[e.J+1]++
	}
}

func (a *adjacency) of(i int32) []int32 { return a.near[a.first[i]:a.first[i+1]] }
