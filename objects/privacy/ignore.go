package privacy

import (
	"image"
	"sync"

	"github.com/segd/segd/objects/zones"
)

// Ignore returns what fills polygons with black in a picture, tight rows of BGR. Any goroutine may call it. It is nil
// without polygons.
func Ignore(polygons [][]zones.Point) func(bgr []byte, width, height int) {
	if len(polygons) == 0 {
		return nil
	}
	var (
		mu    sync.Mutex // guards what follows
		size  image.Point
		spans [][2]int // pixels from and to which, in a picture of that size
	)
	of := func(s image.Point) [][2]int {
		mu.Lock()
		defer mu.Unlock()
		if s != size {
			all, bits := make([]uint8, s.X*s.Y), []uint8(nil)
			for _, p := range polygons {
				bits = zones.Fill(p, s.X, s.Y).Decode(bits)
				for i, on := range bits {
					all[i] |= on
				}
			}
			size, spans = s, spansOf(all)
		}
		return spans
	}
	return func(bgr []byte, width, height int) {
		for _, s := range of(image.Pt(width, height)) {
			clear(bgr[3*s[0] : 3*s[1]])
		}
	}
}

func spansOf(bits []uint8) (spans [][2]int) {
	for i := 0; i < len(bits); i++ {
		from := i
		for i < len(bits) && bits[i] != 0 {
			i++
		}
		if i > from {
			spans = append(spans, [2]int{from, i})
		}
	}
	return spans
}
