package mrf

import (
	"context"
	"fmt"
)

// Disjoint is the Potts model of several graphs that no edge joins, of as many labels
// each; their nodes come one graph's after the other's. Each keeps its flow, so that a
// graph that comes back beside others is not begun anew, and the search for a cut stays
// in what one graph takes of the cache.
type Disjoint []*Potts

// Energy is the sum of the graphs' energies of their parts of y.
func (d Disjoint) Energy(y []int32) float64 {
	d.check(y)
	sum := 0.0
	for _, p := range d {
		sum += p.Energy(y[:p.n])
		y = y[p.n:]
	}
	return sum
}

// Label does what Potts.Label does, graph by graph. After an error the graphs before
// the faulty one have their new labels.
func (d Disjoint) Label(ctx context.Context, y []int32, u []float64) error {
	d.check(y)
	for k, p := range d {
		if err := p.Label(ctx, y[:p.n], u[:p.n*p.labels]); err != nil {
			return fmt.Errorf("graph %d: %w", k, err)
		}
		y, u = y[p.n:], u[p.n*p.labels:]
	}
	return nil
}

func (d Disjoint) check(y []int32) {
	n := 0
	for _, p := range d {
		n += p.n
	}
	if len(y) != n {
		panic(fmt.Sprintf("mrf: %d labels for graphs of %d nodes together", len(y), n))
	}
}
