package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/mot"
)

// The boxes are those that the authors' own program gave: testdata/makesort.py made them.
// Who begins in the same frame may be called otherwise.
func TestSort(t *testing.T) {
	all, err := readBoxes("testdata/det.txt", mot.ParseDetections)
	require.NoError(t, err)
	want, err := readBoxes("testdata/sort.txt", mot.ParseResult)
	require.NoError(t, err)
	detections := map[int][]mot.Found{}
	for _, d := range all {
		detections[d.Frame] = append(detections[d.Frame], d)
	}
	got := sortTracks(sorter{minHits: sortMinHits}, detections, 1, 60, 1, false)
	require.Len(t, got, len(want), "boxes")
	ours, theirs := map[int]int{}, map[int]int{} // by the other's
	for _, w := range want {
		k := slices.IndexFunc(got, func(g mot.Found) bool {
			off := max(math.Abs(g.Box.Left-w.Box.Left), math.Abs(g.Box.Top-w.Box.Top), math.Abs(g.Box.Width-w.Box.Width), math.Abs(g.Box.Height-w.Box.Height))
			return g.Frame == w.Frame && off < 2e-6
		})
		if k < 0 {
			t.Fatalf("nobody is at %v", w)
		}
		id := got[k].ID
		if a, known := ours[w.ID]; known && a != id {
			t.Errorf("frame %d: %d is %d; want %d as before", w.Frame, w.ID, id, a)
		}
		if a, known := theirs[id]; known && a != w.ID {
			t.Errorf("frame %d: %d is %d and %d", w.Frame, id, a, w.ID)
		}
		ours[w.ID], theirs[id] = id, w.ID
	}
}

// SORT's filter falls into those of four axes: against the matrices it is written with, in a
// row of predictions and measurements.
func TestSortFilter(t *testing.T) {
	const n, m = 7, 4
	rng := rand.New(rand.NewPCG(1, 2))
	b := mot.Box{Left: 30, Top: 40, Width: 20, Height: 60}
	track := newSortTrack(1, b)
	var x [n]float64
	var p, f, q [n][n]float64
	noise := [m]float64{1, 1, 10, 10}
	x[0], x[1], x[2], x[3] = measure(b)
	for i := range n {
		f[i][i], q[i][i], p[i][i] = 1, 1, 10
		if i >= m {
			f[i-m][i], q[i][i], p[i][i] = 1, 0.01, 1e4
		}
	}
	q[6][6] = 1e-4
	for step := range 30 {
		track.predict()
		var fx [n]float64
		var fp, fpf [n][n]float64
		for i := range n {
			for k := range n {
				fx[i] += f[i][k] * x[k]
				for j := range n {
					fp[i][j] += f[i][k] * p[k][j]
				}
			}
		}
		for i := range n {
			for j := range n {
				fpf[i][j] = q[i][j]
				for k := range n {
					fpf[i][j] += fp[i][k] * f[j][k]
				}
			}
		}
		x, p = fx, fpf
		if step%4 != 3 {
			b.Left, b.Top, b.Width, b.Height = b.Left+3+rng.Float64(), b.Top-1, 18+4*rng.Float64(), 55+9*rng.Float64()
			track.update(b)
			var z [m]float64
			z[0], z[1], z[2], z[3] = measure(b)
			// Measurements are independent: one after the other is all at once.
			for k := range m {
				s, off := p[k][k]+noise[k], z[k]-x[k]
				var gain, row [n]float64
				for i := range n {
					gain[i], row[i] = p[i][k]/s, p[k][i]
				}
				for i := range n {
					x[i] += gain[i] * off
					for j := range n {
						p[i][j] -= gain[i] * row[j]
					}
				}
			}
		}
		for k, a := range track.axes() {
			rate := 0.0
			if k < 3 {
				rate = x[m+k]
			}
			if math.Abs(a.x-x[k]) > 1e-9*math.Abs(x[k]) || math.Abs(a.v-rate) > 1e-6 {
				t.Fatalf("step %d, axis %d: %g at %g a frame; want %g at %g", step, k, a.x, a.v, x[k], rate)
			}
		}
	}
}

