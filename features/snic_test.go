package features

import (
	"container/heap"
	"fmt"
	"image"
	"math"
	"slices"
	"testing"
)

// oracleItem and oracleHeap are the textbook's priority queue, first in first out
// among equals.
type oracleItem struct {
	key   float32
	order int
	w     waiting
}

type oracleHeap []oracleItem

func (h oracleHeap) Len() int { return len(h) }
func (h oracleHeap) Less(i, j int) bool {
	return h[i].key < h[j].key || h[i].key == h[j].key && h[i].order < h[j].order
}
func (h oracleHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *oracleHeap) Push(x any)   { *h = append(*h, x.(oracleItem)) }
func (h *oracleHeap) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	*h = (*h)[:last]
	return it
}

// oracle is SNIC as published: a binary heap into which every unlabelled neighbour
// goes every time. With quantised false it orders by the distance itself.
func oracle(bgr []byte, width, height, count int, compactness float64, quantised bool) []int32 {
	var s snic
	s.load(bgr, width, height)
	s.seed(width, height, count, nil)
	spatial := spatialWeight(width, height, count, compactness)
	labels := make([]int32, width*height)
	for i := range labels {
		labels[i] = -1
	}
	var h oracleHeap
	order := 0
	push := func(key float32, w waiting) {
		heap.Push(&h, oracleItem{key, order, w})
		order++
	}
	for range count {
		push(float32(distanceKey(keyBias)), s.queue.pop())
	}
	for h.Len() > 0 {
		w := heap.Pop(&h).(oracleItem).w
		x, y := int(w.x)-1, int(w.y)-1
		if labels[y*width+x] >= 0 {
			continue
		}
		labels[y*width+x] = w.label
		r := &s.regions[w.label]
		r.add(&s.pixels[(y+1)*(width+2)+x+1], float32(x+1), float32(y+1))
		mean := colour{int32(r.l), int32(r.a), int32(r.b)}
		dx, dy := float32(x+1)-r.x, float32(y+1)-r.y
		far := float32(spatial*(float32(dx*dx)+float32(dy*dy)+1)) + keyBias
		for _, step := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
			nx, ny := x+step[0], y+step[1]
			if nx < 0 || ny < 0 || nx >= width || ny >= height || labels[ny*width+nx] >= 0 {
				continue
			}
			side := float32(step[0])*float32(2*spatial*dx) + float32(step[1])*float32(2*spatial*dy)
			p := s.pixels[(ny+1)*(width+2)+nx+1]
			key := float32(p.key(mean, far+side))
			if !quantised {
				l, a, b := float32(p.l)-r.l, float32(p.a)-r.a, float32(p.b)-r.b
				key = l*l + a*a + b*b + far + side
			}
			push(key, waiting{uint16(nx + 1), uint16(ny + 1), w.label})
		}
	}
	return labels
}

var snicImages = []struct {
	name        string
	w, h, count int
	compactness float64
	image       func(w, h int) []byte
}{
	{"one pixel", 1, 1, 1, 5, constantImage},
	{"a row", 97, 1, 10, 5, gradientImage},
	{"a column", 1, 50, 50, 5, gradientImage},
	{"constant", 60, 40, 24, 5, constantImage},
	{"gradient", 101, 67, 100, 5, gradientImage},
	{"noise", 83, 71, 90, 5, func(w, h int) []byte { return noiseImage(w, h, 1) }},
	{"noise, rough", 64, 64, 30, 0.5, func(w, h int) []byte { return noiseImage(w, h, 2) }},
	{"discs", 160, 120, 150, 5, func(w, h int) []byte { b, _ := discsImage(w, h, 12, 3); return b }},
	{"discs, compact", 160, 120, 150, 40, func(w, h int) []byte { b, _ := discsImage(w, h, 12, 4); return b }},
	{"one region", 50, 50, 1, 5, func(w, h int) []byte { return noiseImage(w, h, 5) }},
	{"a region a pixel", 13, 11, 143, 5, func(w, h int) []byte { return noiseImage(w, h, 6) }},
}

func TestSegmentAgainstOracle(t *testing.T) {
	var s snic
	for _, tt := range snicImages {
		t.Run(tt.name, func(t *testing.T) {
			bgr := tt.image(tt.w, tt.h)
			got := make([]int32, tt.w*tt.h)
			s.segment(got, bgr, tt.w, tt.h, tt.count, tt.compactness, nil)
			want := oracle(bgr, tt.w, tt.h, tt.count, tt.compactness, true)
			if !slices.Equal(got, want) {
				t.Error("labels differ from the textbook's")
			}
			checkRegions(t, got, tt.w, tt.h, tt.count)
		})
	}
}

