package davis

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/tracker"
)

// Each variant has its figures, of each sequence and repeat; the gain is to the first.
func TestRunAblation(t *testing.T) {
	root := cliptest.New(t, "square", 9)
	cliptest.Add(t, root, "other", 9)
	steps := 0
	r, err := RunAblation(t.Context(), Options{Root: root, ModelName: "colour", Features: features.Config{Superpixels: 150}, Repeat: 2, Seed: 5,
		Progress: func(done, total int) {
			if steps++; done != steps || done > total {
				t.Errorf("step %d of %d; want %d", done, total, steps)
			}
		}}, Variants)
	require.NoError(t, err)
	if r.Repeats != 2 || len(r.Rows) != len(Variants) || steps == 0 {
		t.Fatalf("%+v", r)
	}
	for v, row := range r.Rows {
		if row.Name != Variants[v].Name || row.Mode != Variants[v].Mode.String() || len(row.Sequences) != 2 {
			t.Errorf("row %d is %+v", v, row)
		}
		if row.J.Mean < 0.8 || row.J.Mean > 1 || row.F.Mean <= 0 || row.CoreMS.Mean <= 0 {
			t.Errorf("%s: J %v, F %v, %v core-ms; want a square to be followed", row.Name, row.J, row.F, row.CoreMS)
		}
		if got, want := row.J.Mean, (row.Sequences[0].J.Mean+row.Sequences[1].J.Mean)/2; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: J %g; the sequences' mean is %g", row.Name, got, want)
		}
		if s := row.Windows; (s != nil) != (Variants[v].Mode != tracker.Affinity) {
			t.Errorf("%s: windows %+v; want them of what is solved", row.Name, s)
		} else if s != nil && (s.Iterations.Mean < 1 || s.Iterations.Mean > mostIterations || s.Converged.Mean < .9 || s.Converged.Mean > 1 || s.SolveMS.Mean <= 0) {
			t.Errorf("%s: windows %+v; want them to converge", row.Name, s)
		}
		if want := row.J.Mean - r.Rows[0].J.Mean; math.Abs(row.Gain.Mean-want) > 1e-12 {
			t.Errorf("%s: gain %g; want %g", row.Name, row.Gain.Mean, want)
		}
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, key := range []string{`"model":"colour","repeats":2,"seed":5,"rows":[{"name":"affinity alone","mode":"affinity","j":{"mean":`, `"sd":`, `"gain":{"mean":0,"sd":0}`, `"core_ms":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}
}

func TestRunAblationRefuses(t *testing.T) {
	_, err := RunAblation(t.Context(), Options{Root: t.TempDir()}, Variants)
	assert.Error(t, err, "an empty folder is accepted")
}
