package features

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/internal/cores"
)

// fixedModel returns the same maps for every image.
type fixedModel struct {
	maps []Map
	err  error
}

func (m *fixedModel) Features(dst Sight, _ []byte, _, _ int, _ View) (Sight, error) {
	return Sight{Maps: append(dst.Maps[:0], m.maps...)}, m.err
}

// randomMap covers a w×h image with cells of about the given stride, evenly.
func randomMap(channels int, stride float64, w, h int, r *rand.Rand) Map {
	m := Map{Channels: channels, Height: max(1, int(float64(h)/stride)), Width: max(1, int(float64(w)/stride))}
	m.StrideX, m.StrideY = float64(w)/float64(m.Width), float64(h)/float64(m.Height)
	m.OffsetX, m.OffsetY = m.StrideX/2-0.5, m.StrideY/2-0.5
	m.Data = make([]float32, channels*m.Height*m.Width)
	for i := range m.Data {
		m.Data[i] = float32(r.NormFloat64())
	}
	return m
}

// sampleOracle interpolates channel c of m at pixel (x, y).
func sampleOracle(m *Map, c, x, y int) float64 {
	fx := min(max((float64(x)-m.OffsetX)/m.StrideX, 0), float64(m.Width-1))
	fy := min(max((float64(y)-m.OffsetY)/m.StrideY, 0), float64(m.Height-1))
	x0, y0 := int(fx), int(fy)
	x1, y1 := min(x0+1, m.Width-1), min(y0+1, m.Height-1)
	at := func(i, j int) float64 { return float64(m.Data[(i*m.Width+j)*m.Channels+c]) }
	wx, wy := fx-float64(x0), fy-float64(y0)
	return (1-wy)*((1-wx)*at(y0, x0)+wx*at(y0, x1)) + wy*((1-wx)*at(y1, x0)+wx*at(y1, x1))
}

func TestPoolingAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	tests := []struct {
		name        string
		w, h, count int
		strides     []float64
	}{
		{"stride 4", 64, 48, 20, []float64{4}},
		{"several", 90, 70, 33, []float64{2, 4, 8, 16, 32}},
		{"uneven", 61, 47, 25, []float64{3.7, 9.1}},
		{"one cell", 40, 30, 12, []float64{100}},
		{"finer than pixels", 20, 15, 9, []float64{0.5}},
		{"one pixel", 1, 1, 1, []float64{1}},
		{"a row of cells", 80, 3, 10, []float64{4}},
		{"a column of cells", 3, 80, 10, []float64{4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var model fixedModel
			for i, stride := range tt.strides {
				model.maps = append(model.maps, randomMap(3+2*i, stride, tt.w, tt.h, r))
			}
			e, err := New(Config{Superpixels: tt.count}, &model)
			if err != nil {
				t.Fatal(err)
			}
			var s Scene
			if err := e.Extract(&s, noiseImage(tt.w, tt.h, 8), tt.w, tt.h, Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			column := 0
			for i := range model.maps {
				m := &model.maps[i]
				for c := range m.Channels {
					want := make([]float64, s.N)
					for at, k := range s.Patches[0].Labels {
						want[k] += sampleOracle(m, c, at%tt.w, at/tt.w) / float64(s.Area[k])
					}
					for k := range want {
						if got := s.X[k*s.D+column]; math.Abs(float64(got)-want[k]) > 1e-4 {
							t.Fatalf("map %d channel %d superpixel %d: %v, want %v", i, c, k, got, want[k])
						}
					}
					column++
				}
			}
			if s.D != column+3 {
				t.Errorf("D = %d, want %d", s.D, column+3)
			}
			for k := range s.N {
				if !slices.Equal(s.X[k*s.D+column:][:3], s.Lab[3*k:][:3]) {
					t.Fatalf("superpixel %d does not end in its colour", k)
				}
			}
		})
	}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want []string // of the error; none for no error
	}{
		{"zero", Config{}, nil},
		{"all set", Config{Superpixels: 1, Compactness: 1000}, nil},
		{"negative", Config{Superpixels: -1}, []string{"-1 superpixels"}},
		{"both", Config{Superpixels: -1, Compactness: -2}, []string{"-1 superpixels", "compactness -2"}},
		{"not a number", Config{Compactness: math.NaN()}, []string{"compactness NaN"}},
		{"infinite", Config{Compactness: math.Inf(1)}, []string{"compactness +Inf"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg, nil)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	ok := Map{Channels: 1, Height: 1, Width: 1, StrideX: 1, StrideY: 1, Data: []float32{1}}
	with := func(change func(*Map)) *fixedModel {
		m := ok
		change(&m)
		return &fixedModel{maps: []Map{ok, m}}
	}
	boom := errors.New("boom")
	tests := []struct {
		name  string
		model Model
		w, h  int
		bytes int
		want  string
	}{
		{"no pixels", nil, 0, 5, 0, "image of 0×5 pixels"},
		{"negative", nil, -1, 5, 0, "image of -1×5"},
		{"huge", nil, 1 << 20, 1, 3 << 20, "want 1 to 32768"},
		{"short", nil, 2, 2, 11, "11 bytes for a BGR24 image of 2×2 pixels; want 12"},
		{"model fails", &fixedModel{err: boom}, 2, 2, 12, "model: boom"},
		{"wrong data", with(func(m *Map) { m.Width = 2 }), 2, 2, 12, "map 1 of the model: 1 values for 1 channels of 1×2 cells"},
		{"no stride", with(func(m *Map) { m.StrideX = 0 }), 2, 2, 12, "strides of 0 and 1"},
		{"no offset", with(func(m *Map) { m.OffsetY = math.NaN() }), 2, 2, 12, "offsets of 0 and NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := New(Config{}, tt.model)
			if err != nil {
				t.Fatal(err)
			}
			err = e.Extract(new(Scene), make([]byte, tt.bytes), tt.w, tt.h, Plan{Whole: true})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if tt.name != "model fails" {
				return
			}
			if !errors.Is(err, boom) {
				t.Error("the model's error is not wrapped")
			}
			if err := e.Extract(new(Scene), make([]byte, tt.bytes), tt.w, tt.h, Plan{}); err != nil {
				t.Errorf("of an image that the model is not shown: %v", err)
			}
		})
	}
}

// panickyModel panics with the first image, not with later ones.
type panickyModel struct {
	fixedModel
	panicked bool
}

func (m *panickyModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	if !m.panicked {
		m.panicked = true
		m.indexWildly(len(bgr))
	}
	return m.fixedModel.Features(dst, bgr, w, h, v)
}

func (m *panickyModel) indexWildly(i int) { m.maps[i].Channels = 1 }

// extractPanic is what Extract panics with, nil if it does not.
func extractPanic(e *Extractor, dst *Scene, bgr []byte, w, h int) (v any) {
	defer func() { v = recover() }()
	_ = e.Extract(dst, bgr, w, h, Plan{Whole: true})
	return nil
}

// A panic of the model comes out of Extract on the goroutine of its caller, who can
// recover, with what it was and where.
func TestModelPanics(t *testing.T) {
	e, err := New(Config{}, &panickyModel{})
	if err != nil {
		t.Fatal(err)
	}
	bgr := make([]byte, 3*4*4)
	p, ok := extractPanic(e, new(Scene), bgr, 4, 4).(*Panic)
	if !ok {
		t.Fatalf("Extract panicked with %v; want a *Panic", p)
	}
	fault, ok := p.Value.(runtime.Error)
	if !ok || !strings.Contains(fault.Error(), "index out of range [48]") {
		t.Errorf("the panic's value is %v; want the model's own", p.Value)
	}
	if !strings.Contains(string(p.Stack), "indexWildly") {
		t.Errorf("the stack does not show where the model was:\n%s", p.Stack)
	}
	for _, want := range []string{fault.Error(), "indexWildly"} {
		if !strings.Contains(p.Error(), want) {
			t.Errorf("%q lacks %q", p.Error(), want)
		}
	}
	if err := e.Extract(new(Scene), bgr, 4, 4, Plan{Whole: true}); err != nil {
		t.Errorf("the next image: %v", err)
	}
}

