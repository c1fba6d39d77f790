package features

import (
	"container/heap"
	"fmt"
	"image"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// oracleItem and oracleHeap are the textbook's priority queue, first in first out
// among equals.
type oracleItem struct {
	key   float32
	order int
	chunk int // of those with its key
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

// oracle is SNIC with a binary heap. With quantised false it is as published: ordered by the distance
// itself, and every unlabelled neighbour queued every time. Otherwise keys do not fall and what waits
// in one chunk under one key is settled together. With tiles each grows by itself at first.
func oracle(bgr []byte, width, height int, seeds []image.Point, tiles []tile, spatial float32, quantised bool) []int32 {
	pixels := make([]pixel, width*height)
	labels := make([]int32, width*height)
	best := make([]float32, width*height)
	for i := range labels {
		labels[i], best[i] = -1, math.MaxFloat32
		l, a, b := lab.at(bgr[3*i], bgr[3*i+1], bgr[3*i+2])
		pixels[i] = makePixel(l, a, b, 0)
	}
	regions := make([]region, len(seeds))
	order := 0
	filled := map[float32]int{}
	push := func(h *oracleHeap, key float32, at image.Point, label int32) {
		if i := at.Y*width + at.X; quantised && key >= best[i] {
			return
		}
		best[at.Y*width+at.X] = key
		heap.Push(h, oracleItem{key, order, filled[key] / chunkSize, makeWaiting(at.X+1, at.Y+1, label)})
		filled[key]++
		order++
	}
	key := func(at image.Point, label int32, far float32) float32 {
		p, r := pixels[at.Y*width+at.X], &regions[label]
		if !quantised {
			l, a, b := p.lab()
			dl, da, db := float32(l)-r.l*r.share, float32(a)-r.a*r.share, float32(b)-r.b*r.share
			return dl*dl + da*da + db*db + far
		}
		return float32(p.key(r.mean(), far))
	}
	free := func(p image.Point) bool { return labels[p.Y*width+p.X] < 0 }
	grow := func(h *oracleHeap, bounds image.Rectangle, until float32) {
		for h.Len() > 0 && (*h)[0].key < until {
			first := (*h)[0]
			var groups [2][]waiting // inside bounds, at their border
			for h.Len() > 0 && (*h)[0].key == first.key && (*h)[0].chunk == first.chunk {
				w := heap.Pop(h).(oracleItem).w
				at := image.Pt(int(w.x())-1, int(w.y())-1)
				if free(at) {
					labels[at.Y*width+at.X] = w.label()
					regions[w.label()].add(pixels[at.Y*width+at.X], w.x(), w.y())
					border := 0
					if !at.In(bounds.Inset(1)) {
						border = 1
					}
					groups[border] = append(groups[border], w)
				}
				if !quantised {
					break
				}
			}
			for _, w := range slices.Concat(groups[0], groups[1]) {
				at := image.Pt(int(w.x())-1, int(w.y())-1)
				dx, dy := regions[w.label()].to(w.x(), w.y())
				far := float32(spatial*(float32(dx*dx)+float32(dy*dy)+1)) + keyBias
				for _, step := range []image.Point{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
					to := at.Add(step)
					if !to.In(bounds) || !free(to) {
						continue
					}
					side := float32(step.X)*float32(2*spatial*dx) + float32(step.Y)*float32(2*spatial*dy)
					k := key(to, w.label(), far+side)
					if quantised {
						k = max(k, first.key)
					}
					push(h, k, to, w.label())
				}
			}
		}
	}

	var all oracleHeap
	var left []oracleItem
	for _, t := range tiles {
		var h oracleHeap
		clear(filled)
		for k, p := range t.seeds {
			push(&h, float32(distanceKey(keyBias)), p, int32(t.first+k))
		}
		grow(&h, t.Rectangle, float32(tileKey))
		for h.Len() > 0 {
			l := heap.Pop(&h).(oracleItem)
			if at := image.Pt(int(l.w.x())-1, int(l.w.y())-1); free(at) && l.key == best[at.Y*width+at.X] {
				left = append(left, l)
			}
		}
	}
	clear(filled)
	for _, l := range left {
		at := image.Pt(int(l.w.x())-1, int(l.w.y())-1)
		best[at.Y*width+at.X] = math.MaxFloat32
		push(&all, l.key, at, l.w.label())
	}
	for _, t := range tiles {
		meet := func(a, b image.Point) {
			for _, pair := range [][2]image.Point{{a, b}, {b, a}} {
				if from, to := pair[0], pair[1]; !free(from) && free(to) {
					label := labels[from.Y*width+from.X]
					dx, dy := regions[label].to(uint32(to.X+1), uint32(to.Y+1))
					push(&all, key(to, label, float32(spatial*(float32(dx*dx)+float32(dy*dy)))+keyBias), to, label)
				}
			}
		}
		for y := t.Min.Y; y < t.Max.Y && t.Max.X < width; y++ {
			meet(image.Pt(t.Max.X-1, y), image.Pt(t.Max.X, y))
		}
		for x := t.Min.X; x < t.Max.X && t.Max.Y < height; x++ {
			meet(image.Pt(x, t.Max.Y-1), image.Pt(x, t.Max.Y))
		}
	}
	if len(tiles) == 0 {
		for k, p := range seeds {
			push(&all, float32(distanceKey(keyBias)), p, int32(k))
		}
	}
	grow(&all, image.Rect(0, 0, width, height), math.MaxFloat32)
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

// segment is what a snic makes of an image.
func segment(bgr []byte, width, height, count int, compactness float64) ([]int32, *snic) {
	s := new(snic)
	im := segmented{bgr: bgr, stride: 3 * width, width: width, height: height, labels: make([]int32, width*height), pixels: make([]int16, colours*width*height)}
	s.segment(&im, count, compactness, nil)
	return im.labels, s
}

func TestSegmentAgainstOracle(t *testing.T) {
	for _, tt := range snicImages {
		t.Run(tt.name, func(t *testing.T) {
			bgr := tt.image(tt.w, tt.h)
			bothWays(t, func(t *testing.T) {
				got, s := segment(bgr, tt.w, tt.h, tt.count, tt.compactness)
				want := oracle(bgr, tt.w, tt.h, s.seeds, s.tiles, spatialWeight(tt.w, tt.h, tt.count, tt.compactness), true)
				if !slices.Equal(got, want) {
					t.Error("labels differ from the textbook's")
				}
				checkRegions(t, got, tt.w, tt.h, tt.count)
			})
		})
	}
}

// bothWays tests with vector code, if the processor has it, and without.
func bothWays(t *testing.T, test func(t *testing.T)) {
	has := vector
	defer func() { vector = has }()
	if has {
		t.Run("vector", test)
	}
	vector = false
	t.Run("plain", test)
}

// A larger image grows tile by tile first, and the same by one core as by several.
func TestTiles(t *testing.T) {
	const w, h, count = 500, 300, 700
	for name, bgr := range map[string][]byte{
		"discs": func() []byte { b, _ := discsImage(w, h, 30, 2); return b }(), "noise": noiseImage(w, h, 4), "gradient": gradientImage(w, h),
	} {
		bothWays(t, func(t *testing.T) {
			got, s := segment(bgr, w, h, count, DefaultCompactness)
			checkRegions(t, got, w, h, count)
			if len(s.tiles) != 4*2 {
				t.Errorf("%d tiles", len(s.tiles))
			}
			if want := oracle(bgr, w, h, s.seeds, s.tiles, s.spatial, true); !slices.Equal(got, want) {
				t.Errorf("%s: labels differ from the textbook's", name)
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			if alone, _ := segment(bgr, w, h, count, DefaultCompactness); !slices.Equal(alone, got) {
				t.Errorf("%s: one core makes other labels", name)
			}
		})
	}
}

// Every tile has seeds, whatever the size and however many are wanted.
func TestTilesHaveSeeds(t *testing.T) {
	var s snic
	for _, size := range [][2]int{{1, 2000}, {129, 5000}, {193, 193}, {320, 240}, {641, 479}, {854, 480}, {1920, 1080}, {3840, 64}} {
		w, h := size[0], size[1]
		for _, count := range []int{1, 2, 7, 16, 50, 333, 2000, 6000} {
			s.plan(w, h, min(count, w*h), nil, nil)
			n := 0
			for _, tile := range s.tiles {
				n += len(tile.seeds)
				if len(tile.seeds) == 0 || slices.ContainsFunc(tile.seeds, func(p image.Point) bool { return !p.In(tile.Rectangle) }) {
					t.Errorf("%d×%d, %d seeds: tile %v has %v", w, h, count, tile.Rectangle, tile.seeds)
				}
			}
			if n != len(s.seeds) {
				t.Errorf("%d×%d, %d seeds: %d of %d are in a tile", w, h, count, n, len(s.seeds))
			}
		}
	}
}

// What happens on another goroutine ends on that of the caller.
func TestParallelPanics(t *testing.T) {
	for at := range 3 {
		done := make([]bool, 3)
		func() {
			defer func() {
				if p, ok := recover().(*Panic); !ok || p.Value != "ouch" || !strings.Contains(string(p.Stack), "TestParallelPanics") {
					t.Errorf("panic %v", p)
				}
			}()
			parallel(3, func(i int) {
				if done[i] = true; i == at {
					panic("ouch")
				}
			})
		}()
		if slices.Contains(done, false) {
			t.Errorf("done %v", done)
		}
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
			s.seed(w, h, count, nil, nil)
			at := map[image.Point]bool{}
			for _, seed := range s.seeds {
				if !seed.In(image.Rect(0, 0, w, h)) {
					t.Errorf("%d×%d, %d seeds: one at %v", w, h, count, seed)
				}
				at[seed] = true
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
	for seed := range uint64(3) {
		bgr, shown := discsImage(w, h, 25, seed)
		got, s := segment(bgr, w, h, count, DefaultCompactness)
		recall, spill := quality(got, shown, w, h, count)
		exact := oracle(bgr, w, h, s.seeds, nil, spatialWeight(w, h, count, DefaultCompactness), false)
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
	f.Fuzz(func(t *testing.T, width, height uint8, count, compactness uint16, seed []byte) {
		w, h := int(width%80)+1, int(height%80)+1
		n := min(int(count)+1, w*h)
		bgr := make([]byte, 3*w*h)
		for i := range bgr {
			if len(seed) > 0 {
				bgr[i] = seed[i%len(seed)] + byte(i/len(seed)*len(seed))
			}
		}
		labels, _ := segment(bgr, w, h, n, float64(compactness)/100+0.01)
		checkRegions(t, labels, w, h, n)
	})
}

func BenchmarkSegment(b *testing.B) {
	for _, size := range []struct{ w, h, count int }{{640, 480, 2000}, {854, 480, 2000}, {854, 480, 6000}, {1920, 1080, 2000}} {
		b.Run(fmt.Sprintf("%dx%d/%d", size.w, size.h, size.count), func(b *testing.B) {
			b.ReportAllocs()
			bgr, _ := discsImage(size.w, size.h, 200, 1)
			im := segmented{bgr: bgr, stride: 3 * size.w, width: size.w, height: size.h, labels: make([]int32, size.w*size.h), pixels: make([]int16, colours*size.w*size.h)}
			var s snic
			for b.Loop() {
				s.segment(&im, size.count, DefaultCompactness, nil)
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
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Fine: fine}); err != nil {
		t.Fatal(err)
	}
	checkRegions(t, s.Patches[0].Labels, w, h, s.N)
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
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Fine: []Region{{image.Rect(90, 0, 98, 8), 4}, left}}); err != nil || s.N < count || s.N > count+4 {
			t.Errorf("%v, %d apart: %d superpixels, %v; want %d and up to four more", left.Rectangle, left.Spacing, s.N, err, count)
		}
	}
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Fine: fine[3:4]}); err != nil || s.N != count {
		t.Errorf("beyond the picture: %d superpixels, %v; want %d", s.N, err, count)
	}
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true}); err != nil || s.N != count {
		t.Errorf("then nothing finer: %d superpixels, %v; want %d", s.N, err, count)
	}
	if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Fine: []Region{{fine[0].Rectangle, 0}}}); err == nil {
		t.Error("superpixels 0 pixels apart are taken")
	}
}

// Windows whose sizes take turns use the same memory.
func TestSegmentAllocsOfWindows(t *testing.T) {
	var seg snic
	var ims []*segmented
	for _, size := range []image.Point{{300, 200}, {130, 400}, {600, 500}} {
		bgr, _ := discsImage(size.X, size.Y, 9, 1)
		ims = append(ims, &segmented{
			bgr: bgr, stride: 3 * size.X, width: size.X, height: size.Y, workers: 1,
			labels: make([]int32, size.X*size.Y), pixels: make([]int16, colours*size.X*size.Y),
		})
	}
	turn := func() {
		for _, im := range ims {
			seg.segment(im, im.width*im.height/200, DefaultCompactness, nil)
		}
	}
	turn()
	if n := testing.AllocsPerRun(10, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
