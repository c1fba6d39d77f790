package davis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/stats"
)

// What a seed means is public: others draw the same by this rule.
func TestDrawChange(t *testing.T) {
	seen := [4]map[int]bool{{}, {}, {}, {}}
	for seed := range uint64(3) {
		for repeat := range 100 {
			c := &clip.Clip{Name: fmt.Sprintf("clip %d", repeat%7)}
			got := drawChange(seed, repeat, c)
			rng := rand.New(rand.NewPCG(seed+uint64(repeat)*(1<<32), c.Hash()))
			want := change{side: rng.IntN(4), pixels: 1 + rng.IntN(4), quality: 90 + rng.IntN(8), start: rng.IntN(3)}
			if *got != want {
				t.Fatalf("seed %d, repeat %d: %+v; want %+v", seed, repeat, *got, want)
			}
			for i, v := range []int{got.side, got.pixels, got.quality, got.start} {
				seen[i][v] = true
			}
		}
	}
	for i, want := range []int{4, 4, 8, 3} {
		if len(seen[i]) != want {
			t.Errorf("draw %d took %d values; want %d", i, len(seen[i]), want)
		}
	}
	for _, tt := range []struct {
		seed   uint64
		repeat int
		name   string
		want   change
	}{
		{1, 0, "dog", change{0, 2, 91, 0}},
		{1, 1, "dog", change{1, 1, 96, 1}},
		{1, 0, "libby", change{2, 4, 95, 2}},
		{2, 0, "dog", change{0, 4, 97, 1}},
	} {
		if got := drawChange(tt.seed, tt.repeat, &clip.Clip{Name: tt.name}); *got != tt.want {
			t.Errorf("seed %d, repeat %d of %s: %+v; want %+v", tt.seed, tt.repeat, tt.name, *got, tt.want)
		}
	}
}

func TestKept(t *testing.T) {
	for side, want := range []image.Rectangle{image.Rect(3, 0, 20, 10), image.Rect(0, 0, 17, 10), image.Rect(0, 3, 20, 10), image.Rect(0, 0, 20, 7)} {
		if got := (&change{side: side, pixels: 3}).kept(20, 10); got != want {
			t.Errorf("side %d: %v; want %v", side, got, want)
		}
	}
}

// Picture and truth are cut alike, then the picture alone is coded again.
func TestTakeReads(t *testing.T) {
	plain := openClip(t, cliptest.New(t, "square", 5), "square")
	for side := range 4 {
		ch := &change{side: side, pixels: 4, quality: 90, start: 1}
		want := readFrame(t, plain, 2)
		clip.Crop(want, ch.kept(want.Width, want.Height))
		require.NoError(t, clip.Recode(want, 90))
		got := readFrame(t, &take{Clip: plain.Clip, change: ch}, 2)
		if got.Width != want.Width || got.Height != want.Height || !bytes.Equal(got.BGR, want.BGR) || !bytes.Equal(got.Truth, want.Truth) {
			t.Errorf("side %d: %d×%d, want the cropped and coded %d×%d", side, got.Width, got.Height, want.Width, want.Height)
		}
	}
}

// hide empties the truth of a frame.
func hide(t *testing.T, root, name string, frame int) {
	t.Helper()
	writeTruth(t, root, name, frame, image.NewGray(image.Rect(0, 0, 96, 64)))
}

// writeTruth replaces the truth of a frame.
func writeTruth(t *testing.T, root, name string, frame int, truth image.Image) {
	t.Helper()
	f, err := os.Create(filepath.Join(root, "Annotations", "480p", name, fmt.Sprintf("%05d.png", frame)))
	require.NoError(t, err)
	require.NoError(t, errors.Join(png.Encode(f, truth), f.Close()))
}

// played are the numbers of a take's files.
func played(t *take) (out []string) {
	for i, file := range t.Images {
		number := strings.TrimSuffix(filepath.Base(file), ".jpg")
		if number+".png" != filepath.Base(t.Truths[i]) {
			number += " with the truth of another"
		}
		out = append(out, strings.TrimLeft(number, "0"))
	}
	return out
}

