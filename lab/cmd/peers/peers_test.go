package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/mrf"
)

// fit ends where a slow, obvious method does: subgradient steps on the objective,
// the best point kept.
func TestFitIsOptimal(t *testing.T) {
	s := synthetic(300, 5, 3)
	w, res, err := s.fit(t.Context(), 2)
	if err != nil || res.Status != solver.Converged {
		t.Fatalf("%v, %v", res.Status, err)
	}
	v, best := make([]float64, s.d+1), math.Inf(1)
	for step := range 20000 {
		g := append([]float64(nil), v...)
		for i, y := range s.y {
			row := s.x[i*(s.d+1) : (i+1)*(s.d+1)]
			score := 0.0
			for k, x := range row {
				score += x * v[k]
			}
			if y*score < 1 {
				for k, x := range row {
					g[k] -= penalty * y * x
				}
			}
		}
		for k := range v {
			v[k] -= g[k] / float64(step+10)
		}
		best = min(best, s.objective(v))
	}
	if ratio := s.objective(w) / best; !(ratio > 0.99 && ratio < 1.001) {
		t.Errorf("objective %.6f times that of subgradient steps; want 1", ratio)
	}
}

func TestObjective(t *testing.T) {
	s := &samples{n: 2, d: 1, x: []float64{2, 1, -1, 1}, y: []float64{1, -1}}
	// Scores 2·0.5+0.25 = 1.25 and −0.5+0.25 = −0.25; losses 0 and 0.75.
	if got, want := s.objective([]float64{0.5, 0.25}), 0.5*(0.25+0.0625)+penalty*0.75; got != want {
		t.Errorf("got %g, want %g", got, want)
	}
}

func TestWriteSamples(t *testing.T) {
	s := &samples{n: 2, d: 3, x: []float64{0.5, 0, -1e-3, 1, 0, 0, 2, 1}, y: []float64{1, -1}}
	path := filepath.Join(t.TempDir(), "samples")
	require.NoError(t, s.write(path))
	got, err := os.ReadFile(path)
	if want := "1 1:0.5 3:-0.001\n-1 3:2\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestPrepared(t *testing.T) {
	s := prepared("", []float64{1, 7, 3, 7, 5, 7, 7, 7}, []float64{1, 1, -1, -1}, 2)
	a := 3 / math.Sqrt(5) / math.Sqrt2
	want := []float64{-a, 0, 1, -a / 3, 0, 1, a / 3, 0, 1, a, 0, 1}
	for i, v := range s.x {
		if math.Abs(v-want[i]) > 1e-12 {
			t.Fatalf("got %v, want %v", s.x, want)
		}
	}
}

func TestChangeATenth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base := make([]float64, 1000)
	for i := range base {
		base[i] = r.NormFloat64()
	}
	sets := change(base, 7, 1)
	require.Len(t, sets, 7, "sets")
	for k, set := range sets[1:] {
		changed, sum := 0, 0.0
		for i := range set {
			if set[i] != sets[k][i] {
				changed++
				sum += (set[i] - base[i]) * (set[i] - base[i])
			}
		}
		if size := math.Sqrt(sum / float64(changed)); changed != 100 || size < 0.7 || size > 1.3 {
			t.Errorf("set %d changes %d of 1000 by %.2f; want 100 by about 1", k+1, changed, size)
		}
	}
}

// The window of a drawn clip: warm and cold agree, and the object comes out.
func TestWindowGraph(t *testing.T) {
	c := drawn(214, 120, 1)
	g, err := windowGraph(c, 1)
	require.NoError(t, err)
	per := g.n / windowFrames
	spatial, temporal := 0, make([]int, g.n)
	for _, e := range g.edges {
		switch f, h := int(e.I)/per, int(e.J)/per; {
		case !(e.W >= 0 && e.W <= 10*smooth):
			t.Fatalf("edge %+v; want a weight in [0, %g]", e, 10*smooth)
		case f == h:
			spatial++
		case f == h+1:
			temporal[e.I]++
		default:
			t.Fatalf("edge %+v joins frames %d and %d", e, f, h)
		}
	}
	for i, count := range temporal[per:] {
		if count == 0 || count > temporalEdges {
			t.Errorf("node %d has %d edges to the frame before; want 1 to %d", per+i, count, temporalEdges)
		}
	}
	if spatial < 2*g.n {
		t.Errorf("%d spatial edges for %d superpixels", spatial, g.n)
	}
	var warm cutter
	warm.cold(t.Context(), g, 0)
	if share := warm.share(); share < 0.1 || share > 0.4 { // a disc of π/16 of the height squared
		t.Errorf("%.2f of the superpixels are the object's; want about 0.2", share)
	}
	for k := range 4 {
		_, got := warm.step(t.Context(), g, k+1)
		var cold cutter
		if _, want := cold.cold(t.Context(), g, k+1); math.Abs(got-want) > flowTolerance*want {
			t.Errorf("set %d: flow %.17g after a step, %.17g cold", k+1, got, want)
		}
	}
}

func TestGridGraph(t *testing.T) {
	c := drawn(64, 48, 1)
	g := gridGraph(c, 1)
	if want := 63*48 + 64*47; g.n != 64*48 || len(g.edges) != want {
		t.Fatalf("%d nodes and %d edges; want %d and %d", g.n, len(g.edges), 64*48, want)
	}
	for _, e := range g.edges {
		if d := e.J - e.I; d != 1 && d != 64 || e.W < 0 || e.W > grabCut {
			t.Fatalf("edge %+v", e)
		}
	}
}

