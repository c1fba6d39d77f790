package dnn

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/segd/segd/features"
)

// A region's cells are means of bilinear samples: checked one by one.
func TestSampleRegion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range []features.Map{
		{Channels: 3, Width: 9, Height: 7, StrideX: 4, StrideY: 4, OffsetX: 1.5, OffsetY: 1.5},
		{Channels: 2, Width: 1, Height: 5, StrideX: 8.5, StrideY: 7.25, OffsetX: 20, OffsetY: 11},
	} {
		m.Data = make([]float32, m.Channels*m.Width*m.Height)
		for i := range m.Data {
			m.Data[i] = float32(rng.NormFloat64())
		}
		at := func(c int, x, y float64) float64 {
			bound := func(v float64, n int) (int, int, float64) {
				v = min(max(v, 0), float64(n-1))
				first := int(v)
				return first, min(first+1, n-1), v - float64(first)
			}
			x0, x1, wx := bound((x-m.OffsetX)/m.StrideX, m.Width)
			y0, y1, wy := bound((y-m.OffsetY)/m.StrideY, m.Height)
			v := func(x, y int) float64 { return float64(m.Data[(y*m.Width+x)*m.Channels+c]) }
			return (1-wy)*((1-wx)*v(x0, y0)+wx*v(x1, y0)) + wy*((1-wx)*v(x0, y1)+wx*v(x1, y1))
		}
		for _, g := range []features.Grid{{X0: 3, Y0: 2, X1: 30, Y1: 25}, {X0: -20, Y0: 5, X1: 90, Y1: 9}, {X0: 200, Y0: 200, X1: 201, Y1: 203}} {
			g.Cols, g.Rows = 5, 6
			got := make([]float32, m.Channels*g.Cols*g.Rows)
			new(region).sample(got, &m, &g)
			for c := range m.Channels {
				for row := range g.Rows {
					for col := range g.Cols {
						want := 0.0
						for sample := range regionSamples * regionSamples {
							x := (float64(col) + (float64(sample%regionSamples)+0.5)/regionSamples) / float64(g.Cols)
							y := (float64(row) + (float64(sample/regionSamples)+0.5)/regionSamples) / float64(g.Rows)
							want += at(c, g.X0+x*(g.X1-g.X0)-0.5, g.Y0+y*(g.Y1-g.Y0)-0.5) / (regionSamples * regionSamples)
						}
						if v := got[(c*g.Rows+row)*g.Cols+col]; math.Abs(float64(v)-want) > 1e-5 {
							t.Fatalf("channel %d, cell %d, %d of %+v: %g; want %g", c, row, col, g, v, want)
						}
					}
				}
			}
		}
	}
}

// The mask head of the model in the binary finds a disc in its box, by both engines alike.
func TestMaskLogitsOfDisc(t *testing.T) {
	const w, h = 320, 240
	bgr := make([]byte, 3*w*h)
	for i := range w * h {
		x, y := i%w, i/w
		c := [3]byte{90, 120, 100}
		if (x-150)*(x-150)+(y-130)*(y-130) < 45*45 {
			c = [3]byte{30, 40, 200}
		}
		copy(bgr[3*i:], c[:])
	}
	var made [2]features.Grid
	for k, engine := range engines() {
		m, err := Embedded(Options{Computing: Computing{Engine: engine, Device: DeviceCPU}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Features(features.Sight{}, bgr, w, h, features.View{})
		if err != nil {
			t.Fatal(err)
		}
		g := features.Grid{X0: 105, Y0: 85, X1: 195, Y1: 175}
		if ok, err := m.MaskLogits(&g, s.Maps, &s.MaskFeatures); err != nil || !ok {
			t.Fatalf("%s: %t, %v", engine, ok, err)
		}
		made[k] = g
		if n := testing.AllocsPerRun(10, func() {
			g.X0, g.Y0, g.X1, g.Y1 = 105, 85, 195, 175
			if _, err := m.MaskLogits(&g, s.Maps, &s.MaskFeatures); err != nil {
				t.Fatal(err)
			}
		}); n > 4 { // what the calls of engines take
			t.Errorf("%s: %v allocations a region", engine, n)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	g, other := &made[0], &made[len(engines())-1]
	if math.Abs(g.X0-91.5) > 1e-9 || math.Abs(g.Y1-188.5) > 1e-9 || len(g.Logits) != g.Cols*g.Rows {
		t.Fatalf("a region from %g to %g with %d logits", g.X0, g.Y1, len(g.Logits))
	}
	right := 0
	for i, v := range g.Logits {
		if math.Abs(float64(v-other.Logits[i])) > 1e-2 {
			t.Fatalf("cell %d: %g by OpenCV, %g by ONNX Runtime", i, v, other.Logits[i])
		}
		x := g.X0 + (float64(i%g.Cols)+0.5)/float64(g.Cols)*(g.X1-g.X0) - 150
		y := g.Y0 + (float64(i/g.Cols)+0.5)/float64(g.Rows)*(g.Y1-g.Y0) - 130
		if (v > 0) == (x*x+y*y < 45*45) {
			right++
		}
	}
	if share := float64(right) / float64(len(g.Logits)); share < 0.9 {
		t.Errorf("%.2f of the cells are right; want .9", share)
	}
}

// A file whose mask head is damaged is refused, and says where.
func TestDamagedMaskHead(t *testing.T) {
	for name, tt := range map[string]struct{ content, want string }{
		"no base64": {"!", "base64"},
		"no ONNX":   {base64.StdEncoding.EncodeToString([]byte("no model")), maskHeadKey},
		"another":   {base64.StdEncoding.EncodeToString(embedded), "mask head"},
	} {
		entry := message{}.string(entryKey, maskHeadKey).string(entryValue, tt.content)
		data := message(embeddedWithout(t)).bytes(modelMetadata, entry)
		src, err := readONNX("m.onnx", data, wantModel)
		if err != nil {
			t.Fatal(err)
		}
		m, err := open(src, Options{Computing: Computing{Device: DeviceCPU}})
		if err == nil {
			t.Errorf("%s: it opens: %v", name, m.Close())
		} else if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "m.onnx") {
			t.Errorf("%s: %v; want one that says %q", name, err, tt.want)
		}
	}
}

// embeddedWithout is the model in the binary without its metadata.
func embeddedWithout(t *testing.T) []byte {
	data, err := rewritten(embedded, func(num protowire.Number, body []byte) ([]byte, bool, error) { return body, num != modelMetadata, nil })
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// BenchmarkMaskLogits is what one object costs: of that sampling, and all.
func BenchmarkMaskLogits(b *testing.B) {
	m, err := Embedded(Options{Computing: Computing{Device: DeviceCPU, Threads: 1}})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	s, err := m.Features(features.Sight{}, noise(864, 480), 864, 480, features.View{})
	if err != nil {
		b.Fatal(err)
	}
	box := features.Grid{X0: 300, Y0: 100, X1: 360, Y1: 260, Cols: regionCells, Rows: regionCells}
	b.Run("sampling", func(b *testing.B) {
		r, dst := new(region), make([]float32, regionChannels*regionCells*regionCells)
		for b.Loop() {
			r.sample(dst, &s.Maps[0], &box)
			r.sample(dst[:32*regionCells*regionCells], &s.MaskFeatures, &box)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			g := box
			if _, err := m.MaskLogits(&g, s.Maps, &s.MaskFeatures); err != nil {
				b.Fatal(err)
			}
		}
	})
}
