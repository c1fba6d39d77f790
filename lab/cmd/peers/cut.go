package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/segd/segd/solver/mrf"
)

// cutReport holds ratios of times, each the median over the graphs of its kind.
type cutReport struct {
	Superpixel float64 `json:"superpixel_cold"`
	Grid       float64 `json:"grid_cold"`
	Resolve    float64 `json:"resolve_10pct"` // on the superpixel graphs
}

// flowTolerance is what the flow's values may differ by, relative: both are sums of
// some 10⁵ terms, and ours are rounded to multiples of 2⁻⁵⁰ or so of the largest.
const flowTolerance = 1e-9

// cutter is our side: a workspace that goes from one set of terminals to the next.
type cutter struct {
	cut  mrf.Cut
	now  []float64
	side []bool
	err  error // the first
}

// set is SetTerminal.
func (c *cutter) set(i int, d float64) {
	if err := c.cut.SetTerminal(i, d); err != nil && c.err == nil {
		c.err = err
	}
}

// cold does what "cold" of theirs/bk.cpp does.
func (c *cutter) cold(ctx context.Context, g *graph, at int) (float64, float64) {
	want := g.terminals[at]
	if c.now == nil {
		c.now, c.side = make([]float64, g.n), make([]bool, g.n)
	}
	begin := time.Now()
	if err := c.cut.Reset(g.n, g.edges); err != nil && c.err == nil {
		c.err = err
	}
	for i, d := range want {
		c.set(i, d)
	}
	c.cut.Solve(ctx)
	c.read()
	seconds := time.Since(begin).Seconds()
	copy(c.now, want)
	return seconds, c.cut.Flow()
}

// step does what "step" of theirs/bk.cpp does.
func (c *cutter) step(ctx context.Context, g *graph, at int) (float64, float64) {
	want := g.terminals[at]
	begin := time.Now()
	for i, d := range want {
		if d != c.now[i] {
			c.set(i, d)
		}
	}
	c.cut.Solve(ctx)
	c.read()
	seconds := time.Since(begin).Seconds()
	copy(c.now, want)
	return seconds, c.cut.Flow()
}

func (c *cutter) read() {
	for i := range c.side {
		c.side[i] = c.cut.Source(i)
	}
}

// share of the nodes on the source's side.
func (c *cutter) share() float64 {
	count := 0
	for _, s := range c.side {
		if s {
			count++
		}
	}
	return float64(count) / float64(len(c.side))
}

// write stores the graph as theirs/bk.cpp reads it.
func (g *graph) write(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	parts := []any{[]int32{int32(g.n), int32(len(g.edges)), int32(len(g.terminals))}, g.edges}
	for _, t := range g.terminals {
		parts = append(parts, t)
	}
	for _, part := range parts {
		if err := binary.Write(w, binary.NativeEndian, part); err != nil {
			return err
		}
	}
	return w.Flush()
}

// cutTimes are one graph's.
type cutTimes struct{ cold, warm, theirCold, theirWarm timing }

func (t cutTimes) coldRatio() float64 { return t.cold.median / t.theirCold.median }
func (t cutTimes) warmRatio() float64 { return t.warm.median / t.theirWarm.median }

// compare runs both sides on g. The flows have to be equal every time.
func (g *graph) compare(ctx context.Context, opt options, dir string, stderr io.Writer) (t cutTimes, err error) {
	path := filepath.Join(dir, "graph")
	if err := g.write(path); err != nil {
		return t, err
	}
	peer, err := start(ctx, opt.bk, path)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, peer.close()) }()

	var flows [2]float64
	theirs := func(what string, at int) (float64, error) {
		answer, err := peer.ask(fmt.Sprint(what, " ", at))
		if err != nil {
			return 0, err
		}
		if len(answer) != 2 {
			return 0, fmt.Errorf("%s: answer %v; want seconds and flow", opt.bk, answer)
		}
		flows[1] = answer[1]
		return answer[0], nil
	}
	solved, worst := 0, 0.0
	check := func() error {
		gap := math.Abs(flows[0]-flows[1]) / math.Max(1, math.Abs(flows[1]))
		solved, worst = solved+1, math.Max(worst, gap)
		if !(gap <= flowTolerance) {
			return fmt.Errorf("%s: flow values differ: ours %.17g, theirs %.17g", g.name, flows[0], flows[1])
		}
		return nil
	}
	var our cutter
	defer func() { err = errors.Join(err, our.err) }()
	// Both sides of a pair have run when the count of calls is even.
	pair := func(mine func() float64, other func() (float64, error)) (timing, timing, error) {
		calls := 0
		after := func(seconds float64, err error) (float64, error) {
			if calls++; err == nil && calls%2 == 0 {
				err = check()
			}
			return seconds, err
		}
		return inTurn(ctx, opt.budget, func() (float64, error) { return after(mine(), nil) }, func() (float64, error) { return after(other()) })
	}
	seconds := 0.0
	t.cold, t.theirCold, err = pair(func() float64 {
		seconds, flows[0] = our.cold(ctx, g, 0)
		return seconds
	}, func() (float64, error) { return theirs("cold", 0) })
	if err != nil {
		return t, err
	}
	share := our.share()
	// Every step is to terminals that the flow has not met before: going back and
	// forth between a few is up to twice as fast, on our side more than on theirs.
	// Past the last set both begin with a new graph.
	last := len(g.terminals) - 1
	ours, others := 0, 0
	t.warm, t.theirWarm, err = pair(func() float64 {
		if ours%last == 0 {
			our.cold(ctx, g, 0)
		}
		ours++
		seconds, flows[0] = our.step(ctx, g, (ours-1)%last+1)
		return seconds
	}, func() (float64, error) {
		if others%last == 0 {
			if _, err := theirs("cold", 0); err != nil {
				return 0, err
			}
		}
		others++
		return theirs("step", (others-1)%last+1)
	})
	if err != nil {
		return t, err
	}
	fmt.Fprintf(stderr, "%s: %d nodes, %d edges, %.1f %% on the source's side\n  cold          %s\n  10 %% changed  %s, %.2f of theirs cold\n  flow values equal: %d solves, largest difference %.0e\n",
		g.name, g.n, len(g.edges), 100*share, t.cold.beside(t.theirCold), t.warm.beside(t.theirWarm), t.warm.median/t.theirCold.median, solved, worst)
	return t, nil
}

func compareCuts(ctx context.Context, opt options, dir string, stderr io.Writer) (*cutReport, error) {
	clips, err := clips(opt)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stderr, "minimum cuts, ours / BK, medians:")
	var superpixel, grid, resolve, resolveGrid []float64
	for _, open := range clips {
		c, err := open()
		if err != nil {
			return nil, err
		}
		window, err := windowGraph(c, opt.seed)
		if err != nil {
			return nil, err
		}
		t, err := window.compare(ctx, opt, dir, stderr)
		if err != nil {
			return nil, err
		}
		superpixel, resolve = append(superpixel, t.coldRatio()), append(resolve, t.warmRatio())
		if t, err = gridGraph(c, opt.seed).compare(ctx, opt, dir, stderr); err != nil {
			return nil, err
		}
		grid, resolveGrid = append(grid, t.coldRatio()), append(resolveGrid, t.warmRatio())
	}
	r := &cutReport{Superpixel: median(superpixel), Grid: median(grid), Resolve: median(resolve)}
	fmt.Fprintf(stderr, "medians of the ratios: superpixels cold %.3f, grid cold %.3f, 10 %% changed %.3f (grid %.3f)\n",
		r.Superpixel, r.Grid, r.Resolve, median(resolveGrid))
	return r, nil
}