// checkRegions fails unless labels are count connected, non-empty regions.
func checkRegions(t *testing.T, labels []int32, w, h, count int) {
	t.Helper()
	seen := make([]bool, w*h)
	met := make([]bool, count)
	for i, k := range labels {
		if k < 0 || int(k) >= count {
			t.Fatalf("pixel %d has label %d of %d", i, k, count)
		}
		if seen[i] {
			continue
		}
		if met[k] {
			t.Fatalf("region %d is in pieces", k)
		}
		met[k] = true
		seen[i] = true
		for stack := []int{i}; len(stack) > 0; {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x, y := at%w, at/w
			for _, n := range [][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
				j := n[1]*w + n[0]
				if n[0] >= 0 && n[0] < w && n[1] >= 0 && n[1] < h && !seen[j] && labels[j] == k {
					seen[j] = true
					stack = append(stack, j)
				}
			}
		}
	}
	if i := slices.Index(met, false); i >= 0 {
		t.Fatalf("region %d is empty", i)
	}
}

func TestSeedsAreExact(t *testing.T) {
	var s snic
	for _, size := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 3}, {7, 5}, {31, 17}, {17, 31}, {100, 3}, {854, 480}} {
		w, h := size[0], size[1]
		for _, count := range []int{1, 2, 3, 5, 7, 12, 13, 29, 35, 97, 300, 1999, 2000, 6000} {
			if count > w*h {
				continue
			}
			s.seed(w, h, count, nil)
			at := map[[2]uint16]bool{}
			for range count {
				seed := s.queue.pop()
				if seed.x < 1 || int(seed.x) > w || seed.y < 1 || int(seed.y) > h {
					t.Errorf("%d×%d, %d seeds: one at %d, %d", w, h, count, seed.x-1, seed.y-1)
				}
				at[[2]uint16{seed.x, seed.y}] = true
			}
			if len(at) != count {
				t.Errorf("%d×%d: %d distinct seeds, want %d", w, h, len(at), count)
			}
		}
	}
}

// quality measures labels against the true regions: the share of true border pixels
// that have a border of ours within two pixels, and the share of pixels that spill
// over a true border when every superpixel is given to the region it shows most of.
func quality(labels, shown []int32, w, h, count int) (recall, spill float64) {
	border := func(of []int32, x, y int) bool {
		return x+1 < w && of[y*w+x] != of[y*w+x+1] || y+1 < h && of[y*w+x] != of[(y+1)*w+x]
	}
	var all, found float64
	for y := range h {
		for x := range w {
			if !border(shown, x, y) {
				continue
			}
			all++
		search:
			for v := max(0, y-2); v <= min(h-1, y+2); v++ {
				for u := max(0, x-2); u <= min(w-1, x+2); u++ {
					if border(labels, u, v) {
						found++
						break search
					}
				}
			}
		}
	}
	most := make([]int, count)
	votes := map[[2]int32]int{}
	for i, k := range labels {
		v := [2]int32{k, shown[i]}
		votes[v]++
		most[k] = max(most[k], votes[v])
	}
	kept := 0
	for _, n := range most {
		kept += n
	}
	return found / all, 1 - float64(kept)/float64(w*h)
}

