package features

import "testing"

func TestExtractCounts(t *testing.T) {
	e, err := New(Config{Superpixels: 50}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{1, 1}, {1, 60}, {60, 1}, {31, 37}, {320, 200}} {
		w, h := size[0], size[1]
		var s Scene
		if err := e.Extract(&s, make([]byte, 3*w*h), w, h); err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, a := range s.Area {
			if a < 1 {
				t.Errorf("%d×%d: an empty superpixel", w, h)
			}
			total += int(a)
		}
		if s.N != min(50, w*h) || total != w*h {
			t.Errorf("%d×%d: %d superpixels of %d pixels", w, h, s.N, total)
		}
	}
}