// slowModel takes its time, and notes that it is through.
type slowModel struct {
	fixedModel
	through bool
}

func (m *slowModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	time.Sleep(time.Second)
	m.through = true
	return m.fixedModel.Features(dst, bgr, w, h, v)
}

// oneCore is a core for the model, and panics for what grows superpixels.
type oneCore struct {
	unbound
	taken bool
}

func (c *oneCore) TryAcquire(int) int {
	if c.taken {
		panic("no core")
	}
	c.taken = true
	return 1
}

// The model has let go of the image whichever way Extract ends.
func TestExtractOutlivesTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &slowModel{}
		e, err := New(Config{}, m)
		if err != nil {
			t.Fatal(err)
		}
		bgr := make([]byte, 3*4*4)
		if err := e.Extract(new(Scene), bgr, 4, 4, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		m.through, e.cfg.Cores = false, &oneCore{}
		if extractPanic(e, new(Scene), bgr, 4, 4) == nil {
			t.Fatal("no panic of what grows superpixels")
		}
		if !m.through {
			t.Error("the model still looks at the image")
		}
	})
}

// TestExtractRepeats checks that what an extractor and a scene have seen before
// leaves no trace.
func TestExtractRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	model := &fixedModel{maps: []Map{randomMap(5, 4, 90, 60, r)}}
	used, err := New(Config{Superpixels: 80}, model)
	if err != nil {
		t.Fatal(err)
	}
	var old Scene
	for _, size := range [][2]int{{120, 90}, {31, 77}, {90, 60}} {
		w, h := size[0], size[1]
		bgr, _ := discsImage(w, h, 9, uint64(w))
		if err := used.Extract(&old, bgr, w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		fresh, err := New(Config{Superpixels: 80}, model)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		if err := fresh.Extract(&s, bgr, w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Patches[0].Labels, old.Patches[0].Labels) || !slices.Equal(s.X, old.X) || !slices.Equal(s.Edges, old.Edges) ||
			!slices.Equal(s.Area, old.Area) || !slices.Equal(s.Centroid, old.Centroid) || !slices.Equal(s.Lab, old.Lab) {
			t.Errorf("%d×%d: a used extractor sees another scene than a fresh one", w, h)
		}
	}
}

// The maps in a scene are what the model saw of its image, not what it saw smaller, also after the extractor went on
// with another.
func TestExtractKeepsMaps(t *testing.T) {
	const w, h = 64, 48
	var seen float32
	model := modelFunc(func(dst []Map) []Map {
		dst = slices.Grow(dst[:0], 1)[:1]
		dst[0] = Map{Channels: 2, Height: 12, Width: 16, StrideX: 4, StrideY: 4, OffsetX: 1.5, OffsetY: 1.5, Data: grown(dst[0].Data, 2*12*16)}
		for i := range dst[0].Data {
			dst[0].Data[i] = seen
		}
		seen++
		return dst
	})
	e, err := New(Config{Superpixels: 20}, model)
	if err != nil {
		t.Fatal(err)
	}
	bgr, _ := discsImage(w, h, 9, 1)
	var scenes [2]Scene
	for turn := range 3 {
		for k := range scenes {
			s, first := &scenes[k], seen
			if err := e.Extract(s, bgr, w, h, Plan{Whole: true, Coarse: Everywhere, Crops: []Crop{{Rectangle: image.Rect(0, 0, 30, 30), Zoom: 1, Coarse: Everywhere}}}); err != nil {
				t.Fatal(err)
			}
			for p, want := range []float32{first, first + 3} {
				maps := s.Patches[p].Maps
				if len(maps) != 1 || maps[0].Data[0] != want || maps[0].Data[len(maps[0].Data)-1] != want {
					t.Errorf("turn %d, scene %d: patch %d has %d maps, of %v; want one of %v", turn, k, p, len(maps), maps[0].Data[:1], want)
				}
			}
			if other := &scenes[1-k]; turn > 0 && k == 1 && other.Patches[0].Maps[0].Data[0] != first-6 {
				t.Errorf("turn %d: the other scene has %v; want %v, which it had", turn, other.Patches[0].Maps[0].Data[0], first-6)
			}
		}
	}
}