// An area that shrinks stops before it is none.
func TestSortShrinks(t *testing.T) {
	track := newSortTrack(1, mot.Box{Width: 20, Height: 60})
	track.predict()
	track.update(mot.Box{Width: 10, Height: 30})
	for range 5 {
		track.predict()
		if b := track.box(); !(b.Width > 0 && b.Height > 0) {
			t.Fatalf("box %v", b)
		}
	}
}

// walkers writes a video's truth and detections: two who walk past each other, a pixel a
// frame, detected where they are, and one score below 0.5 where no one is.
func walkers(t *testing.T) (truth, detections string) {
	t.Helper()
	var gt, det strings.Builder
	for n := 1; n <= 60; n++ {
		for id, left := range []int{20 + n, 300 - n} {
			fmt.Fprintf(&gt, "%d,%d,%d,40,30,80,1,-1,-1,-1\n", n, id+1, left)
			fmt.Fprintf(&det, "%d,-1,%d,40,30,80,0.9,-1,-1,-1\n", n, left)
		}
		fmt.Fprintf(&det, "%d,-1,500,40,30,80,0.45,-1,-1,-1\n", n)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	return write("gt.txt", gt.String()), write("det.txt", det.String())
}

// The command as it is: SORT has all of what is easy on every frame's detections, the
// original next to nothing on every tenth's, and with predictions all from the third look on.
func TestTracks(t *testing.T) {
	truth, detections := walkers(t)
	out := t.TempDir()
	var stdout, stderr strings.Builder
	if err := run(t.Context(), []string{"-only", "tracks", "-truth", truth, "-detections", detections, "-out", out, "-frames", "1-50"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	var got struct{ Tracks map[string]mot.Figures }
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil || len(got.Tracks) != 3 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	// The original is to report frame 1, for those at the beginning need no matches, and then
	// no person ever has three in a row.
	for name, recall := range map[string]float64{"sort": 1, "sort_sparse": 0.02, "sort_between": 1} {
		f := got.Tracks[name]
		if f.Recall == nil || *f.Recall != recall || *f.Precision != 1 || math.Abs(*f.MOTA-recall) > 1e-9 || f.IDSwitches != 0 {
			t.Errorf("%s: %s; want a recall of %g and no fault", name, &stdout, recall)
		}
		assert.Contains(t, stderr.String(), "\n"+name+" ", "no line of %s in\n%s", name, &stderr)
	}
	// What was written is what was scored; and with it for segd's own, there is a side more.
	stdout.Reset()
	if err := run(t.Context(), []string{"-only", "tracks", "-truth", truth, "-detections", detections, "-result", filepath.Join(out, "sort_sparse.txt"), "-frames", "1-50", "-score", "0.4", "-every", "1"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil || len(got.Tracks) != 4 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	if segd := got.Tracks["segd"]; *segd.Recall != 0.02 || *segd.Precision != 1 {
		t.Errorf("segd: %s; want what was written", &stdout)
	}
	// Of the low score there are 50 false boxes a hundred true ones; on every frame's
	// detections, SORT is itself.
	if f, sparse := got.Tracks["sort"], got.Tracks["sort_sparse"]; *f.MOTA != 0.5 || *sparse.MOTA != 0.5 {
		t.Errorf("MOTA %g and %g; want 0.5", *f.MOTA, *sparse.MOTA)
	}
}

func TestTracksRefuses(t *testing.T) {
	truth, detections := walkers(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "want -detections and -truth"},
		{[]string{"-truth", truth}, "want -detections and -truth"},
		{[]string{"-truth", "/no/gt.txt", "-detections", detections}, "/no/gt.txt"},
		{[]string{"-truth", truth, "-detections", truth}, `id is "1"; want -1`},
		{[]string{"-truth", truth, "-detections", detections, "-result", detections}, `id is "-1"`},
		{[]string{"-truth", truth, "-detections", detections, "-out", "/no/folder"}, "/no/folder/sort.txt"},
	} {
		assert.ErrorContains(t, run(t.Context(), append([]string{"-only", "tracks"}, tt.args...), io.Discard, io.Discard), tt.want, "%q: error", tt.args)
	}
	if r, err := compareTracks(options{}, io.Discard); r != nil || err != nil {
		t.Errorf("without files: %v, %v; want that it is left out", r, err)
	}
}
