package features

import (
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A crop is seen as an image of its own would be, in its place.
func TestCropIsAnImage(t *testing.T) {
	const w, h = 200, 150
	bgr, _ := discsImage(w, h, 40, 3)
	e, err := New(Config{Superpixels: 300}, nil) // 100 pixels each
	if err != nil {
		t.Fatal(err)
	}
	r := image.Rect(37, 20, 157, 120)
	var s Scene
	if err := e.Extract(&s, bgr, w, h, Plan{Crops: []Crop{{Rectangle: r}}}); err != nil {
		t.Fatal(err)
	}
	var own []byte
	for y := r.Min.Y; y < r.Max.Y; y++ {
		own = append(own, bgr[3*(y*w+r.Min.X):][:3*r.Dx()]...)
	}
	alone, err := New(Config{Superpixels: 120}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want Scene
	if err := alone.Extract(&want, own, r.Dx(), r.Dy(), Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	if s.N != 120 || !slices.Equal(s.Patches[0].Labels, want.Patches[0].Labels) || !slices.Equal(s.X, want.X) ||
		!slices.Equal(s.Edges, want.Edges) || !slices.Equal(s.Area, want.Area) {
		t.Fatalf("%d superpixels; want the %d of an image that is as large", s.N, want.N)
	}
	for k := range s.N {
		if math.Hypot(float64(s.Centroid[2*k]-want.Centroid[2*k])-37, float64(s.Centroid[2*k+1]-want.Centroid[2*k+1])-20) > 1e-3 {
			t.Fatalf("superpixel %d is at %v; want %v, moved", k, s.Centroid[2*k:2*k+2], want.Centroid[2*k:2*k+2])
		}
	}
	for y := range h {
		for x := range w {
			label, in := Label(s.Patches, x, y), image.Pt(x, y).In(r)
			if _, seen := Pixel(s.Patches, x, y); seen != in || in != (label != Unseen) {
				t.Fatalf("pixel (%d, %d): superpixel %d, seen %t; want it seen: %t", x, y, label, seen, in)
			}
		}
	}
}

// What several crops show are regions, each in one of them, at the density of their zoom; the
// first counts, and the whole shows the rest.
func TestCropsOverlap(t *testing.T) {
	const w, h, count = 240, 160, 384 // 10 pixels apart
	bgr := noiseImage(w, h, 3)
	e, err := New(Config{Superpixels: count}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	crops := []Crop{{Rectangle: image.Rect(40, 40, 80, 80), Zoom: 2}, {Rectangle: image.Rect(60, 60, 140, 120), Zoom: 1}, {Rectangle: image.Rect(230, 150, 300, 200), Zoom: 0}, {Rectangle: image.Rect(300, 0, 310, 9), Zoom: 1}}
	for _, whole := range []bool{false, true} {
		if err := e.Extract(&s, bgr, w, h, Plan{Crops: crops, Whole: whole}); err != nil {
			t.Fatal(err)
		}
		if want := 3; len(s.Patches) != want && !whole || whole && len(s.Patches) != want+1 {
			t.Fatalf("whole %t: %d patches", whole, len(s.Patches))
		}
		area, n := make([]int32, s.N), 0
		for y := range h {
			for x := range w {
				k := Label(s.Patches, x, y)
				at := image.Pt(x, y)
				in := slices.IndexFunc(crops, func(c Crop) bool { return at.In(c.Rectangle) })
				switch {
				case k == Unseen:
					if whole || in >= 0 {
						t.Fatalf("whole %t: pixel %v is not seen", whole, at)
					}
					continue
				case in < 0 && !whole:
					t.Fatalf("pixel %v is seen", at)
				case in < 0:
					in = 3
				}
				if p := s.Patches[in]; int(k) < p.First || int(k) >= p.First+p.N {
					t.Fatalf("whole %t: pixel %v is in superpixel %d; want one of %d…%d", whole, at, k, p.First, p.First+p.N-1)
				}
				area[k]++
				n++
			}
		}
		for k := range area {
			if area[k] != s.Area[k] {
				t.Fatalf("whole %t: superpixel %d has %d pixels and area %d", whole, k, area[k], s.Area[k])
			}
		}
		if whole && n != w*h {
			t.Errorf("%d pixels are seen; want all", n)
		}
		if got := s.Patches[0].N; got != 64 {
			t.Errorf("%d superpixels at zoom 2; want 64, 5 pixels apart", got)
		}
		for _, e := range s.Edges {
			for _, p := range s.Patches {
				if in := int(e.I) >= p.First && int(e.I) < p.First+p.N; in != (int(e.J) >= p.First && int(e.J) < p.First+p.N) {
					t.Fatalf("edge %v between patches", e)
				}
			}
		}
	}
	if err := e.Extract(&s, bgr, w, h, Plan{}); err != nil || s.N != 0 || len(s.Patches) != 0 || s.Thumbnail.Width != w {
		t.Errorf("of nothing: %d superpixels, a thumbnail %d wide, %v; want none and %d", s.N, s.Thumbnail.Width, err, w)
	}
	if err := e.Extract(&s, bgr, w, h, Plan{Crops: []Crop{{Rectangle: crops[0].Rectangle, Zoom: 17}}}); err == nil || !strings.Contains(err.Error(), "want 1 to 16") {
		t.Errorf("zoom 17: %v", err)
	}
}

// Of a large image superpixels are grown on a smaller one, and features still come from where
// they are.
func TestShrunkPooling(t *testing.T) {
	const w, h = 1930, 1081
	r := rand.New(rand.NewPCG(2, 2))
	model := &fixedModel{maps: []Map{randomMap(2, 40, w, h, r)}}
	e, err := New(Config{Superpixels: 300}, model)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	bgr, _ := discsImage(w, h, 40, 3)
	if err := e.Extract(&s, bgr, w, h, Plan{Crops: []Crop{{Rectangle: image.Rect(101, 99, 402, 301), Zoom: 2}}, Whole: true}); err != nil {
		t.Fatal(err)
	}
	if p := s.Patches; p[0].Shrink != 1 || p[1].Shrink != 2 || p[1].Cols != 965 || p[1].Rows != 541 {
		t.Fatalf("patches shrunk by %d and %d, the second %d×%d", p[0].Shrink, p[1].Shrink, p[1].Cols, p[1].Rows)
	}
	sum, n := make([]float64, s.N), make([]float64, s.N)
	for y := range h {
		for x := range w {
			if k := Label(s.Patches, x, y); k != Unseen {
				sum[k] += sampleOracle(&model.maps[0], 0, x, y)
				n[k]++
			}
		}
	}
	for k := range s.N {
		// Half-seen blocks of pixels at the borders make a small difference.
		if got, want := float64(s.X[k*s.D]), sum[k]/n[k]; math.Abs(got-want) > 0.03 {
			t.Errorf("superpixel %d at %v: %.4f, want %.4f", k, s.Centroid[2*k:2*k+2], got, want)
		}
	}
}

// A thumbnail's cells have the colour of their mean, rounded to bytes; of one picture after another, too.
func TestThumbnail(t *testing.T) {
	const high = 20
	var thumb Thumbnail
	for _, tt := range []struct{ cell, w int }{{1, 300}, {3, 1155}, {2, 577}, {2, 959}, {3, 960}, {5, 1920}} {
		rng := rand.New(rand.NewPCG(1, uint64(tt.w)))
		bgr := make([]byte, 3*tt.w*high)
		for i := range bgr {
			bgr[i] = byte(rng.IntN(256))
		}
		thumb.Set(bgr, tt.w, high)
		cols, rows := tt.w/tt.cell, high/tt.cell
		if thumb.Cell != tt.cell || thumb.Width != cols || thumb.Height != rows || len(thumb.Lab) != 3*cols*rows {
			t.Fatalf("%d pixels wide: %d×%d cells of %d, %d values", tt.w, thumb.Width, thumb.Height, thumb.Cell, len(thumb.Lab))
		}
		for y := range rows {
			for x := range cols {
				var mean [3]byte
				for c := range mean {
					sum := 0
					for p := range tt.cell * tt.cell {
						sum += int(bgr[3*((y*tt.cell+p/tt.cell)*tt.w+x*tt.cell+p%tt.cell)+c])
					}
					mean[c] = byte(math.Round(float64(sum) / float64(tt.cell*tt.cell)))
				}
				var want [3]int16
				want[0], want[1], want[2] = lab.at(mean[0], mean[1], mean[2])
				if got := [3]int16(thumb.Lab[3*(y*cols+x):]); got != want {
					t.Fatalf("%d pixels wide, cell %d, %d: %v; want %v", tt.w, x, y, got, want)
				}
			}
		}
	}
}

// A crop of which earlier ones hide all has no superpixels.
func TestHiddenCrop(t *testing.T) {
	const w, h = 200, 120
	e, err := New(Config{Superpixels: 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	left := image.Rect(0, 0, w/2, h)
	if err := e.Extract(&s, make([]byte, 3*w*h), w, h, Plan{Crops: []Crop{{Rectangle: left, Zoom: 2}, {Rectangle: left, Zoom: 1}}}); err != nil {
		t.Fatal(err)
	}
	if s.Patches[0].N == 0 || s.Patches[1].N != 0 {
		t.Errorf("patches of %d and %d superpixels; want some and none", s.Patches[0].N, s.Patches[1].N)
	}
}

// finderModel finds the same things wherever it looks.
type finderModel struct {
	fixedModel
	found []Detection
	views []View
}

func (m *finderModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	m.views = append(m.views, v)
	sight, err := m.fixedModel.Features(Sight{}, bgr, w, h, v)
	sight = sight.CopyTo(dst)                       // whose memory may be released
	sight.Found = append(dst.Found[:0], m.found...) //nolint:gocritic // in its memory
	for i := range sight.Found {                    // each view a little more to the right, and less sure
		sight.Found[i].Box = sight.Found[i].Box.Add(image.Pt(len(m.views)-1, 0))
		sight.Found[i].Score -= float64(len(m.views)-1) / 100
	}
	return sight, err
}

// Of a still image the model sees all of it once, and what it shows is the same again; of others, of another still image and of parts every time.
func TestStill(t *testing.T) {
	const w, h = 200, 100
	model := &finderModel{fixedModel: fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}, found: []Detection{{Box: image.Rect(10, 10, 30, 60), Class: "person", Score: .9}}}
	e, err := New(Config{Superpixels: 50}, model)
	if err != nil {
		t.Fatal(err)
	}
	var scenes [2]Scene
	images := [][]byte{noiseImage(w, h, 3), noiseImage(w, h, 4)}
	crop := []Crop{{Rectangle: image.Rect(30, 30, 90, 90), Zoom: 2}}
	for i, tt := range []struct {
		image int
		plan  Plan
		views int
	}{
		{0, Plan{Whole: true}, 1}, // that is not still
		{0, Plan{Whole: true, Still: true}, 1},
		{0, Plan{Whole: true, Still: true}, 0},
		{0, Plan{Whole: true, Still: true, Crops: crop}, 1},
		{1, Plan{Whole: true, Still: true, Large: Everywhere}, 2},
		{1, Plan{Whole: true, Still: true, Crops: crop}, 1},
		{0, Plan{Whole: true, Still: true}, 1},
	} {
		model.views = nil
		s := &scenes[min(i, 2)%2] // the third has the memory of the first
		if err := e.Extract(s, images[tt.image], w, h, tt.plan); err != nil {
			t.Fatal(err)
		}
		if len(model.views) != tt.views {
			t.Errorf("row %d: the model saw %v; want %d views", i, model.views, tt.views)
		}
	}
	model.views = nil
	for i := range scenes {
		scenes[i].Release()
		if err := e.Extract(&scenes[i], images[0], w, h, Plan{Whole: true, Still: i == 0}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := &scenes[0], &scenes[1]
	if !slices.Equal(a.X, b.X) || !slices.Equal(a.Patches[0].Maps[0].Data, b.Patches[0].Maps[0].Data) || !slices.Equal(a.Found, b.Found) {
		t.Error("kept and seen again, an image is not the same")
	}
	model.err = errors.New("broken")
	if err := e.Extract(a, images[1], w, h, Plan{Whole: true, Still: true}); !errors.Is(err, model.err) {
		t.Errorf("%v; want the model's error", err)
	}
	model.err, model.views = nil, nil
	if err := e.Extract(a, images[1], w, h, Plan{Whole: true, Still: true}); err != nil || len(model.views) != 1 {
		t.Errorf("%v, seen %v; want what failed to be seen again", err, model.views)
	}
}

// The model sees a crop at its zoom and scale, and half of that when it is to see less; superpixels are as much larger.
func TestCropScale(t *testing.T) {
	const w, h = 200, 100
	model := &finderModel{fixedModel: fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}}
	e, err := New(Config{Superpixels: 50}, model)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	bgr := noiseImage(w, h, 3)
	seen := func(c Crop) (scales []float64, p *Patch) {
		t.Helper()
		model.views = nil
		if err := e.Extract(&s, bgr, w, h, Plan{Crops: []Crop{c}, Whole: true, Coarse: Everywhere}); err != nil {
			t.Fatal(err)
		}
		for _, v := range model.views {
			scales = append(scales, v.Scale)
		}
		return scales, &s.Patches[0]
	}
	crop := Crop{Rectangle: image.Rect(30, 30, 90, 90), Zoom: 2, Coarse: Everywhere}
	for _, want := range []struct {
		scale     float64
		scales    []float64
		n, shrink int
	}{
		{0, []float64{2, 1, 0.5, 1, 0.5, 0.25}, 36, 1}, // of 50 in 200×100 pixels, at twice the size
		{0.75, []float64{1.5, 0.75, 0.375, 1, 0.5, 0.25}, 20, 1},
		{0.5, []float64{1, 0.5, 0.25, 1, 0.5, 0.25}, 9, 2},
	} {
		crop.Scale = want.scale
		if scales, p := seen(crop); !slices.Equal(scales, want.scales) || p.N != want.n || p.Shrink != want.shrink {
			t.Errorf("at a scale of %v seen at %v, %d superpixels of pixels of %d; want %v, %d, %d", want.scale, scales, p.N, p.Shrink, want.scales, want.n, want.shrink)
		}
	}
	for _, bad := range []float64{-0.5, 1.5, math.NaN()} {
		crop.Scale = bad
		if err := e.Extract(&s, bgr, w, h, Plan{Crops: []Crop{crop}}); err == nil || !strings.Contains(err.Error(), "want more than 0 and at most 1") {
			t.Errorf("scale %v: %v", bad, err)
		}
	}
}

// Of what is round a crop the model sees about three sixteenths of its shorter side, and no less than half of that, in the smallest
// input for it.
func TestSeen(t *testing.T) {
	size := image.Pt(960, 544) // as the model sees it
	for _, tt := range []struct {
		crop   Crop
		aspect float64
		want   image.Rectangle
	}{
		{Crop{Rectangle: image.Rect(400, 200, 460, 260)}, 1, image.Rect(382, 182, 478, 278)},             // 82.5 pixels are 96
		{Crop{Rectangle: image.Rect(400, 200, 480, 280)}, 1, image.Rect(392, 192, 488, 288)},             // 110, too
		{Crop{Rectangle: image.Rect(400, 200, 490, 290)}, 1, image.Rect(381, 181, 509, 309)},             // 124 are 128
		{Crop{Rectangle: image.Rect(400, 200, 488, 270)}, 1, image.Rect(380, 187, 508, 283)},             // 114 by 96
		{Crop{Rectangle: image.Rect(400, 200, 430, 230)}, 1, image.Rect(383, 183, 447, 247)},             // 41 are 64: 36 are more than 32
		{Crop{Rectangle: image.Rect(400, 200, 404, 204)}, 1, image.Rect(386, 186, 418, 218)},             // 5.5 are 32
		{Crop{Rectangle: image.Rect(0, 200, 60, 260)}, 1, image.Rect(0, 182, 96, 278)},                   // at a border
		{Crop{Rectangle: image.Rect(0, 0, 940, 530)}, 1, image.Rect(0, 0, 960, 544)},                     // of which there is no more
		{Crop{Rectangle: image.Rect(400, 200, 430, 230), Zoom: 2}, 1, image.Rect(391, 191, 439, 239)},    // as 60
		{Crop{Rectangle: image.Rect(400, 200, 520, 320), Scale: 0.5}, 1, image.Rect(364, 164, 556, 356)}, // likewise
		{Crop{Rectangle: image.Rect(400, 200, 430, 260)}, 2, image.Rect(391, 182, 439, 278)},             // 82.5 by 71
	} {
		got := tt.crop.Seen(size, tt.aspect)
		if got != tt.want {
			t.Errorf("%+v of pixels %g times as wide as high: %v, %v; want %v", tt.crop, tt.aspect, got, got.Size(), tt.want)
		}
	}
}

// Where the model looks at all of an image, it does not look again at crops that are seen as large: what they show is as it is without
// that.
func TestLookAtAll(t *testing.T) {
	const w, h = 200, 100
	model := &finderModel{fixedModel: fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1))), randomMap(3, 9, w, h, rand.New(rand.NewPCG(2, 1)))}}}
	e, err := New(Config{Superpixels: 500}, model)
	require.NoError(t, err)
	bgr := noiseImage(w, h, 3)
	plan := Plan{Crops: []Crop{
		{Rectangle: image.Rect(30, 10, 61, 49), Coarse: Everywhere}, {Rectangle: image.Rect(190, 90, 200, 100)}, {Rectangle: image.Rect(0, 0, 5, 3)},
		{Rectangle: image.Rect(100, 20, 140, 60), Scale: 0.5}, {Rectangle: image.Rect(100, 70, 120, 90), Zoom: 2},
	}}
	var want, got Scene
	require.NoError(t, e.Extract(&want, bgr, w, h, plan))
	plan.Look, model.views = true, nil
	for range 2 { // the second time in the same memory
		model.views = nil
		require.NoError(t, e.Extract(&got, bgr, w, h, plan))
		require.Len(t, model.views, 1+coarser+2)
		require.Equal(t, View{PixelAspect: 1}, model.views[0])
		require.Equal(t, want.N, got.N)
		require.InDeltaSlice(t, want.X, got.X, 1e-5)
		require.Less(t, len(got.Patches[0].Maps[0].Data), len(want.Patches[0].Maps[0].Data)/2, "the part alone is copied")
		got.Release()
	}
	model.views = nil
	require.NoError(t, e.Extract(&got, bgr, w, h, Plan{Look: true, Whole: true}))
	require.Len(t, model.views, 1, "all of it is seen once")
	model.maps[1].Data = model.maps[1].Data[1:]
	require.ErrorContains(t, e.Extract(&got, bgr, w, h, plan), "map 1")
}

// At smaller sizes the model sees of a crop the part that is Coarse, as far as the crop goes, and what is round it.
func TestCoarseViews(t *testing.T) {
	const w, h = 200, 100
	model := &finderModel{fixedModel: fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}}
	e, err := New(Config{Superpixels: 50}, model)
	require.NoError(t, err)
	bgr := noiseImage(w, h, 3)
	crop := image.Rect(30, 10, 130, 90)
	for _, part := range []image.Rectangle{image.Rect(50, 20, 90, 60), image.Rect(100, 20, 180, 60), Everywhere} {
		model.views = nil
		require.NoError(t, e.Extract(new(Scene), bgr, w, h, Plan{Crops: []Crop{{Rectangle: crop, Coarse: part}}}))
		require.Len(t, model.views, 1+coarser)
		require.Equal(t, Crop{Rectangle: crop}.Seen(image.Pt(w, h), 1), model.views[0].Rectangle)
		for _, v := range model.views[1:] {
			require.Equal(t, Crop{Rectangle: part.Intersect(crop)}.Seen(image.Pt(w, h), 1), v.Rectangle, "%v of %v", part, crop)
		}
	}
}