func TestWriteGraph(t *testing.T) {
	g := &graph{n: 2, edges: []mrf.Edge{{I: 0, J: 1, W: 0.5}}, terminals: [][]float64{{1, -2}}}
	path := filepath.Join(t.TempDir(), "graph")
	require.NoError(t, g.write(path))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	var got struct {
		N, M, K, I, J int32
		W             float64
		T             [2]float64
	}
	r := bytes.NewReader(file)
	if err := binary.Read(r, binary.NativeEndian, &got); err != nil || r.Len() != 0 {
		t.Fatalf("%v, %d bytes left", err, r.Len())
	}
	if got.N != 2 || got.M != 1 || got.K != 1 || got.I != 0 || got.J != 1 || got.W != 0.5 || got.T != [2]float64{1, -2} {
		t.Errorf("got %+v", got)
	}
}

// A peer with another flow is a failure, not a ratio.
func TestOtherFlowFails(t *testing.T) {
	dir := t.TempDir()
	peer := filepath.Join(dir, "peer")
	require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\nwhile read -r line; do echo 0.001 1.5; done\n"), 0o700))
	for _, tt := range []struct {
		terminal float64
		fails    bool
	}{{1.5, false}, {1.5 + 1e-6, true}} {
		// Both nodes' capacities fit through the edge.
		g := &graph{n: 2, edges: []mrf.Edge{{I: 0, J: 1, W: 2}}, terminals: [][]float64{{tt.terminal, -1.75}, {tt.terminal, -2}}}
		_, err := g.compare(t.Context(), options{bk: peer}, dir, io.Discard)
		if failed := err != nil && strings.Contains(err.Error(), "flow values differ"); failed != tt.fails || !tt.fails && err != nil {
			t.Errorf("flow %.7g against 1.5: %v", tt.terminal, err)
		}
	}
}

func TestInTurn(t *testing.T) {
	order, broken := "", errors.New("broken")
	a, b, err := inTurn(t.Context(), 0,
		func() (float64, error) { order += "o"; return float64(len(order)), nil },
		func() (float64, error) { order += "t"; return 2, nil })
	if err != nil || order != strings.Repeat("otto", 4) || a.least != 4 || b != (timing{2, 2}) {
		t.Errorf("%s, %v, %v, %v", order, a, b, err)
	}
	_, _, err = inTurn(t.Context(), time.Hour, func() (float64, error) { return 0, broken }, nil)
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, 2.5, median([]float64{4, 1, 3, 2}), "median")
}

// npyFiles are arrays of |u1.
var npyFiles = []struct {
	name, header, data string
	rows, columns      int
	fault              string
}{
	{"two dimensions", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", "abcdef", 2, 3, ""},
	{"one", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n", "abcd", 4, 1, ""},
	{"another type", "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }\n", "abcd", 0, 0, "header"},
	{"columns first", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }\n", "abcd", 0, 0, "header"},
	{"cut off", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n", "abc", 0, 0, "3 bytes"},
	{"negative", "{'descr': '|u1', 'fortran_order': False, 'shape': (-2, -2), }\n", "abcd", 0, 0, "-2×-2"},
	{"no header", "", "", 0, 0, "header"},
}

func npy(header, data string) []byte {
	return []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data)
}

func TestParseNPY(t *testing.T) {
	for _, tt := range npyFiles {
		data, rows, columns, err := parseNPY(npy(tt.header, tt.data), "|u1", 1)
		switch {
		case tt.fault != "":
			assert.ErrorContains(t, err, tt.fault, "%s: error", tt.name)
		case err != nil || rows != tt.rows || columns != tt.columns || string(data) != tt.data:
			t.Errorf("%s: %d×%d of %q, %v", tt.name, rows, columns, data, err)
		}
	}
	_, err := readSSL(t.TempDir(), "usps")
	assert.ErrorIs(t, err, fs.ErrNotExist, "a data set that is not there")
}

func FuzzParseNPY(f *testing.F) {
	for _, tt := range npyFiles {
		f.Add(npy(tt.header, tt.data))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if data, rows, columns, err := parseNPY(file, "|u1", 1); err == nil && len(data) != rows*columns {
			t.Errorf("%d×%d with %d bytes", rows, columns, len(data))
		}
	})
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-only", "both"}, {"-sequences", "0"}, {"-workers", "0"}, {"-every", "0"}, {"-frames", "9-2"}, {"-frames", "0-2"}, {"-frames", "1-2x"}, {"-frames", "9"}, {"more"}} {
		_, err := parse(args, io.Discard)
		assert.Error(t, err, "%q: no error", args)
	}
	if opt, err := parse([]string{"-only", "cut"}, io.Discard); err != nil || !opt.wants("cut") || opt.wants("liblinear") || opt.wants("masks") {
		t.Errorf("-only cut: %+v, %v", opt, err)
	}
}

func BenchmarkStep(b *testing.B) {
	g, err := windowGraph(drawn(854, 480, 1), 1)
	require.NoError(b, err)
	var c cutter
	c.cold(b.Context(), g, 0)
	b.ReportAllocs()
	for k := 0; b.Loop(); k++ {
		if k%(windowSets-1) == 0 {
			c.cold(b.Context(), g, 0)
		}
		c.step(b.Context(), g, k%(windowSets-1)+1)
	}
}

func BenchmarkFit(b *testing.B) {
	for _, size := range [][2]int{{1500, 241}, {30000, 64}} {
		s := synthetic(size[0], size[1], 1)
		b.Run(fmt.Sprintf("n=%d/d=%d", s.n, s.d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.fit(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
