package tracker

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// A camera that showed larger pictures for a while costs afterwards what it did before.
func TestMemoryOfAnotherSize(t *testing.T) {
	synctest.Test(t, testMemoryOfAnotherSize)
}

func testMemoryOfAnotherSize(t *testing.T) {
	e, err := features.New(features.Config{Superpixels: 150}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := New(Config{History: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var s features.Scene
	play := func(w, h, n int) {
		bgr := make([]byte, 3*w*h)
		for i := range n {
			for p := range bgr {
				x, y := p/3%w, p/3/w
				bgr[p] = byte(16*(x/8) + 16*(y/8) + random.IntN(8))
			}
			if err := e.Extract(&s, bgr, w, h, features.Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			var a *annotation.Annotation
			if i == 5 {
				a = &annotation.Annotation{Width: w, Height: h, Objects: []annotation.Object{
					{ID: 1, Scribbles: []annotation.Stroke{{Width: 10, Points: []annotation.Point{{30, 30}, {50, 45}}}}},
				}}
			}
			step(t, tr, &s, a)
			s.Seq++
		}
	}
	heap := func() float64 {
		time.Sleep(time.Minute) // what waits for others goes with what comes next
		play(160, 120, 1)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	play(160, 120, 60)
	before := heap()
	play(320, 240, 30)
	play(160, 120, 60)
	after := heap()
	runtime.KeepAlive(tr)
	runtime.KeepAlive(e)
	t.Logf("%.1f MiB before larger pictures, %.1f after them", before, after)
	if after > 1.1*before {
		t.Errorf("%.1f MiB are in use after larger pictures, %.1f before them", after, before)
	}
}
