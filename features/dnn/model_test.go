package dnn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/memtest"
)

// raw is Options that leave bytes as they are.
var raw = Options{Std: [3]float64{1, 1, 1}}

// mustOpen opens a model without a child, for tests of what comes after.
func mustOpen(t testing.TB, path string, opt Options) *Model {
	t.Helper()
	m, err := openUnchecked(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func noise(w, h int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	bgr := make([]byte, 3*w*h)
	for i := range bgr {
		bgr[i] = byte(r.IntN(256))
	}
	return bgr
}

// ramp is an image whose blue is x, green y and red 7, in thirds of a pixel so
// that they fit a byte.
func ramp(w, h int) []byte {
	bgr := make([]byte, 3*w*h)
	for i := range w * h {
		bgr[3*i], bgr[3*i+1], bgr[3*i+2] = byte(i%w/3), byte(i/w/3), 7
	}
	return bgr
}

// Models may be opened while OpenCV computes: to set its threads then would end the process.
func TestOpenWhileComputing(t *testing.T) {
	needOpenCV(t)
	if testing.Short() {
		t.Skip("takes 8 s: models opened again and again")
	}
	m, err := Embedded(Options{ShortSide: 64, Computing: Computing{Engine: EngineOpenCV}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, stop := context.WithCancel(t.Context())
	var opening sync.WaitGroup
	opening.Go(func() {
		for threads := 1; ctx.Err() == nil; threads = threads%3 + 1 {
			if other, err := open(&source{}, Options{Computing: Computing{Threads: threads}}); err == nil {
				t.Error("a model without bytes was opened")
				_ = other.Close()
			}
		}
	})
	image := make([]byte, 3*96*64)
	for range 500 {
		if _, err := m.Features(features.Sight{}, image, 96, 64, features.View{}); err != nil {
			t.Error(err)
		}
	}
	stop()
	opening.Wait()
}

func TestInputSize(t *testing.T) {
	tests := []struct{ width, height, short, wantW, wantH int }{
		{854, 480, 480, 864, 480},
		{640, 480, 480, 640, 480},
		{768, 576, 480, 640, 480},
		{1920, 1080, 480, 864, 480},
		{480, 854, 480, 480, 864},
		{1920, 1080, 256, 448, 256},
		{320, 240, 480, 640, 480},
		{100, 100, 20, 32, 32},
		{1, 1, 480, 480, 480},
		{1, 100, 32, 32, 3200},
	}
	for _, tt := range tests {
		if w, h := inputSize(tt.width, tt.height, tt.short); w != tt.wantW || h != tt.wantH {
			t.Errorf("%d×%d at %d: %d×%d, want %d×%d", tt.width, tt.height, tt.short, w, h, tt.wantW, tt.wantH)
		}
	}
}

// TestGeometry runs an image whose values are its coordinates through a model that
// averages blocks: each cell must say where the map places it.
func TestGeometry(t *testing.T) {
	tests := []struct {
		name               string
		imageW, imageH     int
		modelW, modelH     int
		tolerance, margins float64 // margins: image borders are stretched by resizing
		shrink             int
	}{
		{"as it is", 96, 64, 96, 64, 1.01, 0, 1},
		{"enlarged", 150, 90, 192, 128, 1.6, 2, 1},
		{"shrunk", 600, 300, 192, 96, 1.6, 2, 1},
		{"shrunk one way", 300, 90, 192, 128, 2, 4, 1},
		{"distorted", 120, 240, 192, 96, 2, 4, 1},
		{"in a corner of the input", 600, 300, 192, 96, 3, 12, 2},
		{"in a small corner", 384, 256, 192, 128, 4, 16, 4},
		{"in an uneven corner", 300, 90, 192, 128, 6, 12, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mustOpen(t, averager(tt.modelW, tt.modelH).write(t), raw)
			sight, err := m.Features(features.Sight{}, ramp(tt.imageW, tt.imageH), tt.imageW, tt.imageH, features.View{Scale: 1 / float64(tt.shrink)})
			if err != nil {
				t.Fatal(err)
			}
			mp := sight.Maps[0]
			if len(sight.Maps) != 1 || mp.Channels != 3 || mp.Height != tt.modelH/4 || mp.Width != tt.modelW/4 {
				t.Fatalf("%d maps, the first %d×%d×%d", len(sight.Maps), mp.Channels, mp.Height, mp.Width)
			}
			for i := range mp.Height {
				for j := range mp.Width {
					x, y := mp.StrideX*float64(j)+mp.OffsetX, mp.StrideY*float64(i)+mp.OffsetY
					if x < tt.margins || y < tt.margins || x > float64(tt.imageW)-1-tt.margins || y > float64(tt.imageH)-1-tt.margins {
						continue
					}
					cell := mp.Data[(i*mp.Width+j)*mp.Channels:][:mp.Channels]
					// A byte is three pixels, rounded down: on average one pixel less.
					gotX, gotY := 3*float64(cell[0])+1, 3*float64(cell[1])+1
					if math.Abs(gotX-x) > tt.tolerance || math.Abs(gotY-y) > tt.tolerance {
						t.Fatalf("cell %d, %d is placed at %.2f, %.2f and shows %.2f, %.2f", i, j, x, y, gotX, gotY)
					}
					if cell[2] != 7 {
						t.Fatalf("red is %v, want 7", cell[2])
					}
				}
			}
		})
	}
}

func TestNormalisation(t *testing.T) {
	bgr := bytes.Repeat([]byte{10, 20, 30}, 64*64)
	tests := []struct {
		name string
		opt  Options
		want [3]float64
	}{
		{"none", raw, [3]float64{10, 20, 30}},
		{"default", Options{}, [3]float64{(10 - 103.53) / 57.375, (20 - 116.28) / 57.375, (30 - 123.675) / 57.375}},
		{"by channel", Options{Mean: [3]float64{1, 2, 3}, Std: [3]float64{2, 4, 8}}, [3]float64{4.5, 4.5, 27. / 8}},
		{"RGB", Options{RGB: true, Mean: [3]float64{1, 2, 3}, Std: [3]float64{2, 4, 8}}, [3]float64{14.5, 4.5, 7. / 8}},
	}
	path := averager(64, 64).write(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sight, err := mustOpen(t, path, tt.opt).Features(features.Sight{}, bgr, 64, 64, features.View{})
			if err != nil {
				t.Fatal(err)
			}
			for c, want := range tt.want {
				if got := sight.Maps[0].Data[40*3+c]; math.Abs(float64(got)-want) > 1e-5 {
					t.Errorf("channel %d is %v, want %v", c, got, want)
				}
			}
		})
	}
}

// An exposure is as if the image had been exposed so, and only for the view that asks for it.
func TestExposure(t *testing.T) {
	bgr := noise(64, 64)
	x := features.Exposure{Gain: 0.3, Gamma: -0.2}
	exposed := make([]byte, len(bgr))
	for i, v := range bgr {
		exposed[i] = byte(math.Round(x.At(v)))
	}
	path := averager(64, 64).write(t)
	for _, opt := range []Options{raw, {RGB: true, Std: raw.Std}} {
		m := mustOpen(t, path, opt)
		see := func(bgr []byte, x features.Exposure) []float32 {
			t.Helper()
			sight, err := m.Features(features.Sight{}, bgr, 64, 64, features.View{Exposure: x})
			if err != nil {
				t.Fatal(err)
			}
			return sight.Maps[0].Data
		}
		plain, want := see(bgr, features.Exposure{}), see(exposed, features.Exposure{})
		got, again := see(bgr, x), see(bgr, features.Exposure{})
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 0.5 { // what rounding the bytes makes of it
				t.Fatalf("RGB %t: value %d is %v; want %v as of the exposed image", opt.RGB, i, got[i], want[i])
			}
			if again[i] != plain[i] {
				t.Fatalf("RGB %t: value %d is %v after an exposure, %v before", opt.RGB, i, again[i], plain[i])
			}
		}
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name string
		opt  Options
		want []string
	}{
		{"short side", Options{ShortSide: -1}, []string{"short side of -1"}},
		{"two faults", Options{ShortSide: 1 << 20, Computing: Computing{Threads: -2}}, []string{"short side of 1048576", "-2 threads"}},
		{"tap twice", Options{Taps: []string{"a", "a"}}, []string{`tap "a" is empty or named twice`}},
		{"mean alone", Options{Mean: [3]float64{1, 1, 1}}, []string{"without std"}},
		{"zero std", Options{Std: [3]float64{1, 0, 1}}, []string{"std above 0"}},
		{"NaN", Options{Mean: [3]float64{math.NaN()}, Std: [3]float64{1, 1, 1}}, []string{"finite"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Embedded(tt.opt)
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
}

func TestTaps(t *testing.T) {
	outputs := backbone() // with a map among its outputs
	outputs.outputs = append(outputs.outputs, value("s8", elemFloat, 1, 3, 0, 0))
	tests := []struct {
		name string
		file onnxFile
		taps []string
		want []string // of the tap's names, their ends
		err  string
	}{
		{"a backbone's stages", backbone(), nil, []string{"s4.conv", "s8.conv", "s16.conv"}, ""},
		{"outputs that are maps", outputs, nil, []string{"s8"}, ""},
		{"named in full", backbone(), []string{"onnx_node!s2.conv"}, []string{"s2.conv"}, ""},
		{"named in short, in the order asked for", backbone(), []string{"s8.conv", "s4.conv"}, []string{"s8.conv", "s4.conv"}, ""},
		{"unknown", backbone(), []string{"s9"}, nil, `no layer "s9"; it has "onnx_node!s4.conv"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openUnchecked(tt.file.write(t), Options{Taps: tt.taps, ShortSide: 64})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			info := m.Info()
			var got []string
			for _, tap := range info.Taps {
				got = append(got, strings.TrimPrefix(tap.Name, "onnx_node!"))
			}
			if !slices.Equal(got, tt.want) {
				t.Fatalf("taps %q, want %q", got, tt.want)
			}
			// The shapes must be what comes out, at this size and at another.
			for _, size := range [][2]int{{info.NominalWidth, info.NominalHeight}, {64, 96}} {
				sight, err := m.Features(features.Sight{}, noise(size[0], size[1]), size[0], size[1], features.View{})
				if err != nil {
					t.Fatal(err)
				}
				for i, mp := range sight.Maps {
					stride := info.NominalHeight / info.Taps[i].Shape[2]
					if mp.Channels != 3 || mp.Height != size[1]/stride || mp.Width != size[0]/stride || mp.StrideX != float64(stride) {
						t.Errorf("%v: map %d is %d×%d×%d with stride %v", size, i, mp.Channels, mp.Height, mp.Width, mp.StrideX)
					}
				}
			}
		})
	}
}

// TestCrop checks that the embedded model sees in a part of an image what it sees there in all
// of it, away from the part's borders, at a scale too, and where.
func TestCrop(t *testing.T) {
	needONNXRuntime(t) // OpenCV's parts are wider
	m, err := Embedded(Options{ShortSide: 512, Computing: Computing{Engine: EngineONNXRuntime}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const w, h = 640, 512
	bgr := smooth(w, h)
	for _, tt := range []struct {
		name  string
		crop  image.Rectangle
		scale float64
		x, y  float64 // the first cell's middle
		cols  int
		lost  float64 // share of the power that differs
	}{
		{"as it is", image.Rect(32, 32, 608, 480), 1, 33.5, 33.5, 144, 1e-5},
		{"wider than asked for", image.Rect(100, 40, 539, 470), 1, 96.5, 32.5, 112, 0.02}, // a pixel beside
		{"in the corner", image.Rect(190, 60, 640, 512), 1, 161.5, 33.5, 120, 0.02},
		{"larger", image.Rect(200, 140, 424, 364), 2, 200.5, 140.5, 112, 0.02},
		{"the image's width", image.Rect(0, 32, 640, 480), 1, 1.5, 33.5, 160, 1e-5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole, err := m.Features(features.Sight{}, bgr, w, h, features.View{Scale: tt.scale})
			if err != nil {
				t.Fatal(err)
			}
			part, err := m.Features(features.Sight{}, bgr, w, h, features.View{Rectangle: tt.crop, Scale: tt.scale})
			if err != nil {
				t.Fatal(err)
			}
			a, b := &whole.Maps[0], &part.Maps[0]
			if b.StrideX != a.StrideX || b.StrideY != a.StrideY || math.Abs(b.OffsetX-tt.x) > 1 || math.Abs(b.OffsetY-tt.y) > 1 || b.Width != tt.cols {
				t.Fatalf("%d×%d cells from %v, %v, %v apart; want %d from %v, %v, %v apart", b.Width, b.Height, b.OffsetX, b.OffsetY, b.StrideX, tt.cols, tt.x, tt.y, a.StrideX)
			}
			di, dj := int(math.Round((b.OffsetY-a.OffsetY)/a.StrideY)), int(math.Round((b.OffsetX-a.OffsetX)/a.StrideX))
			const far = 52 // cells from the border: beyond the reach of its padding
			var differ, power float64
			for c := range b.Channels {
				for i := far; i < b.Height-far; i++ {
					for j := far; j < b.Width-far; j++ {
						v := float64(a.Data[((i+di)*a.Width+j+dj)*a.Channels+c])
						differ += math.Pow(v-float64(b.Data[(i*b.Width+j)*b.Channels+c]), 2)
						power += v * v
					}
				}
			}
			if t.Logf("%.2g of the power differs", differ/power); !(differ <= tt.lost*power) || power == 0 {
				t.Errorf("%.2g of the power differs; want %.2g at most", differ/power, tt.lost)
			}
		})
	}
	for _, v := range []features.View{{Rectangle: image.Rect(0, 0, 641, 9)}, {Scale: -1}, {Scale: 65}, {Scale: math.NaN()}} {
		if _, err := m.Features(features.Sight{}, bgr, w, h, v); err == nil {
			t.Errorf("%+v is taken", v)
		}
	}
}

// TestEmbeddedMoves checks the embedded model's geometry by moving an image by
// eight cells: away from the borders its features move along.
func TestEmbeddedMoves(t *testing.T) {
	m, err := Embedded(Options{ShortSide: 512})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if i := m.Info(); i.Channels() != 64 || i.InputWidth != 0 || len(i.Taps) != 1 || i.Taps[0].Name != "features" {
		t.Fatalf("%d channels, taps %v", i.Channels(), i.Taps)
	}
	const size, shift = 512, 32
	big := smooth(size+shift, size)
	crop := func(from int) []byte {
		var bgr []byte
		for y := range size {
			bgr = append(bgr, big[3*(y*(size+shift)+from):][:3*size]...)
		}
		return bgr
	}
	a, err := m.Features(features.Sight{}, crop(0), size, size, features.View{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Features(features.Sight{}, crop(shift), size, size, features.View{})
	if err != nil {
		t.Fatal(err)
	}
	mp := a.Maps[0]
	if mp.Height != size/4 || mp.Width != size/4 || mp.StrideX != 4 || mp.OffsetX != 1.5 || mp.StrideY != 4 || mp.OffsetY != 1.5 {
		t.Fatalf("%d×%d cells, stride %v, offset %v", mp.Height, mp.Width, mp.StrideX, mp.OffsetX)
	}
	const far = 44 // cells from the border: beyond the reach of its padding
	var moved, stayed, power float64
	for c := range mp.Channels {
		for i := far; i < mp.Height-far; i++ {
			for j := far; j < mp.Width-far-shift/4; j++ {
				at := (i*mp.Width+j)*mp.Channels + c
				v := float64(b.Maps[0].Data[at])
				moved += math.Pow(float64(mp.Data[at+shift/4*mp.Channels])-v, 2)
				stayed += math.Pow(float64(mp.Data[at])-v, 2)
				power += v * v
			}
		}
	}
	t.Logf("moved along %.3g, left in place %.3g, power %.3g", moved, stayed, power)
	if moved > 0.01*stayed || moved > 0.01*power {
		t.Errorf("features moved along differ by %.3g, left in place by %.3g, their power is %.3g", moved, stayed, power)
	}
}

// smooth is an image of coloured waves.
func smooth(w, h int) []byte {
	bgr := make([]byte, 3*w*h)
	for i := range w * h {
		x, y := float64(i%w), float64(i/w)
		for c := range 3 {
			f := float64(c + 2)
			bgr[3*i+c] = byte(127 + 60*math.Sin(x/(4*f)+y/29) + 60*math.Cos(y/(5*f)-x*y/3000))
		}
	}
	return bgr
}

func TestFeaturesRefuses(t *testing.T) {
	m, err := Embedded(Options{ShortSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		w, h, bytes int
	}{{"no pixels", 0, 0, 0}, {"short", 4, 4, 47}, {"negative", -1, -1, 3}, {"huge", 1 << 16, 1, 3 << 16}, {"a thread", 1 << 15, 1, 3 << 15}} {
		if _, err := m.Features(features.Sight{}, make([]byte, tt.bytes), tt.w, tt.h, features.View{}); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Features(features.Sight{}, make([]byte, 48), 4, 4, features.View{}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed model says %v", err)
	}
}

// TestFeaturesShared runs one model from several goroutines with images of two
// sizes: all must get what they would get alone.
func TestFeaturesShared(t *testing.T) {
	m, err := Embedded(Options{ShortSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sizes := [][2]int{{64, 64}, {128, 64}}
	var want [2]features.Sight
	for i, s := range sizes {
		if want[i], err = m.Features(features.Sight{}, noise(s[0], s[1]), s[0], s[1], features.View{}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			s := sizes[g%2]
			bgr := noise(s[0], s[1])
			var sight features.Sight
			for range 5 {
				var err error
				if sight, err = m.Features(sight, bgr, s[0], s[1], features.View{}); err != nil {
					t.Error(err)
					return
				}
				if !slices.Equal(sight.Maps[0].Data, want[g%2].Maps[0].Data) {
					t.Error("features differ from those computed alone")
				}
			}
		})
	}
	wg.Wait()
}

func TestFeaturesAllocs(t *testing.T) {
	m, err := Embedded(Options{ShortSide: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	bgr := noise(100, 70) // resized
	var sight features.Sight
	run := func() {
		if sight, err = m.Features(sight, bgr, 100, 70, features.View{}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations a frame, want 0", n)
	}
}

// Windows whose sizes take turns stay laid out, with a whole picture between them.
func TestFeaturesAllocsOfWindows(t *testing.T) {
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			if engine == EngineONNXRuntime {
				needONNXRuntime(t)
			}
			m := mustOpen(t, EmbeddedName, Options{ShortSide: 480, Computing: Computing{Engine: engine}})
			bgr := noise(854, 480)
			var sight features.Sight
			turn := func() {
				for _, r := range []image.Rectangle{image.Rect(40, 100, 140, 220), image.Rect(300, 80, 390, 170), image.Rect(0, 0, 854, 480), image.Rect(500, 200, 690, 380)} {
					var err error
					if sight, err = m.Features(sight, bgr, 854, 480, features.View{Rectangle: r, Scale: 1}); err != nil {
						t.Fatal(err)
					}
				}
			}
			turn()
			if n := testing.AllocsPerRun(5, turn); n != 0 {
				t.Errorf("%v allocations for three windows and a picture", n)
			}
		})
	}
}

// Sizes that take turns, more than a model is laid out for, give each what a model for
// it alone gives.
func TestFeaturesOfManySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s: pictures of many sizes through both engines")
	}
	for _, tt := range []struct {
		engine    string
		side, max int // pixels of the sizes' shorter side, and of those that stay laid out: one may be larger
	}{
		{EngineOpenCV, 512, 1 << 21},
		{EngineONNXRuntime, 256, 1 << 17},
	} {
		t.Run(tt.engine, func(t *testing.T) {
			if tt.engine == EngineONNXRuntime {
				needONNXRuntime(t)
			} else {
				needOpenCV(t)
			}
			opt := Options{ShortSide: tt.side, Computing: Computing{Engine: tt.engine}}
			m := mustOpen(t, EmbeddedName, opt)
			for turn := range 2 {
				for i := range 8 {
					w, h := tt.side+64*(i*5%8), tt.side
					bgr := noise(w, h)
					got, err := m.Features(features.Sight{}, bgr, w, h, features.View{})
					if err != nil {
						t.Fatal(err)
					}
					alone := mustOpen(t, EmbeddedName, opt)
					want, err := alone.Features(features.Sight{}, bgr, w, h, features.View{})
					if err != nil {
						t.Fatal(err)
					}
					if got.Maps[0].Width != want.Maps[0].Width || !slices.Equal(got.Maps[0].Data, want.Maps[0].Data) {
						t.Errorf("turn %d, %d×%d: %d×%d cells other than %d×%d alone", turn, w, h, got.Maps[0].Width, got.Maps[0].Height, want.Maps[0].Width, want.Maps[0].Height)
					}
					pixels, larger := 0, 0
					for _, n := range m.cpu.networks {
						if n.size.X*n.size.Y > tt.max {
							larger++
						} else {
							pixels += n.size.X * n.size.Y
						}
					}
					if next := tt.side * (tt.side + 64*7); pixels > tt.max || larger > 1 || i > 0 && pixels+next <= tt.max && len(m.cpu.networks) < i+1 {
						t.Errorf("turn %d, %d×%d: laid out for %d sizes, %d pixels, and %d larger ones", turn, w, h, len(m.cpu.networks)-larger, pixels, larger)
					}
				}
			}
		})
	}
}

// Sizes for which ONNX Runtime does not stay laid out take no memory anew.
func TestMemoryOfManySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: large pictures")
	}
	needONNXRuntime(t)
	m := mustOpen(t, EmbeddedName, Options{ShortSide: 512, Computing: Computing{Engine: EngineONNXRuntime}})
	bgr := noise(1088, 512)
	var sight features.Sight
	turn := func() {
		for _, w := range []int{1088, 1024, 1056} {
			var err error
			if sight, err = m.Features(sight, bgr[:3*w*512], w, 512, features.View{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	turn()
	turn()
	if n := memtest.Allocated(turn); n > 1<<16 {
		t.Errorf("three sizes took %d bytes", n)
	}
	if len(m.cpu.networks) != 1 {
		t.Errorf("laid out for %d sizes; this test wants one", len(m.cpu.networks))
	}
}

func BenchmarkEmbedded(b *testing.B) {
	for _, bench := range []struct {
		name string
		w, h int
	}{{"864x480", 864, 480}, {"640x480", 640, 480}, {"from 854x480", 854, 480}, {"from 1920x1080", 1920, 1080}} {
		b.Run(bench.name, func(b *testing.B) {
			m, err := Embedded(Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			bgr := noise(bench.w, bench.h)
			sight, err := m.Features(features.Sight{}, bgr, bench.w, bench.h, features.View{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if sight, err = m.Features(sight, bgr, bench.w, bench.h, features.View{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A picture at its size, at half and at a quarter of it, as while an object is sought.
func BenchmarkEmbeddedSizes(b *testing.B) {
	const w, h = 864, 480
	for _, shrinks := range [][]int{{1}, {2}, {4}, {1, 2, 4}} {
		b.Run(fmt.Sprint(shrinks), func(b *testing.B) {
			m, err := Embedded(Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			bgr := noise(w, h)
			var sight features.Sight
			for b.Loop() {
				for _, shrink := range shrinks {
					if sight, err = m.Features(sight, bgr, w, h, features.View{Scale: 1 / float64(shrink)}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// meeting is an engine whose runs wait until two of them are under way.
type meeting struct {
	engine
	met chan struct{}
}

func (m *meeting) layOut(size image.Point, images int) (network, error) {
	n, err := m.engine.layOut(size, images)
	return &meetingNetwork{n, m.met}, err
}

type meetingNetwork struct {
	network
	met chan struct{}
}

func (n *meetingNetwork) run(images int) error {
	select {
	case n.met <- struct{}{}:
	case <-n.met:
	case <-time.After(time.Minute):
		return errors.New("nobody else runs")
	}
	return n.network.run(images)
}

// Two cameras' frames are computed side by side, each as if it were alone.
func TestFeaturesSideBySide(t *testing.T) {
	opt := Options{ShortSide: 64, Computing: Computing{Engine: engines()[0]}}
	m, alone := mustOpen(t, EmbeddedName, opt), mustOpen(t, EmbeddedName, opt)
	m.cpu.engine = &meeting{m.cpu.engine, make(chan struct{})}
	var running sync.WaitGroup
	for k := range 2 {
		running.Go(func() {
			bgr := noise(100+k, 70) // of one size for the network
			for range 3 {
				got, err := m.Features(features.Sight{}, bgr, 100+k, 70, features.View{})
				if err != nil {
					t.Error(err)
					return
				}
				want, err := alone.Features(features.Sight{}, bgr, 100+k, 70, features.View{})
				if err != nil || !slices.Equal(got.Maps[0].Data, want.Maps[0].Data) {
					t.Errorf("camera %d: %v, or other maps than alone", k, err)
				}
			}
		})
	}
	running.Wait()
	if len(m.cpu.networks) != 2 {
		t.Errorf("%d networks after two at once", len(m.cpu.networks))
	}
}