// modelFunc fills maps, whatever the image.
type modelFunc func(dst []Map) []Map

func (f modelFunc) Features(dst Sight, _ []byte, _, _ int, _ View) (Sight, error) {
	return Sight{Maps: f(dst.Maps)}, nil
}

func TestExtractAllocs(t *testing.T) {
	const w, h = 160, 120
	r := rand.New(rand.NewPCG(4, 4))
	e, err := New(Config{Superpixels: 200}, &fixedModel{maps: []Map{randomMap(16, 4, w, h, r), randomMap(8, 8, w, h, r)}})
	if err != nil {
		t.Fatal(err)
	}
	bgr, _ := discsImage(w, h, 9, 1)
	var s Scene
	extract := func() {
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
	}
	extract()
	if n := testing.AllocsPerRun(20, extract); n != 0 {
		t.Errorf("%v allocations an image, want 0", n)
	}
}

// wholePatch is a patch of all of an image.
func wholePatch(w, h int) Patch {
	return Patch{
		Rectangle: image.Rect(0, 0, w, h), Zoom: 1, Shrink: 1, Cols: w, Rows: h,
		Labels: make([]int32, w*h), Pixels: make([]int16, colours*w*h),
	}
}

func BenchmarkPool(b *testing.B) {
	const w, h = 854, 480
	r := rand.New(rand.NewPCG(4, 4))
	bgr, _ := discsImage(w, h, 200, 1)
	s := Scene{Width: w, Height: h, Patches: []Patch{wholePatch(w, h)}}
	p := &s.Patches[0]
	var seg snic
	im := segmented{bgr: bgr, stride: 3 * w, width: w, height: h, labels: p.Labels, pixels: p.Pixels}
	p.N = seg.segment(&im, 2000, DefaultCompactness, nil)
	s.N = p.N
	var stats regionStats
	stats.measure(&s, p)
	for _, size := range []struct{ channels, stride int }{{64, 4}, {116, 8}, {232, 16}} {
		b.Run(fmt.Sprintf("%dx%d", size.channels, size.stride), func(b *testing.B) {
			m := randomMap(size.channels, float64(size.stride), w, h, r)
			s.D = m.Channels
			s.X = make([]float32, s.N*s.D)
			var pool pooler
			b.ReportAllocs()
			for b.Loop() {
				pool.pool(s.X, &s, p, Everywhere, &stats, &m, 0)
			}
		})
	}
}

func BenchmarkThumbnail(b *testing.B) {
	const w, h = 854, 480
	bgr := noiseImage(w, h, 1)
	var thumb Thumbnail
	b.ReportAllocs()
	for b.Loop() {
		thumb.Set(bgr, w, h)
	}
}