func TestTakes(t *testing.T) {
	root := cliptest.New(t, "dog", 8) // repeat 0 of seed 2 begins 1 frame later
	hide(t, root, "dog", 7)
	hide(t, root, "dog", 6)
	hide(t, root, "dog", 1)
	c := openClip(t, root, "dog").Clip
	start := drawChange(2, 0, c).start
	if start != 1 {
		t.Fatalf("the change begins %d frames later; want 1 for this test", start)
	}
	for _, tt := range []struct {
		name string
		opt  Options
		want string
	}{
		{"as it is", Options{Seed: 2}, "[ 1 2 3 4 5 6 7]"},
		{"repeat, whose first frame is empty", Options{Seed: 2, Repeat: 1}, "[2 3 4 5 6 7]"},
		{"backwards, from the first that shows the object", Options{Seed: 2, Backwards: true}, "[5 4 3 2 1 ]"},
		{"both", Options{Seed: 2, Repeat: 1, Backwards: true}, "[5 4 3 2 1 ]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.opt.take(c, 0)
			require.NoError(t, err)
			if s := fmt.Sprint(played(got)); s != tt.want {
				t.Errorf("frames %s are played; want %s", s, tt.want)
			}
		})
	}
	if len(c.Images) != 8 || !slices.IsSorted(c.Images) {
		t.Error("the clip itself was changed")
	}
}

