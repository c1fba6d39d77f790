package moons

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewMoons(t *testing.T) {
	m := newMoons(3)
	counts := make([]int, classes)
	for _, l := range m.truth {
		counts[l]++
	}
	if want := []int{150, 150, 150, 150}; !slices.Equal(counts, want) || len(m.x) != 2*sampleCount {
		t.Errorf("classes of %v samples, %d coordinates; want %v", counts, len(m.x), want)
	}
	assert.Len(t, m.cliques, cliqueCount, "cliques")
	for _, c := range m.cliques {
		if len(c.Members) != cliqueSize || c.Violations(m.truth) != 0 {
			t.Errorf("a clique of %d that the truth breaks by %d", len(c.Members), c.Violations(m.truth))
		}
		for l := range c.Lo {
			if width := c.Hi[l] - c.Lo[l]; width > 2*slack || width < slack {
				t.Errorf("bounds [%d, %d]; want the true count ± %d", c.Lo[l], c.Hi[l], slack)
			}
		}
	}
	if other := newMoons(4); slices.Equal(other.x, m.x) {
		t.Error("two seeds give the same samples")
	}
	if again := newMoons(3); !slices.Equal(again.x, m.x) {
		t.Error("a seed gives different samples")
	}
}

// The real experiment, on one instance from zero.
func TestRun(t *testing.T) {
	steps := 0
	report, err := Run(t.Context(), Options{Seed: 100, Seeds: 1, Starts: 1,
		Progress: func(done, total int) {
			if steps++; done != steps || total != 1 {
				t.Errorf("step %d of %d; want %d of 1", done, total, steps)
			}
		}})
	require.NoError(t, err)
	assert.Equal(t, 1, steps, "steps")
	ours, descent, kmeans := report.DCADMM.Median, report.CoordinateDescent.Median, report.KernelKMeans.Median
	t.Logf("DC-ADMM %.3f, coordinate descent %.3f, kernel k-means %.3f", ours, descent, kmeans)
	if ours > 0.3 || descent < 0.3 || kmeans < 0.3 {
		t.Errorf("errors %.3f, %.3f and %.3f; want DC-ADMM's far below the others'", ours, descent, kmeans)
	}
}

// No label is told: with others the same are found.
func TestHiddenLabels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 17 s: the experiment twice")
	}
	find := func(m *moons) Instance {
		in, err := runInstance(t.Context(), m, 100, Options{Starts: 1, Workers: 1}, func() {})
		require.NoError(t, err)
		return in
	}
	m := newMoons(100)
	other := *m
	other.truth = slices.Clone(m.truth)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(other.truth), func(i, j int) {
		other.truth[i], other.truth[j] = other.truth[j], other.truth[i]
	})
	a, b := find(m), find(&other)
	if !slices.Equal(a.DCADMM, b.DCADMM) || !slices.Equal(a.CoordinateDescent, b.CoordinateDescent) || !slices.Equal(a.KernelKMeans, b.KernelKMeans) {
		t.Error("the labels found depend on the hidden ones")
	}
	if slices.Equal(a.Truth, b.Truth) {
		t.Error("nothing was shuffled")
	}
}

func TestReportForm(t *testing.T) {
	e := Errors{}
	truth := []int32{0, 1, 2, 3}
	for _, y := range [][]int32{{0, 1, 2, 3}, {0, 0, 0, 0}, {0, 1, 2, 0}} {
		e.add(y, truth)
	}
	e.finish()
	b, err := json.Marshal(Report{DCADMM: e})
	require.NoError(t, err)
	want := `{"starts":0,"dcadmm":{"mean":0.3333333333333333,"sd":0.38188130791298663,"median":0.25,"errors":[0,0.75,0.25]},` +
		`"coordinate_descent":{"mean":0,"sd":0,"median":0,"errors":null},"kernel_kmeans":{"mean":0,"sd":0,"median":0,"errors":null}}`
	if string(b) != want {
		t.Errorf("%s\nwant %s", b, want)
	}
}

func TestRefuses(t *testing.T) {
	_, err := Run(t.Context(), Options{Seeds: -1})
	assert.Error(t, err, "-1 seeds are accepted")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, Options{Seeds: 1, Starts: 1})
	assert.ErrorIs(t, err, context.Canceled)
}
