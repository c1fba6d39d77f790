package mrf

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestBoundedAgainstBruteForce(t *testing.T) {
	for _, test := range []struct {
		name  string
		units bool
	}{{"units", true}, {"areas", false}} {
		t.Run(test.name, func(t *testing.T) {
			var p Potts
			solved, optimal, exact, missed := 0, 0, 0, 0
			for seed := range uint64(600) {
				r := rand.New(rand.NewPCG(seed, 12))
				n := 1 + r.IntN(10)
				edges := randomEdges(r, n, 2*n)
				u := randomUnaries(r, n, 2)
				var area []float64
				weights := make([]float64, n)
				total := 0.0
				for i := range weights {
					weights[i] = 1
					if !test.units {
						weights[i] = float64(r.IntN(6))
					}
					total += weights[i]
				}
				if !test.units {
					area = weights
				}
				lo := math.Floor(r.Float64() * (total + 1))
				hi := lo + float64(r.IntN(3))
				switch r.IntN(4) {
				case 0:
					lo = math.Inf(-1)
				case 1:
					hi = math.Inf(1)
				}
				want := math.Inf(1)
				bruteForce(n, 2, func(y []int32) {
					if a := areaOf(y, weights); lo <= a && a <= hi {
						want = min(want, energy(edges, 2, y, u))
					}
				})
				p.Reset(n, 2, edges)
				y := randomLabels(r, n, 2)
				start := slices.Clone(y)
				got, err := p.LabelBounded(context.Background(), y, u, area, lo, hi)
				if err != nil {
					if !errors.Is(err, ErrBounds) || !slices.Equal(y, start) {
						t.Fatalf("seed %d: error %v, labels %v from %v", seed, err, y, start)
					}
					if !math.IsInf(want, 1) {
						missed++
						if test.units {
							t.Errorf("seed %d: %v, though the minimum is %v", seed, err, want)
						}
					}
					continue
				}
				solved++
				if a := areaOf(y, weights); a < lo || a > hi {
					t.Fatalf("seed %d: area %v outside [%v,%v]", seed, a, lo, hi)
				}
				if e := energy(edges, 2, y, u); !near(e, got.Energy) {
					t.Fatalf("seed %d: energy %v, reported %v", seed, e, got.Energy)
				}
				if a := areaOf(start, weights); lo <= a && a <= hi && got.Energy > energy(edges, 2, start, u)+1e-9 {
					t.Errorf("seed %d: energy %v above the start's", seed, got.Energy)
				}
				if slack := 1e-9 * (1 + math.Abs(want)); got.Bound > want+slack || got.Energy < want-slack {
					t.Fatalf("seed %d: minimum %v is not in [%v,%v]", seed, want, got.Bound, got.Energy)
				}
				if got.Exact {
					exact++
					if !near(got.Energy, want) {
						t.Fatalf("seed %d: %v called exact, minimum %v", seed, got.Energy, want)
					}
				}
				if near(got.Energy, want) {
					optimal++
				}
			}
			t.Logf("%d solved: %d proven, %d at the minimum; %d missed", solved, exact, optimal, missed)
			// What the method is worth on these adversarial little graphs; a
			// fall would mean that the search ends at the wrong step.
			if exact < solved/3 || optimal < solved*3/4 || missed > 20 {
				t.Error("fewer than it used to be")
			}
		})
	}
}

// TestBoundedEveryArea asks for each area in turn on a larger graph.
func TestBoundedEveryArea(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	n, edges := superpixels(300, 1, r)
	u := blobs(n, 1, 2, 1, r)
	var p Potts
	p.Reset(n, 2, edges)
	y := make([]int32, n)
	free, err := p.LabelBounded(context.Background(), y, u, nil, math.Inf(-1), math.Inf(1))
	if err != nil || !free.Exact || free.Multiplier != 0 {
		t.Fatalf("without bounds: %+v, %v", free, err)
	}
	at := areaOf(y, p.search.units(n))
	gaps, worst := 0, 0.0
	for k := range n + 1 {
		got, err := p.LabelBounded(context.Background(), y, u, nil, float64(k), float64(k))
		if err != nil {
			t.Fatal(err)
		}
		if a := areaOf(y, p.search.units(n)); a != float64(k) {
			t.Fatalf("area %v, want %d", a, k)
		}
		if float64(k) > at && got.Multiplier > 0 || float64(k) < at && got.Multiplier < 0 {
			t.Errorf("area %d: multiplier %v, while %v is free", k, got.Multiplier, at)
		}
		if got.Expansions > 40 {
			t.Errorf("area %d: %d cuts", k, got.Expansions)
		}
		if !got.Exact {
			gaps++
			worst = max(worst, got.Energy-got.Bound)
		}
	}
	t.Logf("%d of %d areas inside steps, worst gap %.3g (energy without bounds %.4g)", gaps, n+1, worst, free.Energy)
}

