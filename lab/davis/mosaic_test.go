package davis

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
)

// squares is a root with sequences a, b, … of so many frames.
func squares(t *testing.T, frames ...int) string {
	t.Helper()
	root := cliptest.New(t, "a", frames[0])
	for i, n := range frames[1:] {
		cliptest.Add(t, root, string(rune('b'+i)), n)
	}
	return root
}

// Four at once in one picture, for as long as the shortest lasts; what fills the last mosaic up
// is followed but not counted; and J alone is of the same frames.
func TestMosaic(t *testing.T) {
	root := squares(t, 6, 9, 7, 8, 9)
	opt := Options{Root: root, Features: features.Config{Superpixels: 400}, ModelName: "colour"}
	type step struct {
		name  string
		size  image.Point
		ids   []uint32
		truth int
	}
	var seen []step
	ticks, total := 0, 0
	opt.Progress = func(_, all int) { ticks, total = ticks+1, all }
	opt.Frame = func(name string, i int, f Frame) error {
		s := step{name: name, size: f.Image.Bounds().Size(), truth: f.Truth.Area()}
		for _, o := range f.Result.Objects {
			s.ids = append(s.ids, o.ID)
		}
		assert.Equal(t, uint64(i), f.Result.Seq, "frame %d has the sequence number", i)
		seen = append(seen, s)
		return nil
	}
	r, err := RunMosaic(t.Context(), opt)
	require.NoError(t, err)
	var want []step
	for k := range 2 {
		for range 6 { // a is in both, and the shortest
			want = append(want, step{fmt.Sprintf("mosaic-%d", k+1), image.Pt(2*96, 2*64), []uint32{1, 2, 3, 4}, 4 * 900})
		}
	}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(seen), "seen were\n%v; want\n%v", seen, want)
	if n := 6 + 4*6 + 6 + 6; ticks != n || total != n {
		t.Errorf("%d steps of %d; want %d: two mosaics, and each sequence alone once", ticks, total, n)
	}
	if len(r.Mosaic) != 5 {
		t.Fatalf("%d rows; want one a sequence: %+v", len(r.Mosaic), r.Mosaic)
	}
	var j, alone, difference float64
	for i, row := range r.Mosaic {
		if name := string(rune('a' + i)); row.Sequence != name || row.Frames != 4 || row.Mosaic != 1+i/4 {
			t.Errorf("row %d is %+v; want %s, 4 frames", i, row, name)
		}
		if row.J < 0.85 || row.JAlone < 0.85 || row.Difference != row.J-row.JAlone {
			t.Errorf("%s: J %v, alone %v, difference %v; want both above 0.85", row.Sequence, row.J, row.JAlone, row.Difference)
		}
		c := openClip(t, root, row.Sequence)
		c.Images, c.Truths = c.Images[:6], c.Truths[:6]
		run, err := follow(t.Context(), &opt, c, nil, nil, func() {})
		require.NoError(t, err)
		if want := stats.Mean(run.j[1:5]); row.JAlone != want {
			t.Errorf("%s: J alone %v; want that of the mosaic's frames, %v", row.Sequence, row.JAlone, want)
		}
		j, alone, difference = j+row.J/5, alone+row.JAlone/5, difference+row.Difference/5
	}
	if math.Abs(r.MeanJ-j) > 1e-12 || math.Abs(r.MeanJAlone-alone) > 1e-12 || math.Abs(r.MeanDifference-difference) > 1e-12 {
		t.Errorf("means %v, %v and %v; want %v, %v and %v", r.MeanJ, r.MeanJAlone, r.MeanDifference, j, alone, difference)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, key := range []string{`"mode":"joint"`, `"model":"colour"`, `"mosaic":[{"sequence":"a","mosaic":1,"frames":4,"j":`, `"j_alone":`, `"difference":`, `"mean_j":`, `"mean_j_alone":`, `"mean_difference":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}
	for _, key := range []string{"repeat", "seed", "skipped", "backwards", "_sd"} {
		if strings.Contains(string(text), key) {
			t.Errorf("report has %s: %s", key, text)
		}
	}
}

// Each part is its sequence's own picture in its quadrant, and its truth has its id.
func TestMosaicReads(t *testing.T) {
	root := squares(t, 4, 5, 6, 7)
	var parts []*take
	for _, name := range []string{"a", "b", "c", "d"} {
		parts = append(parts, openClip(t, root, name))
	}
	parts[1].change = &change{side: 0, pixels: 3, quality: 92} // it is narrower than the others
	parts[2].change = &change{side: 3, pixels: 2, quality: 95} // and this one is lower
	m, err := newMosaic(parts, 4)
	require.NoError(t, err)
	got, err := m.Read(2)
	require.NoError(t, err)
	if m.frames() != 4 || got.Width != 2*93 || got.Height != 2*62 {
		t.Fatalf("%d frames of %d×%d; want 4 of 186×124", m.frames(), got.Width, got.Height)
	}
	for k, part := range parts {
		want := readFrame(t, part, 2)
		clip.Crop(want, image.Rect(0, 0, 93, 62))
		for y := range 62 {
			at := (k/2*62+y)*got.Width + k%2*93
			if !slices.Equal(got.BGR[3*at:3*(at+93)], want.BGR[3*93*y:3*93*(y+1)]) {
				t.Fatalf("%s: line %d has other pixels than the sequence", part.Name, y)
			}
			for x, v := range got.Truth[at : at+93] {
				if v != want.Truth[93*y+x]*uint8(k+1) {
					t.Fatalf("%s: the truth at %d, %d is %d; the sequence has %d", part.Name, x, y, v, want.Truth[93*y+x])
				}
			}
		}
		alone := readFrame(t, m.parts[k], 2)
		if !slices.Equal(alone.BGR, want.BGR) || !slices.Equal(alone.Truth, want.Truth) || len(m.parts[k].Images) != 4 {
			t.Errorf("%s alone has other pictures than in the mosaic", part.Name)
		}
	}
	if len(parts[3].Images) != 7 || parts[3].cut != (image.Point{}) {
		t.Error("the sequence itself was changed")
	}
}

// Truths after the first frame are not looked at: in a mosaic, too.
func TestMosaicHiddenTruths(t *testing.T) {
	root := squares(t, 5, 5, 5, 5)
	run := func() (masks []mask.RLE, j float64) {
		r, err := RunMosaic(t.Context(), Options{Root: root, Features: features.Config{Superpixels: 400}, Frame: func(_ string, _ int, f Frame) error {
			for _, o := range f.Result.Objects {
				masks = append(masks, o.Mask)
			}
			return nil
		}})
		require.NoError(t, err)
		return masks, r.MeanJ
	}
	want, honest := run()
	truth := image.NewGray(image.Rect(0, 0, 96, 64))
	for x := range 40 {
		truth.SetGray(x, 2, color.Gray{Y: 255})
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		for i := 1; i < 5; i++ {
			writeTruth(t, root, name, i, truth)
		}
	}
	got, wrong := run()
	if len(got) != 4*5 || !slices.EqualFunc(got, want, func(a, b mask.RLE) bool { return a.String() == b.String() }) {
		t.Error("masks depend on truths after the first frame")
	}
	if wrong > honest/2 {
		t.Errorf("J %.2f with wrong truths, %.2f with the real ones", wrong, honest)
	}
}

func TestMosaicRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: sequences of pictures")
	}
	root := squares(t, 9, 8, 9, 10)
	shown := map[string]int{}
	opt := Options{Root: root, Features: features.Config{Superpixels: 400}, Repeat: 2, Seed: 3, Backwards: true,
		Frame: func(name string, _ int, _ Frame) error { shown[name]++; return nil }}
	r, err := RunMosaic(t.Context(), opt)
	require.NoError(t, err)
	opt.Frame = nil
	clips, err := clip.Open(root, nil)
	require.NoError(t, err)
	rows := make([][]float64, 4) // J of each repeat
	means := make([]float64, 2)
	for i := range 2 {
		var takes []*take
		for _, c := range clips {
			tk, err := opt.take(c, i)
			require.NoError(t, err)
			takes = append(takes, tk)
		}
		m, err := newMosaic(takes, 4)
		require.NoError(t, err)
		if i == 0 && (len(shown) != 1 || shown["mosaic-1"] != m.frames()) {
			t.Errorf("%v frames were shown; want the first repeat's %d", shown, m.frames())
		}
		parts, err := m.run(t.Context(), &opt, nil, func() {})
		require.NoError(t, err)
		for k, p := range parts {
			rows[k] = append(rows[k], p.J)
			means[i] += p.Difference / 4
		}
	}
	if !slices.ContainsFunc(r.Mosaic, func(row Part) bool { return *row.JSD > 0 }) {
		t.Error("the repeats are the same")
	}
	for k, row := range r.Mosaic {
		if math.Abs(row.J-stats.Mean(rows[k])) > 1e-12 || math.Abs(*row.JSD-stats.Deviation(rows[k])) > 1e-12 || row.DifferenceSD == nil || row.JAloneSD == nil {
			t.Errorf("%+v; the repeats again have J %v", row, rows[k])
		}
	}
	if r.Repeat.N != 2 || math.Abs(r.Repeat.MeanDifference-r.MeanDifference) > 1e-12 || math.Abs(r.MeanDifference-stats.Mean(means)) > 1e-12 ||
		math.Abs(r.Repeat.SDDifference-stats.Deviation(means)) > 1e-12 || *r.Seed != 3 || !r.Backwards {
		t.Errorf("%+v; want the differences %v summed up", *r.Repeat, means)
	}
}

func TestMosaicRefuses(t *testing.T) {
	four := squares(t, 5, 5, 5, 5)
	wide := squares(t, 3, 3, 3)
	cliptest.AddScaled(t, wide, "d", 3, 2)
	empty := squares(t, 3, 3, 3, 3)
	hide(t, empty, "c", 0)
	for _, tt := range []struct {
		name string
		opt  Options
		want string
	}{
		{"three", Options{Root: squares(t, 3, 3, 3)}, "3 sequences; want at least 4"},
		{"three are long enough", Options{Root: squares(t, 12, 12, 12, 3), Repeat: 8}, "3 sequences; want at least 4"},
		{"disturbed", Options{Root: four, Perturb: Noise}, "a mosaic is not disturbed"},
		{"inset", Options{Root: four, Inset: image.Pt(640, 360)}, "a mosaic has none"},
		{"repeats", Options{Root: four, Repeat: -1}, "-1 repeats"},
		{"sizes", Options{Root: wide}, "d is 192×128, a is 96×64"},
		{"no object", Options{Root: empty}, "marks no object"},
		{"no such sequence", Options{Root: four, Sequences: []string{"a", "x"}}, `no sequence "x"`},
		{"standing copies", Options{Root: four, Stabilise: true}, "want no Stabilise"},
		{"model", Options{Root: four, Model: failingModel{}}, "davis: mosaic of a, b, c and d: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := RunMosaic(t.Context(), tt.opt)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

type failingModel struct{}

func (failingModel) Features(features.Sight, []byte, int, int, features.View) (features.Sight, error) {
	return features.Sight{}, errors.New("no network")
}
