package mrf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"
)

// energy is E(y) as the package comment writes it.
func energy(edges []Edge, labels int, y []int32, u []float64) float64 {
	e := 0.0
	for i, l := range y {
		e += u[i*labels+int(l)]
	}
	for _, d := range edges {
		if y[d.I] != y[d.J] {
			e += d.W
		}
	}
	return e
}

// bruteForce calls visit with every labeling of n nodes.
func bruteForce(n, labels int, visit func(y []int32)) {
	y := make([]int32, n)
	for {
		visit(y)
		i := 0
		for i < n && y[i] == int32(labels-1) {
			y[i] = 0
			i++
		}
		if i == n {
			return
		}
		y[i]++
	}
}

// minimum is the least energy of all labelings.
func minimum(n, labels int, edges []Edge, u []float64) float64 {
	best := math.Inf(1)
	bruteForce(n, labels, func(y []int32) { best = min(best, energy(edges, labels, y, u)) })
	return best
}

// randomEdges draws m edges among n nodes, duplicates and self edges included.
func randomEdges(r *rand.Rand, n, m int) []Edge {
	var edges []Edge
	for range m {
		if n > 0 {
			edges = append(edges, Edge{int32(r.IntN(n)), int32(r.IntN(n)), r.ExpFloat64()})
		}
	}
	return edges
}

// randomUnaries are small, large, negative, and now and then forbid a label,
// but never all of a node.
func randomUnaries(r *rand.Rand, n, labels int) []float64 {
	u := make([]float64, n*labels)
	for i := range n {
		scale := math.Exp(2 * r.NormFloat64())
		for l := range labels {
			u[i*labels+l] = scale * r.NormFloat64()
			if r.IntN(12) == 0 {
				u[i*labels+l] = math.Inf(1)
			}
		}
		if l := r.IntN(labels); math.IsInf(u[i*labels+l], 1) {
			u[i*labels+l] = 0
		}
		// The label just seen is finite, so one at least is allowed.
	}
	return u
}

func randomLabels(r *rand.Rand, n, labels int) []int32 {
	y := make([]int32, n)
	for i := range y {
		y[i] = int32(r.IntN(labels))
	}
	return y
}

// dinic is the flow value by gonum.
func dinic(n int, edges []Edge, term []float64) float64 {
	capacity := map[[2]int64]float64{}
	add := func(i, j int64, w float64) {
		if i != j && w > 0 {
			capacity[[2]int64{i, j}] += w
		}
	}
	for _, e := range edges {
		i, j := int64(e.I), int64(e.J)
		add(i, j, e.W)
		add(j, i, e.W)
	}
	s, t := int64(n), int64(n+1)
	for i, d := range term {
		add(s, int64(i), max(d, 0))
		add(int64(i), t, max(-d, 0))
	}
	g := simple.NewWeightedDirectedGraph(0, 0)
	g.AddNode(simple.Node(s))
	g.AddNode(simple.Node(t))
	for k, w := range capacity {
		g.SetWeightedEdge(simple.WeightedEdge{F: simple.Node(k[0]), T: simple.Node(k[1]), W: w})
	}
	return network.MaxFlowDinic(g, simple.Node(s), simple.Node(t), 0)
}

// grid has width×height nodes and 4 neighbours.
func grid(width, height int, weight func() float64) []Edge {
	var edges []Edge
	for y := range height {
		for x := range width {
			i := int32(y*width + x)
			if x+1 < width {
				edges = append(edges, Edge{i, i + 1, weight()})
			}
			if y+1 < height {
				edges = append(edges, Edge{i, i + int32(width), weight()})
			}
		}
	}
	return edges
}

// checkTrees verifies what the search relies on: conservation, residuals that
// are multiples of the quantum, and trees whose arcs have residual and whose
// walks end at the right terminal.
func checkTrees(c *Cut) string {
	out := make([]float64, len(c.nodes))
	for a, arc := range c.arcs {
		back := c.arcs[arc.sister]
		if back.sister != int32(a) || arc.res < 0 {
			return "arc pair broken"
		}
		if q := arc.res * c.perQuantum; q != math.Trunc(q) || q > 0x1p53 {
			return "residual is no multiple of the quantum"
		}
		out[back.head] += (back.res - arc.res) / 2 // the net flow, as both began alike
	}
	for i := range c.nodes {
		p := &c.nodes[i]
		if c.term[i]-out[i] != p.excess {
			return "flow is not conserved"
		}
		if p.excess != 0 && (p.tree != sign(p.excess) || p.parent != terminal) {
			return "node with terminal residual does not hang on it"
		}
		if p.tree == free {
			continue
		}
		k := int32(i)
		for step := 0; c.nodes[k].parent != terminal; step++ {
			q := &c.nodes[k]
			if q.parent < 0 || step > len(c.nodes) || q.tree != p.tree {
				return "tree does not end at its terminal"
			}
			if c.arcs[q.parentArc].head != q.parent || c.residual(c.arcs[q.parentArc].sister, q.tree) == 0 {
				return "tree arc without residual"
			}
			k = q.parent
		}
		if sign(c.nodes[k].excess) != p.tree {
			return "root has no residual to its terminal"
		}
	}
	return ""
}