// The same frames come in the other order, and the report says so.
func TestBackwards(t *testing.T) {
	root := cliptest.New(t, "square", 6)
	seen := func(backwards bool) (frames [][]byte, r *Report) {
		r, err := Run(t.Context(), Options{Root: root, Features: features.Config{Superpixels: 200}, Backwards: backwards,
			Frame: func(_ string, i int, f Frame) error {
				if i != len(frames) || f.Result.Seq != uint64(i) {
					t.Errorf("frame %d, sequence number %d after %d", i, f.Result.Seq, len(frames))
				}
				frames = append(frames, slices.Clone(f.Image.(*image.RGBA).Pix))
				return nil
			}})
		require.NoError(t, err)
		return frames, r
	}
	forwards, plain := seen(false)
	backwards, r := seen(true)
	slices.Reverse(backwards)
	if len(forwards) != 6 || !slices.EqualFunc(forwards, backwards, bytes.Equal) {
		t.Errorf("%d frames, backwards they are not the same in the other order", len(forwards))
	}
	if !r.Backwards || plain.Backwards || r.MeanJ < 0.9 {
		t.Errorf("backwards %v with J %.3f, forwards %v; want true above 0.9 and false", r.Backwards, r.MeanJ, plain.Backwards)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	if !strings.Contains(string(text), `"backwards":true`) || strings.Contains(string(text), "repeat") || strings.Contains(string(text), "j_sd") {
		t.Errorf("report %s", text)
	}
}

// Repeats differ from each other and not from run to run, and the report has their
// means and deviations.
func TestRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 24 s: sequences of pictures")
	}
	root := cliptest.New(t, "square", 42)
	cliptest.Add(t, root, "other", 41)
	for _, kind := range []Perturbation{Undisturbed, Occlusion} {
		t.Run(kind.String(), func(t *testing.T) {
			const n = 3
			frames, ticks, total := 0, 0, 0
			opt := Options{Root: root, Features: features.Config{Superpixels: 60}, Repeat: n, Seed: 1, Perturb: kind,
				Progress: func(_, all int) { ticks, total = ticks+1, all },
				Frame:    func(string, int, Frame) error { frames++; return nil }}
			r, err := Run(t.Context(), opt)
			require.NoError(t, err)
			opt.Progress, opt.Frame = nil, nil

			runs, shown := 0, 0
			means := make([]float64, n)
			for s, name := range []string{"other", "square"} {
				rows := make([]Sequence, n)
				var j []float64
				c := openClip(t, root, name).Clip
				for i := range n {
					tk, err := opt.take(c, i)
					require.NoError(t, err)
					rows[i], err = runTake(t.Context(), &opt, tk, false, func() { runs++ }, &stats.Reliability{})
					require.NoError(t, err)
					if i == 0 {
						shown += len(tk.Images)
					}
					j = append(j, rows[i].J)
					means[i] += rows[i].J / 2
				}
				if j[0] == j[1] && j[1] == j[2] {
					t.Errorf("%s: every repeat has J %v", name, j[0])
				}
				row := r.Sequences[s]
				mean := func(get func(Sequence) float64) (m float64) {
					for _, one := range rows {
						m += get(one) / n
					}
					return m
				}
				for what, v := range map[string][2]float64{
					"J":           {row.J, mean(func(s Sequence) float64 { return s.J })},
					"its sd":      {*row.JSD, stats.Deviation(j)},
					"F":           {row.F, mean(func(s Sequence) float64 { return s.F })},
					"frames":      {row.Frames, mean(func(s Sequence) float64 { return s.Frames })},
					"false":       {row.False.Outline, mean(func(s Sequence) float64 { return s.False.Outline })},
					"instability": {row.Instability, mean(func(s Sequence) float64 { return s.Instability })},
				} {
					if math.Abs(v[0]-v[1]) > 1e-12 {
						t.Errorf("%s: %s is %v; the repeats again give %v", name, what, v[0], v[1])
					}
				}
				if kind == Occlusion {
					if want := mean(func(s Sequence) float64 { return *s.JAfterRatio }); math.Abs(*row.JAfterRatio-want) > 1e-12 {
						t.Errorf("%s: ratio %v; want %v", name, *row.JAfterRatio, want)
					}
				}
			}
			if ticks != runs || total != runs || frames != shown {
				t.Errorf("%d steps of %d and %d frames shown; want %d, and the first repeat's %d", ticks, total, frames, runs, shown)
			}
			if r.Repeat.N != n || r.Repeat.MeanJ != r.MeanJ || math.Abs(r.MeanJ-stats.Mean(means)) > 1e-12 ||
				math.Abs(r.Repeat.SDJ-stats.Deviation(means)) > 1e-12 || r.Repeat.SDJ == 0 || *r.Seed != 1 {
				t.Errorf("%+v; want the means %v summed up", *r.Repeat, means)
			}
			text, err := json.Marshal(r)
			require.NoError(t, err)
			for _, key := range []string{`"repeat":{"n":3,"mean_j":`, `"sd_j":`, `"j_sd":`, `"seed":1`} {
				if !strings.Contains(string(text), key) {
					t.Errorf("report %s lacks %s", text, key)
				}
			}
		})
	}
}

func TestTooShort(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: sequences of pictures")
	}
	root := cliptest.New(t, "brief", 3)
	cliptest.Add(t, root, "square", 40)
	opt := Options{Root: root, Features: features.Config{Superpixels: 50}, Repeat: 8}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	if len(r.Skipped) != 1 || r.Skipped[0].Name != "brief" || len(r.Sequences) != 1 {
		t.Errorf("%+v; want brief skipped", r.Skipped)
	}
	opt.Sequences = []string{"brief"}
	if _, err := Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "brief has") || !strings.Contains(err.Error(), "want at least 3") {
		t.Errorf("error is %v; want one that names brief and 3 frames", err)
	}
	opt.Repeat = -1
	_, err = Run(t.Context(), opt)
	assert.ErrorContains(t, err, "-1 repeats")
	for i := range 3 {
		hide(t, root, "brief", i)
	}
	opt.Repeat = 0
	_, err = Run(t.Context(), opt)
	assert.ErrorContains(t, err, "marks no object")
	opt.Backwards = true
	_, err = Run(t.Context(), opt)
	assert.ErrorContains(t, err, "0 frames from the first that shows the object")
}