// TestBoundedTies has many minima without bounds, and bounds that only the
// largest of them obeys: that takes one cut, and is exact.
func TestBoundedTies(t *testing.T) {
	var p Potts
	p.Reset(3, 2, []Edge{{0, 1, 1}, {1, 2, 1}})
	y := []int32{0, 0, 0}
	got, err := p.LabelBounded(context.Background(), y, make([]float64, 6), nil, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Exact || got.Energy != 0 || got.Expansions != 1 || !slices.Equal(y, []int32{1, 1, 1}) {
		t.Errorf("labels %v, %+v", y, got)
	}
}

func TestBoundedErrors(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name   string
		u      []float64
		area   []float64
		lo, hi float64
		kind   error
		want   string
	}{
		{name: "crossed", lo: 2, hi: 1, kind: ErrBounds, want: "[2,1]"},
		{name: "NaN bound", lo: nan, hi: 1, kind: ErrBounds, want: "[NaN,1]"},
		{name: "NaN area", area: []float64{1, nan}, hi: 1, kind: ErrBounds, want: "area[1] is NaN"},
		{name: "negative area", area: []float64{-1, 1}, hi: 1, kind: ErrBounds, want: "area[0] is -1"},
		{name: "too much wanted", lo: 3, hi: 4, kind: ErrBounds, want: "areas in [0,2]"},
		{name: "too much forced", u: []float64{inf, 0, inf, 0}, lo: 0, hi: 1, kind: ErrBounds, want: "areas in [2,2]"},
		{name: "too much forbidden", u: []float64{0, inf, 0, 0}, lo: 2, hi: 2, kind: ErrBounds, want: "areas in [0,1]"},
		{name: "between the grains", area: []float64{2, 2}, lo: 3, hi: 3, kind: ErrBounds, want: "no labeling found"},
		{name: "bad unary", u: []float64{0, 0, 0, nan}, lo: 0, hi: 2, kind: ErrUnary, want: "u[3]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Potts
			p.Reset(2, 2, []Edge{{0, 1, 1}})
			if test.u == nil {
				test.u = make([]float64, 4)
			}
			y := []int32{0, 1}
			_, err := p.LabelBounded(context.Background(), y, test.u, test.area, test.lo, test.hi)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if y[0] != 0 || y[1] != 1 {
				t.Errorf("labels became %v", y)
			}
		})
	}
}

// TestBoundedStops ends the context at every possible moment: what comes back
// obeys the bounds all the same.
func TestBoundedStops(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	n, edges := superpixels(3000, 2, r)
	u := blobs(n, 2, 2, 1, r)
	stops := 0
	for left := 0; ; left++ {
		var p Potts
		p.Reset(n, 2, edges)
		y := make([]int32, n)
		got, err := p.LabelBounded(&countdown{context.Background(), left}, y, u, nil, 100, 110)
		if err != nil {
			t.Fatal(err)
		}
		if a := areaOf(y, p.search.units(n)); a < 100 || a > 110 {
			t.Fatalf("stopped after %d looks: area %v", left, a)
		}
		if !got.Stopped {
			break
		}
		stops++
	}
	if stops == 0 {
		t.Error("never stopped")
	}
}

func TestBoundedNoAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	n, edges := superpixels(500, 2, r)
	us := [][]float64{randomUnaries(r, n, 2), randomUnaries(r, n, 2)}
	y := make([]int32, n)
	var p Potts
	p.Reset(n, 2, edges)
	k := 0
	if got := testing.AllocsPerRun(20, func() {
		if _, err := p.LabelBounded(context.Background(), y, us[k%2], nil, 200, 210); err != nil {
			t.Fatal(err)
		}
		k++
	}); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
}

func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	var h heap
	h.reset(200)
	for i := range int32(200) {
		h.push(i, float64(r.IntN(20)))
	}
	for range 500 {
		h.update(int32(r.IntN(200)), float64(r.IntN(20)))
	}
	last := int32(-1)
	for h.len() > 0 {
		i := h.pop()
		if last >= 0 && (h.key[last] > h.key[i] || h.key[last] == h.key[i] && last > i) {
			t.Fatalf("node %d with key %v came before %d with %v", last, h.key[last], i, h.key[i])
		}
		if h.has(i) {
			t.Fatal("popped, yet there")
		}
		last = i
	}
}
