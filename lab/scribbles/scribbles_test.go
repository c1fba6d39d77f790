package scribbles

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
)

// shapes are objects in 160×120 pictures.
var shapes = map[string]func(x, y int) bool{
	"disc":       func(x, y int) bool { return (x-80)*(x-80)+(y-60)*(y-60) <= 30*30 },
	"ring":       func(x, y int) bool { d := math.Hypot(float64(x-80), float64(y-60)); return d <= 40 && d >= 28 },
	"thin":       func(x, y int) bool { return x >= 20 && x < 120 && y >= 50 && y < 53 },
	"two pieces": func(x, y int) bool { return y >= 40 && y < 80 && (x >= 20 && x < 50 || x >= 100 && x < 150) },
	"at the rim": func(x, y int) bool { return x < 60 && y < 90 },
	"speckled":   func(x, y int) bool { return x >= 30 && x < 70 && y >= 30 && y < 70 || x == 100 && y == 100 },
	"nearly all": func(x, y int) bool { return x > 1 },
}

func shape(in func(x, y int) bool) []uint8 {
	bits := make([]uint8, 160*120)
	for p := range bits {
		if in(p%160, p/160) {
			bits[p] = 1
		}
	}
	return bits
}

// painted lists the pixels a stroke paints: those with their centre within half
// the brush, and a hairline's 0.75, of the line.
func painted(s annotation.Stroke) (out []int) {
	radius := math.Max(s.Width/2, 0.75)
	for p := range 160 * 120 {
		x, y := float64(p%160)+0.5, float64(p/160)+0.5
		for i, b := range s.Points {
			if math.Max(math.Abs(x-b[0]), math.Abs(y-b[1])) > radius+2*strokeStep {
				continue // far from the line that ends here
			}
			a := s.Points[max(0, i-1)]
			dx, dy := b[0]-a[0], b[1]-a[1]
			t := 0.0
			if l := dx*dx + dy*dy; l > 0 {
				t = math.Max(0, math.Min(1, ((x-a[0])*dx+(y-a[1])*dy)/l))
			}
			if math.Hypot(x-a[0]-t*dx, y-a[1]-t*dy) <= radius {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

func TestStrokes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: skeletons of many shapes")
	}
	for name, in := range shapes {
		t.Run(name, func(t *testing.T) {
			truth := shape(in)
			for seed := range uint64(8) {
				draw := func(seed uint64) *annotation.Annotation {
					return drawStrokes(rand.New(rand.NewPCG(seed, 0)), truth, 160, 120, name)
				}
				a := draw(seed)
				require.Equal(t, draw(seed), a, "one seed, two drawings")
				if reflect.DeepEqual(a, draw(seed+1)) {
					t.Error("two seeds, one drawing")
				}
				hit := map[int]bool{}
				for _, s := range a.Objects[0].Scribbles {
					for _, p := range painted(s) {
						if truth[p] == 0 {
							t.Fatalf("seed %d: an object stroke paints background at (%d, %d)", seed, p%160, p/160)
						}
						hit[p] = true
					}
				}
				for _, s := range a.Background {
					for _, p := range painted(s) {
						if truth[p] != 0 {
							t.Fatalf("seed %d: a background stroke paints the object at (%d, %d)", seed, p%160, p/160)
						}
					}
				}
				if len(a.Background) == 0 && name != "nearly all" {
					t.Errorf("seed %d: no stroke on the background", seed)
				}
				for _, piece := range pieces(truth, 160, 120) {
					if got := slices.ContainsFunc(piece, func(p int) bool { return hit[p] }); got != (len(piece) > 1) {
						t.Errorf("seed %d: a piece of %d pixels is marked: %v", seed, len(piece), got)
					}
				}
			}
		})
	}
}

func TestDistances(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: distances counted one by one")
	}
	for name, in := range shapes {
		bits := shape(in)
		d := distances(bits, 160, 120)
		for p := 0; p < len(bits); p += 53 {
			want := math.Inf(1)
			for q, b := range bits {
				if b == 0 {
					want = math.Min(want, math.Hypot(float64(p%160-q%160), float64(p/160-q/160)))
				}
			}
			if math.Abs(d[p]-want) > 0.08*want {
				t.Fatalf("%s: (%d, %d) is %.2f inside; want %.2f within 8 %%", name, p%160, p/160, d[p], want)
			}
		}
	}
	if d := distances([]uint8{1, 1}, 2, 1); !math.IsInf(d[0], 1) {
		t.Errorf("an object without background is %v inside; want +Inf", d[0])
	}
}

func TestRun(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	cliptest.Add(t, root, "again", 3)
	calls, ticks := 0, 0
	opt := Options{
		Root: root, Features: features.Config{Superpixels: 200}, ModelName: "colour", Seed: 3, Seeds: 3,
		Picture: func(name string, seed uint64, p Picture) error {
			if calls++; seed < 3 || seed > 5 || p.Truth.Area() != 900 || len(p.Strokes.Objects[0].Scribbles) == 0 || p.Image.Bounds().Dx() != 96 {
				t.Errorf("%s, seed %d: %d true pixels, strokes %v", name, seed, p.Truth.Area(), p.Strokes)
			}
			return nil
		},
		Progress: func(done, total int) {
			if ticks++; done != ticks || total != 6 {
				t.Errorf("progress %d of %d; want %d of 6", done, total, ticks)
			}
		},
	}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	if calls != 6 || ticks != 6 || len(r.Sequences) != 2 || r.Sequences[0].Name != "again" || r.MedianJ < 0.8 || r.MedianJKMeans < 0.8 {
		t.Fatalf("%d calls, %d ticks, %+v; want 6, 6, and both methods to find a red square on green", calls, ticks, r)
	}
	if want := (r.Sequences[0].JBox + r.Sequences[1].JBox) / 2; r.MeanJBox < 0.8 || math.Abs(r.MeanJBox-want) > 1e-12 {
		t.Errorf("mean J %.3f by the box; want above 0.8 and the mean of both, %.3f", r.MeanJBox, want)
	}
	if r.MeanJMovedBox < 0.7 || r.MeanJMovedBox == r.MeanJBox {
		t.Errorf("mean J %.3f by moved boxes; want above 0.7 and another than %.3f", r.MeanJMovedBox, r.MeanJBox)
	}
	for _, s := range r.Sequences {
		j := slices.Sorted(slices.Values(s.J))
		if len(j) != 3 || len(s.JKMeans) != 3 || len(s.JMovedBox) != 3 || s.MedianJ != j[1] {
			t.Errorf("%+v", s)
		}
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, key := range []string{`"mode":"joint"`, `"model":"colour"`, `"seed":3,"seeds":3`, `"sequences":[{"name":"again","j":[`, `"j_kmeans":[`, `"median_j":`, `"median_j_kmeans":`, `"mean_j":`, `"mean_j_kmeans":`, `"j_box":`, `"mean_j_box":`, `"j_moved_box":[`, `"mean_j_moved_box":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}

	full := errors.New("disk full")
	opt.Progress = nil
	opt.Picture = func(string, uint64, Picture) error { return full }
	_, err = Run(t.Context(), opt)
	assert.ErrorIs(t, err, full)
	opt.Seeds = -1
	_, err = Run(t.Context(), opt)
	assert.ErrorContains(t, err, "-1 seeds")
}

// k-means keeps what a stroke says even where the colours say otherwise, and
// starts from the strokes' colours alone.
func TestMoveSides(t *testing.T) {
	for name, box := range map[string][4]float64{"inside": {40, 30, 80, 90}, "at the rim": {0, 0, 160, 20}} {
		var in, out [4]bool
		for seed := range uint64(50) {
			got := moveSides(rand.New(rand.NewPCG(seed, 0)), box, 160, 120)
			for k, v := range got {
				size := box[2+k%2] - box[k%2]
				off := (v - box[k]) / size
				if math.Abs(off) > sideMoves || v < 0 || v > [...]float64{160, 120}[k%2] {
					t.Fatalf("%s: %v of %v", name, got, box)
				}
				if k >= 2 {
					off = -off
				}
				in[k], out[k] = in[k] || off > sideMoves/2, out[k] || off < -sideMoves/2
			}
		}
		for k := range box {
			if rim := name == "at the rim" && k < 3; !in[k] || out[k] == rim {
				t.Errorf("%s: side %d moves in %t, out %t", name, k, in[k], out[k])
			}
		}
	}
}

func TestKMeansIsConstrained(t *testing.T) {
	p := firstFrame(t, cliptest.New(t, "square", 3))
	extractor, err := features.New(features.Config{Superpixels: 200}, nil)
	require.NoError(t, err)
	var scene features.Scene
	require.NoError(t, extractor.Extract(&scene, p.BGR, p.Width, p.Height, features.Plan{Whole: true}))
	m, err := newKMeans(&scene)
	require.NoError(t, err)
	dot := func(x, y float64) annotation.Stroke {
		return annotation.Stroke{Width: 3, Points: []annotation.Point{{x, y}}}
	}
	segment := func(object, background []annotation.Stroke) mask.RLE {
		got, err := m.segment(t.Context(), &annotation.Annotation{Width: 96, Height: 64,
			Objects: []annotation.Object{{ID: 1, Scribbles: object}}, Background: background})
		require.NoError(t, err)
		return got
	}
	at := func(m mask.RLE, x, y int) uint8 { return m.Decode(nil)[y*96+x] }
	truth := mask.Encode(p.Truth, 96, 64)

	right := segment([]annotation.Stroke{dot(45, 30), dot(55, 40)}, []annotation.Stroke{dot(10, 10), dot(85, 55)})
	if j := mask.IoU(right, truth); j < 0.9 {
		t.Errorf("J %.2f from dots on a red square and on its green ground; want above 0.9", j)
	}
	swapped := segment([]annotation.Stroke{dot(10, 10), dot(85, 55)}, []annotation.Stroke{dot(45, 30), dot(55, 40)})
	if j := mask.IoU(swapped, truth); j > 0.1 || at(swapped, 3, 3) != 1 {
		t.Errorf("J %.2f from dots the wrong way round; want the ground", j)
	}
	odd := segment([]annotation.Stroke{dot(45, 30), dot(55, 40), dot(10, 10)}, []annotation.Stroke{dot(85, 55), dot(50, 5), dot(20, 55)})
	if at(odd, 10, 10) != 1 || at(odd, 85, 55) != 0 {
		t.Error("a stroke's superpixel lost its label")
	}
}

// Masks come of strokes and box alone: with any other truth around them they are the
// same.
func TestHiddenTruth(t *testing.T) {
	p := firstFrame(t, cliptest.New(t, "square", 3))
	strokes := drawStrokes(rand.New(rand.NewPCG(1, 1)), p.Truth, p.Width, p.Height, "square")
	box := &annotation.Annotation{Width: p.Width, Height: p.Height, Objects: []annotation.Object{{ID: 1, Box: []float64{33, 16, 63, 46}}}}
	other := *p
	other.Truth = slices.Clone(p.Truth)
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(other.Truth), func(i, j int) {
		other.Truth[i], other.Truth[j] = other.Truth[j], other.Truth[i]
	})
	for _, s := range slices.Concat(strokes.Objects[0].Scribbles, strokes.Background) {
		for _, q := range s.Points {
			at := int(q[1])*p.Width + int(q[0])
			other.Truth[at] = p.Truth[at]
		}
	}
	var found [2][]mask.RLE
	for i, p := range []*offline.Picture{p, &other} {
		m, err := newMethods(&Options{Features: features.Config{Superpixels: 200}}, p)
		require.NoError(t, err)
		for _, find := range []func() (mask.RLE, error){
			func() (mask.RLE, error) { return m.track(t.Context(), strokes) },
			func() (mask.RLE, error) { return m.track(t.Context(), box) },
			func() (mask.RLE, error) { return m.kmeans.segment(t.Context(), strokes) },
		} {
			got, err := find()
			require.NoError(t, err)
			found[i] = append(found[i], got)
		}
	}
	assert.Equal(t, found[1], found[0], "masks depend on the truth outside of the annotation")
}

func firstFrame(t *testing.T, root string) *offline.Picture {
	t.Helper()
	clips, err := clip.Open(root, nil)
	require.NoError(t, err)
	p, err := clips[0].First()
	require.NoError(t, err)
	return p
}