func BenchmarkExtractColour(b *testing.B) {
	const w, h = 854, 480
	bgr, _ := discsImage(w, h, 200, 1)
	e, err := New(Config{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	var s Scene
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// shrinkingModel shows which size it was asked for.
type shrinkingModel struct{ fixedModel }

func (m *shrinkingModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	sight, err := m.fixedModel.Features(dst, bgr, w, h, v)
	maps := slices.Clone(sight.Maps)
	for i := range maps {
		maps[i].Data = slices.Clone(maps[i].Data)
		for k := range maps[i].Data {
			maps[i].Data[k] *= float32(1 / v.Scale)
		}
	}
	return Sight{Maps: maps}, err
}

// Of what is Coarse a scene has the features at half and a quarter of its size, of the rest none.
func TestCoarse(t *testing.T) {
	const w, h = 60, 44
	model := &shrinkingModel{fixedModel{maps: []Map{randomMap(3, 4, w, h, rand.New(rand.NewPCG(9, 9)))}}}
	e, err := New(Config{Superpixels: 30}, model)
	if err != nil {
		t.Fatal(err)
	}
	bgr := noiseImage(w, h, 8)
	part := Crop{Rectangle: image.Rect(8, 8, 40, 30), Zoom: 1}
	coarse, left := part, part
	coarse.Coarse, left.Coarse = Everywhere, image.Rect(0, 0, 24, 44)
	none, all := image.Rectangle{}, image.Rect(0, 0, w, h)
	var s Scene
	for range 2 { // the second time in the same memory
		for _, tt := range []struct {
			plan  Plan
			parts []image.Rectangle // of the patches, that are coarse
		}{
			{Plan{Whole: true, Crops: []Crop{part}}, []image.Rectangle{none, none}},
			{Plan{Whole: true, Coarse: Everywhere, Crops: []Crop{part}}, []image.Rectangle{none, all}},
			{Plan{Whole: true, Coarse: image.Rect(0, 0, 30, 20)}, []image.Rectangle{image.Rect(0, 0, 30, 20)}},
			{Plan{Whole: true, Crops: []Crop{coarse}}, []image.Rectangle{part.Rectangle, none}},
			{Plan{Whole: true, Crops: []Crop{left}}, []image.Rectangle{image.Rect(8, 8, 24, 30), none}},
			{Plan{Crops: []Crop{coarse}, Coarse: Everywhere}, []image.Rectangle{part.Rectangle}},
		} {
			if err := e.Extract(&s, bgr, w, h, tt.plan); err != nil {
				t.Fatal(err)
			}
			some := slices.ContainsFunc(tt.parts, func(r image.Rectangle) bool { return !r.Empty() })
			if want := map[bool]int{true: coarser}[some]; len(s.Coarse) != want || tt.plan.Coarsens() != some {
				t.Fatalf("%+v: %d coarse sizes, coarsens %t; want %d", tt.plan, len(s.Coarse), tt.plan.Coarsens(), want)
			}
			for k, x := range s.Coarse {
				seen := 0
				for i, v := range x {
					n := i / s.D
					p := slices.IndexFunc(s.Patches, func(p Patch) bool { return n < p.First+p.N })
					there := image.Pt(int(s.Centroid[2*n]), int(s.Centroid[2*n+1])).In(tt.parts[p])
					want := s.X[i]
					switch {
					case s.SeenSmaller(n) != there:
						t.Fatalf("%+v: superpixel %d is seen smaller: %t", tt.plan, n, !there)
					case !there:
						want = 0
					case i%s.D < s.D-3: // the rest is the colour, which has no size
						want *= float32(int(2) << k)
					}
					if there {
						seen++
					}
					if math.Abs(float64(v-want)) > 1e-4 {
						t.Fatalf("%+v: size 1/%d, value %d: %v, want %v", tt.plan, 2<<k, i, v, want)
					}
				}
				if seen == 0 {
					t.Fatalf("%+v: nothing is seen at size 1/%d", tt.plan, 2<<k)
				}
			}
		}
	}
	model.err = errors.New("no")
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Coarse: Everywhere}); !errors.Is(err, model.err) {
		t.Errorf("%v; want the model's error", err)
	}
	e, err = New(Config{Superpixels: 30}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Coarse: Everywhere}); err != nil || len(s.Coarse) != 0 {
		t.Errorf("without a model: %v, %d coarse sizes; want none", err, len(s.Coarse))
	}
}

// For images larger than those that are seen no memory is kept, but for some seconds.
func TestExtractMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Superpixels: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		heap := func(w, h int) uint64 {
			time.Sleep(time.Minute)
			if err := e.Extract(&s, make([]byte, 3*w*h), w, h, Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, larger, _, after := heap(200, 150), heap(800, 600), heap(200, 150), heap(200, 150)
		runtime.KeepAlive(e)
		if t.Logf("%d bytes, %d with a larger image, %d again", before, larger, after); after > before+before/10 {
			t.Errorf("%d bytes are in use after a larger image, %d before it", after, before)
		}
	})
}

