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
func (d Disjoint) Energy(y []int32) (float64, error) {
	if _, err := d.check(y); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, p := range d {
		own, _ := p.Energy(y[:p.n]) // it has as many
		sum += own
		y = y[p.n:]
	}
	return sum, nil
}

// Label does what Potts.Label does, graph by graph. After an error the graphs before
// the faulty one have their new labels.
func (d Disjoint) Label(ctx context.Context, y []int32, u []float64) error {
	unaries, err := d.check(y)
	if err != nil {
		return err
	}
	if len(u) != unaries {
		return fmt.Errorf("%w: %d unaries for graphs that take %d", ErrInput, len(u), unaries)
	}
	for k, p := range d {
		if err := p.Label(ctx, y[:p.n], u[:p.n*p.labels]); err != nil {
			return fmt.Errorf("graph %d: %w", k, err)
		}
		y, u = y[p.n:], u[p.n*p.labels:]
	}
	return nil
}

// check counts the unaries that the graphs take.
func (d Disjoint) check(y []int32) (unaries int, err error) {
	n := 0
	for k, p := range d {
		if p == nil {
			return 0, fmt.Errorf("%w: graph %d is nil", ErrInput, k)
		}
		n, unaries = n+p.n, unaries+p.n*p.labels
	}
	if len(y) != n {
		return 0, fmt.Errorf("%w: %d labels for graphs of %d nodes together", ErrInput, len(y), n)
	}
	return unaries, nil
}