// TestQuantisationCostsNothing holds the coarse keys against exact distances.
func TestQuantisationCostsNothing(t *testing.T) {
	const w, h, count = 320, 240, 600
	var s snic
	got := make([]int32, w*h)
	for seed := range uint64(3) {
		bgr, shown := discsImage(w, h, 25, seed)
		s.segment(got, bgr, w, h, count, DefaultCompactness, nil)
		recall, spill := quality(got, shown, w, h, count)
		exact := oracle(bgr, w, h, count, DefaultCompactness, false)
		wantRecall, wantSpill := quality(exact, shown, w, h, count)
		t.Logf("boundary recall %.4f (exact %.4f), undersegmentation %.4f (%.4f)", recall, wantRecall, spill, wantSpill)
		if recall < wantRecall-0.01 || spill > wantSpill+0.003 {
			t.Errorf("boundary recall %.4f, exact %.4f; undersegmentation %.4f, exact %.4f", recall, wantRecall, spill, wantSpill)
		}
		if recall < 0.97 || spill > 0.01 {
			t.Errorf("boundary recall %.4f, undersegmentation %.4f", recall, spill)
		}
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint16(1), uint16(500), []byte{1})
	f.Add(uint8(40), uint8(3), uint16(7), uint16(1), []byte("some pixels"))
	f.Add(uint8(9), uint8(31), uint16(300), uint16(65535), []byte{})
	f.Add(uint8(64), uint8(64), uint16(40), uint16(100), []byte{0, 255, 3})
	var s snic
	f.Fuzz(func(t *testing.T, width, height uint8, count, compactness uint16, seed []byte) {
		w, h := int(width%80)+1, int(height%80)+1
		n := min(int(count)+1, w*h)
		bgr := make([]byte, 3*w*h)
		for i := range bgr {
			if len(seed) > 0 {
				bgr[i] = seed[i%len(seed)] + byte(i/len(seed)*len(seed))
			}
		}
		labels := make([]int32, w*h)
		s.segment(labels, bgr, w, h, n, float64(compactness)/100+0.01, nil)
		checkRegions(t, labels, w, h, n)
	})
}

func BenchmarkSegment(b *testing.B) {
	for _, size := range []struct{ w, h, count int }{{640, 480, 2000}, {854, 480, 2000}, {854, 480, 6000}, {1920, 1080, 2000}} {
		b.Run(fmt.Sprintf("%dx%d/%d", size.w, size.h, size.count), func(b *testing.B) {
			b.ReportAllocs()
			bgr, _ := discsImage(size.w, size.h, 200, 1)
			labels := make([]int32, size.w*size.h)
			var s snic
			for b.Loop() {
				s.segment(labels, bgr, size.w, size.h, size.count, DefaultCompactness, nil)
			}
		})
	}
}

// What is to be finer has superpixels as far apart as it says, the rest as many as
// without; all are regions.
func TestFiner(t *testing.T) {
	const w, h, count = 120, 80, 96 // 10 pixels apart
	bgr := noiseImage(w, h, 3)
	fine := []Region{
		{image.Rect(40, 20, 64, 44), 4},
		{image.Rect(52, 20, 76, 44), 6}, // half of it in the first
		{image.Rect(110, 70, 130, 90), 5},
		{image.Rect(200, 0, 220, 10), 3}, // beyond the picture
	}
	e, err := New(Config{Superpixels: count}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	if err := e.Extract(&s, bgr, w, h, fine...); err != nil {
		t.Fatal(err)
	}
	checkRegions(t, s.Labels, w, h, s.N)
	in := func(r image.Rectangle) (n int) {
		for i := range s.N {
			if image.Pt(int(s.Centroid[2*i]+0.5), int(s.Centroid[2*i+1]+0.5)).In(r) {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		r    image.Rectangle
		want int
	}{{fine[0].Rectangle, 36}, {image.Rect(64, 20, 76, 44), 8}, {image.Rect(110, 70, 120, 80), 4}, {image.Rect(0, 0, 40, 80), 32}} {
		if got := in(tt.r); math.Abs(float64(got-tt.want)) > 0.25*float64(tt.want) {
			t.Errorf("%v: %d superpixels; want about %d", tt.r, got, tt.want)
		}
	}
	// Neither what would hardly be finer nor what is too much with what comes before it.
	for _, left := range []Region{{fine[0].Rectangle, 8}, {image.Rect(0, 0, 60, 60), 4}} {
		if err := e.Extract(&s, bgr, w, h, Region{image.Rect(90, 0, 98, 8), 4}, left); err != nil || s.N < count || s.N > count+4 {
			t.Errorf("%v, %d apart: %d superpixels, %v; want %d and up to four more", left.Rectangle, left.Spacing, s.N, err, count)
		}
	}
	if err := e.Extract(&s, bgr, w, h, fine[3]); err != nil || s.N != count {
		t.Errorf("beyond the picture: %d superpixels, %v; want %d", s.N, err, count)
	}
	if err := e.Extract(&s, bgr, w, h); err != nil || s.N != count {
		t.Errorf("then nothing finer: %d superpixels, %v; want %d", s.N, err, count)
	}
	if err := e.Extract(&s, bgr, w, h, Region{fine[0].Rectangle, 0}); err == nil {
		t.Error("superpixels 0 pixels apart are taken")
	}
}