// watchfulModel notes whether the superpixels' goroutine is its own.
type watchfulModel struct {
	fixedModel
	beside bool
}

func (m *watchfulModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	m.beside = strings.Contains(string(debug.Stack()), "created by github.com/segd/segd/features.(*Extractor).segment")
	return m.fixedModel.Features(dst, bgr, w, h, v)
}

// cardModel needs no core.
type cardModel struct{ *watchfulModel }

func (cardModel) NeedsCore() bool { return false }

// A model that computes on a device of its own runs beside the superpixels without a core.
func TestExtractOnDevice(t *testing.T) {
	const w, h = 300, 200
	for free := range 2 {
		m := &watchfulModel{}
		shared := cores.New(1 + free)
		shared.Acquire(false, time.Time{}) // the caller's
		e, err := New(Config{Superpixels: 500, Cores: shared}, cardModel{m})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Extract(new(Scene), noiseImage(w, h, 3), w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		if n := shared.TryAcquire(2 + free); !m.beside || n != free {
			t.Errorf("%d free cores: beside the superpixels: %t; free afterwards: %d", free, m.beside, n)
		}
	}
}

// Without a free core the model takes its turn on the caller's; the scene is the same, and
// what was acquired is given back.
func TestExtractOnFewCores(t *testing.T) {
	const w, h = 300, 200
	bgr := noiseImage(w, h, 3)
	var want Scene
	for free := range 3 {
		m := &watchfulModel{}
		shared := cores.New(1 + free)
		shared.Acquire(false, time.Time{}) // the caller's
		e, err := New(Config{Superpixels: 500, Cores: shared}, m)
		if err != nil {
			t.Fatal(err)
		}
		var got Scene
		if err := e.Extract(&got, bgr, w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		if m.beside != (free > 0) {
			t.Errorf("%d free cores: the model ran beside the superpixels: %v", free, m.beside)
		}
		if n := shared.TryAcquire(2 + free); n != free {
			t.Errorf("%d free cores: %d afterwards", free, n)
		}
		if free == 0 {
			want = got
		} else if !slices.Equal(got.Patches[0].Labels, want.Patches[0].Labels) || !slices.Equal(got.X, want.X) {
			t.Errorf("%d free cores: another scene than with none", free)
		}
	}
}

// lastingModel is through once there is a free core.
type lastingModel struct {
	fixedModel
	cores *cores.Cores
	limit context.Context
}

func (m lastingModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	for m.cores.TryAcquire(1) == 0 {
		if err := m.limit.Err(); err != nil {
			return dst, err
		}
		time.Sleep(time.Millisecond)
	}
	m.cores.Release(1)
	return m.fixedModel.Features(dst, bgr, w, h, v)
}

// While the model runs on, its core is the caller's, who has nothing else to do: the second is another caller's.
func TestExtractHoldsWhatItUses(t *testing.T) {
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := lastingModel{cores: cores.New(2), limit: limit}
	m.cores.Acquire(false, time.Time{}) // the caller's
	e, err := New(Config{Superpixels: 500, Cores: m.cores}, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Extract(new(Scene), noiseImage(300, 200, 3), 300, 200, Plan{Whole: true}); err != nil {
		t.Error("the superpixels are through, and the model has waited for a free core:", err)
	}
	if n := m.cores.TryAcquire(2); n != 1 {
		t.Errorf("%d are free afterwards; want 1", n)
	}
}

// A scene that was made with a model is one without maps where there is none.
func TestExtractForgetsMaps(t *testing.T) {
	const w, h = 64, 48
	r := rand.New(rand.NewPCG(4, 4))
	bgr, _ := discsImage(w, h, 9, 1)
	var s Scene
	for _, model := range []Model{&fixedModel{maps: []Map{randomMap(5, 4, w, h, r)}}, nil} {
		e, err := New(Config{Superpixels: 20}, model)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
	}
	if s.D != colours || len(s.Patches[0].Maps) > 0 {
		t.Errorf("%d features and %d maps without a model; want the %d of colours", s.D, len(s.Patches[0].Maps), colours)
	}
}
