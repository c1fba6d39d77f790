package features

import (
	"image"
	"math"
	"testing"
)

// regionsOracle counts everything pixel by pixel.
func regionsOracle(s *Scene, bgr []byte) (lab, centroid []float64, area []int32, boxes []image.Rectangle, length map[[2]int32]int) {
	lab, centroid = make([]float64, 3*s.N), make([]float64, 2*s.N)
	area = make([]int32, s.N)
	boxes = make([]image.Rectangle, s.N)
	length = map[[2]int32]int{}
	touch := func(i, j int32) {
		if i != j {
			length[[2]int32{min(i, j), max(i, j)}]++
		}
	}
	for y := range s.Height {
		for x := range s.Width {
			at := y*s.Width + x
			k := s.Patches[0].Labels[at]
			area[k]++
			boxes[k] = boxes[k].Union(image.Rect(x, y, x+1, y+1))
			centroid[2*k] += float64(x)
			centroid[2*k+1] += float64(y)
			for c, v := range labOracle(bgr[3*at], bgr[3*at+1], bgr[3*at+2]) {
				lab[3*int(k)+c] += v
			}
			if x+1 < s.Width {
				touch(k, s.Patches[0].Labels[at+1])
			}
			if y+1 < s.Height {
				touch(k, s.Patches[0].Labels[at+s.Width])
			}
		}
	}
	for k, n := range area {
		for c := range 3 {
			lab[3*k+c] /= float64(n)
		}
		centroid[2*k] /= float64(n)
		centroid[2*k+1] /= float64(n)
	}
	return lab, centroid, area, boxes, length
}

func TestRegionsAgainstOracle(t *testing.T) {
	for _, tt := range snicImages {
		t.Run(tt.name, func(t *testing.T) {
			bgr := tt.image(tt.w, tt.h)
			e, err := New(Config{Superpixels: tt.count, Compactness: tt.compactness}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var s Scene
			if err := e.Extract(&s, bgr, tt.w, tt.h, Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			lab, centroid, area, boxes, length := regionsOracle(&s, bgr)
			near := func(what string, got []float32, want []float64, tolerance float64) {
				if len(got) != len(want) {
					t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
				}
				for i := range got {
					if math.Abs(float64(got[i])-want[i]) > tolerance {
						t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
					}
				}
			}
			near("Lab", s.Lab, lab, 0.02)
			near("Centroid", s.Centroid, centroid, 1e-4)
			near("X", s.X, lab, 0.02)
			for k := range area {
				if s.Patches[0].Boxes[k] != boxes[k] {
					t.Errorf("%d is in %v, want %v", k, s.Patches[0].Boxes[k], boxes[k])
				}
				if s.Area[k] != area[k] {
					t.Errorf("area of %d is %d, want %d", k, s.Area[k], area[k])
				}
			}
			if len(s.Edges) != len(length) {
				t.Errorf("%d edges, want %d", len(s.Edges), len(length))
			}
			last := Edge{I: -1}
			for _, e := range s.Edges {
				if e.I >= e.J || e.I < last.I || e.I == last.I && e.J <= last.J {
					t.Errorf("edge %v after %v", e, last)
				}
				last = e
				if want := length[[2]int32{e.I, e.J}]; int(e.Length) != want {
					t.Errorf("edge %d–%d has length %v, want %d", e.I, e.J, e.Length, want)
				}
				var d float64
				for c := range 3 {
					d += math.Pow(lab[3*int(e.I)+c]-lab[3*int(e.J)+c], 2)
				}
				if math.Abs(float64(e.Contrast)-math.Sqrt(d)) > 0.05 {
					t.Errorf("edge %d–%d has contrast %v, want %v", e.I, e.J, e.Contrast, math.Sqrt(d))
				}
			}
		})
	}
}

func BenchmarkMeasure(b *testing.B) {
	const w, h = 854, 480
	bgr, _ := discsImage(w, h, 200, 1)
	s := Scene{Width: w, Height: h, Patches: []Patch{wholePatch(w, h)}}
	p := &s.Patches[0]
	var seg snic
	im := segmented{bgr: bgr, stride: 3 * w, width: w, height: h, labels: p.Labels, pixels: p.Pixels}
	p.N = seg.segment(&im, 2000, DefaultCompactness, nil)
	s.N = p.N
	var stats regionStats
	b.ReportAllocs()
	for b.Loop() {
		s.Area, s.Lab, s.Centroid, s.Edges = s.Area[:0], s.Lab[:0], s.Centroid[:0], s.Edges[:0]
		stats.measure(&s, p)
	}
}
