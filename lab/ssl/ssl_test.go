package ssl

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/internal/npy/npytest"
	"github.com/segd/segd/lab/internal/stats"
)

// writeSSL writes a benchmark folder with one data set: two Gaussians, the last
// column constant, two splits.
func writeSSL(t *testing.T, name string) (root string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, name)
	require.NoError(t, os.Mkdir(dir, 0o700))
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 240, 4
	var x []float32
	var y []uint8
	for i := range n {
		side := float64(2*(i%2) - 1)
		x = append(x, float32(2*side+rng.NormFloat64()), float32(100*rng.NormFloat64()), float32(rng.NormFloat64()), 7)
		y = append(y, uint8(i%2))
	}
	files := map[string][]byte{
		"features.npy": npytest.File(t, "<f4", fmt.Sprintf("(%d, %d)", n, d), x),
		"labels.npy":   npytest.File(t, "|u1", fmt.Sprintf("(%d,)", n), y),
	}
	for _, count := range labeledCounts {
		var index []int32
		for split := range 2 {
			for i := range count {
				index = append(index, int32(split+2*i+i%2))
			}
		}
		files[fmt.Sprintf("labeled%d.npy", count)] = npytest.File(t, "<i4", fmt.Sprintf("(2, %d)", count), index)
	}
	for file, b := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), b, 0o600))
	}
	return root
}

func TestRun(t *testing.T) {
	root := writeSSL(t, "digit1")
	last := 0
	report, err := Run(t.Context(), Options{Root: root, Datasets: []string{"digit1"}, Progress: func(done, total int) {
		if done != last+1 || total != 8 {
			t.Errorf("step %d of %d; want %d of 8", done, total, last+1)
		}
		last = done
	}})
	require.NoError(t, err)
	if last != 8 || len(report.Cells) != 4 {
		t.Fatalf("%d steps, %d cells; want 8 and 4", last, len(report.Cells))
	}
	for _, c := range report.Cells {
		for _, f := range []stats.Figure{c.Inductive, c.DCADMM, c.Cold, c.WithDelta} {
			if f.Mean < 90 || f.Mean > 100 || c.PaperOurs == nil || c.PaperSDP == nil {
				t.Errorf("%+v; want above 90 %% on two blobs four deviations apart, and the paper's numbers", c)
			}
		}
		// With δ > 0 labels settle; that is what it is for.
		if c.SettledWithDelta.Mean >= c.Settled.Mean || c.SettledWithDelta.Mean <= 0 {
			t.Errorf("%+v; want labels to settle sooner with δ > 0", c)
		}
	}
	if c := report.Cells[1]; c.Labeled != 100 || c.Kernel != "linear" || *c.PaperOurs != 85.60 || *c.PaperSDP != 75.74 {
		t.Errorf("second cell %+v; want 100 labeled, linear", c)
	}
	sum := report.Summary
	if want := (82.20 + 85.60 + 78.18 + 87.61) / 4; sum.Cells != 4 || sum.Below != 0 || math.Abs(sum.PaperOurs-want) > 1e-9 {
		t.Errorf("summary %+v; want 4 cells, none below, the paper's mean %g", sum, want)
	}
	for _, s := range report.Settings {
		for _, part := range []string{s.Kernel, "standardised", "√d", "ν = ", "ρ₀ = ", "τ = ", s.LossName} {
			assert.Contains(t, strings.ToLower(s.String()), strings.ToLower(part), "setting %q does not say %q", s, part)
		}
	}
	b, err := json.Marshal(report)
	require.NoError(t, err)
	var form struct {
		Cells []map[string]any `json:"cells"`
	}
	if err := json.Unmarshal(b, &form); err != nil || len(form.Cells[0]) != 11 || form.Cells[0]["paper_ours"] != 82.2 {
		t.Errorf("JSON %s, %v", b, err)
	}
}

// One iteration is not enough for a start that knows nothing, and for one that knows the classifier it is.
func TestStarts(t *testing.T) {
	s, err := load(writeSSL(t, "digit1"), "digit1")
	require.NoError(t, err)
	setting := Settings()[0]
	setting.Iterations = 1
	block, err := setting.block(s)
	require.NoError(t, err)
	o, err := setting.outcome(t.Context(), s, block, s.splits[1][0], 1)
	if err != nil || o.inductive < 90 || o.dcadmm < 90 || o.cold > 75 {
		t.Errorf("%+v, %v; want two above 90 %% and the cold start far below", o, err)
	}
}

// Predictions are the same whatever the labels that are not told, also where
// nothing tells the samples apart.
func TestHiddenLabels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s: the experiment twice")
	}
	for _, tt := range []struct {
		name     string
		constant bool
	}{{"two blobs", false}, {"constant features", true}} {
		s, err := load(writeSSL(t, "digit1"), "digit1")
		require.NoError(t, err)
		if tt.constant {
			clear(s.x)
		}
		for _, setting := range Settings() {
			for k, splits := range s.splits {
				t.Run(fmt.Sprintf("%s, %s, %d labeled", tt.name, setting.Kernel, labeledCounts[k]), func(t *testing.T) {
					labeled := splits[1]
					block, err := setting.block(s)
					require.NoError(t, err)
					var rest []int
					for i := range s.n {
						if !slices.Contains(labeled, int32(i)) {
							rest = append(rest, i)
						}
					}
					other := *s
					other.y = slices.Clone(s.y)
					rand.New(rand.NewPCG(1, 1)).Shuffle(len(rest), func(i, j int) {
						a, b := rest[i], rest[j]
						other.y[a], other.y[b] = other.y[b], other.y[a]
					})
					var found [2]*prediction
					for i, s := range []*set{s, &other} {
						found[i], err = setting.predict(t.Context(), block, s.labels, s.known(labeled), 1)
						require.NoError(t, err)
					}
					assert.Equal(t, found[1], found[0], "predictions depend on hidden labels")
					if slices.Equal(s.y, other.y) {
						t.Error("nothing was shuffled")
					}
					if right := accuracy(found[0].dcadmm.y, s.y, labeled); tt.constant && (right < 35 || right > 65) {
						t.Errorf("%.1f %% of two classes without a feature; want about 50", right)
					}
				})
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	replace := func(file string, b []byte) func(dir string) {
		return func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), b, 0o600))
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(dir string)
		says   string
	}{
		{"no features", func(dir string) { _ = os.Remove(filepath.Join(dir, "features.npy")) }, "want a folder with"},
		{"too few labels", replace("labels.npy", npytest.File(t, "|u1", "(2,)", []uint8{0, 1})), "2×1 labels for 240×4 features"},
		{"one class", replace("labels.npy", npytest.File(t, "|u1", "(240,)", make([]uint8, 240))), "at least two classes"},
		{"splits of three", replace("labeled10.npy", npytest.File(t, "<i4", "(1, 3)", []int32{1, 2, 3})), "want 10 columns"},
		{"sample beyond the end", replace("labeled10.npy", npytest.File(t, "<i4", "(1, 10)", []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 240})), "names sample 240"},
		{"sample twice", replace("labeled10.npy", npytest.File(t, "<i4", "(1, 10)", []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 8})), "names sample 8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := writeSSL(t, "usps")
			tt.damage(filepath.Join(root, "usps"))
			_, err := Run(t.Context(), Options{Root: root, Datasets: []string{"usps"}})
			assert.ErrorContains(t, err, tt.says)
		})
	}
	_, err := Run(t.Context(), Options{Root: t.TempDir(), Datasets: []string{"mnist"}})
	assert.ErrorContains(t, err, "digit1")
}