// The model is told of every view how wide pixels are, and of coarser ones, and so is who gets the scene.
func TestPixelAspect(t *testing.T) {
	const w, h = 200, 100
	model := &finderModel{fixedModel: fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}}
	e, err := New(Config{Superpixels: 50}, model)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	bgr := noiseImage(w, h, 3)
	for plan, want := range map[float64]float64{0: 1, 1: 1, 8.0 / 3: 8.0 / 3} {
		model.views = nil
		p := Plan{Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60), Zoom: 1, Coarse: Everywhere}}, Whole: true, Coarse: Everywhere, Large: image.Rect(20, 20, 90, 200), PixelAspect: plan}
		if err := e.Extract(&s, bgr, w, h, p); err != nil {
			t.Fatal(err)
		}
		if len(model.views) != 3+2*coarser || s.PixelAspect != want || slices.ContainsFunc(model.views, func(v View) bool { return v.PixelAspect != want }) {
			t.Errorf("%v: the scene has %v, views %+v", plan, s.PixelAspect, model.views)
		}
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, PixelAspect: bad}); err == nil || !strings.Contains(err.Error(), "times as wide as high") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A scene has what is found in its views, each thing once, and says where the model looked; what it sees smaller is not looked at.
func TestFound(t *testing.T) {
	const w, h = 200, 100
	near, far := Detection{Box: image.Rect(20, 20, 40, 60), Class: "person", Score: 0.5}, Detection{Box: image.Rect(100, 20, 140, 60), Class: "car", Score: 0.7}
	on := Detection{Box: near.Box, Class: "dog", Score: 0.3}
	all := image.Rect(0, 0, w, h)
	for _, tt := range []struct {
		name   string
		plan   Plan
		looked []image.Rectangle
		found  int
	}{
		{"what is large in a part, once", Plan{Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60), Zoom: 1}}, Large: image.Rect(20, 20, 90, 200)}, []image.Rectangle{image.Rect(25, 25, 65, 65)}, 3},
		{"what is large alone", Plan{Large: image.Rect(20, 20, 90, 200)}, nil, 3},
		{"nothing", Plan{}, nil, 0},
		{"all", Plan{Whole: true}, []image.Rectangle{all}, 3},
		{"two parts", Plan{Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60), Zoom: 1}, {Rectangle: image.Rect(100, 30, 120, 60), Zoom: 1}}}, []image.Rectangle{image.Rect(25, 25, 65, 65), image.Rect(96, 28, 124, 62)}, 3},
		{"all, and nothing shown", Plan{Look: true}, []image.Rectangle{all}, 3},
		{"all, and a part shown", Plan{Look: true, Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60)}}}, []image.Rectangle{all}, 3},
		{"a part and all", Plan{Whole: true, Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60), Zoom: 2}}}, []image.Rectangle{all}, 3},
	} {
		model := &finderModel{fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}, []Detection{far, near, on}, nil}
		e, err := New(Config{Superpixels: 50}, model)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		bgr := noiseImage(w, h, 3)
		for range 2 { // the second time in the same memory
			model.views = nil
			if err := e.Extract(&s, bgr, w, h, tt.plan); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.Looked, tt.looked) {
				t.Errorf("%s: looked at %v, want %v", tt.name, s.Looked, tt.looked)
			}
			if large := (View{Rectangle: image.Rect(20, 20, 90, 100), Large: true, PixelAspect: 1}); !tt.plan.Large.Empty() && model.views[len(tt.plan.Crops)] != large {
				t.Errorf("%s: the model was shown %v, want %v after the parts", tt.name, model.views, large)
			}
			if want := []Detection{far, near, on}[:tt.found]; !slices.Equal(s.Found, want) {
				t.Errorf("%s: found %v, want %v", tt.name, s.Found, want)
			}
		}
	}
	// What two views see at different places is two things.
	model := &finderModel{fixedModel{maps: []Map{randomMap(2, 4, w, h, rand.New(rand.NewPCG(1, 1)))}}, []Detection{{Box: image.Rect(20, 20, 22, 60), Class: "person", Score: 0.5}}, nil}
	e, err := New(Config{Superpixels: 50}, model)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	if err := e.Extract(&s, noiseImage(w, h, 3), w, h, Plan{Crops: []Crop{{Rectangle: image.Rect(30, 30, 60, 60), Zoom: 1}, {Rectangle: image.Rect(100, 30, 120, 60), Zoom: 1}}}); err != nil {
		t.Fatal(err)
	}
	if len(s.Found) != 2 || s.Found[0].Score < s.Found[1].Score {
		t.Errorf("found %v, want two, the better first", s.Found)
	}
}
