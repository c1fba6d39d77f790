package features

import "math/rand/v2"

// Images for the tests: BGR24, tight.

func noiseImage(w, h int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	bgr := make([]byte, 3*w*h)
	for i := range bgr {
		bgr[i] = byte(r.IntN(256))
	}
	return bgr
}

func constantImage(w, h int) []byte {
	bgr := make([]byte, 3*w*h)
	for i := range bgr {
		bgr[i] = byte(60 + 50*(i%3))
	}
	return bgr
}

func gradientImage(w, h int) []byte {
	bgr := make([]byte, 3*w*h)
	for i := range w * h {
		bgr[3*i], bgr[3*i+1], bgr[3*i+2] = byte(i%w*255/w), byte(i/w*255/h), 128
	}
	return bgr
}

// discsImage paints count coloured discs with a little noise, and says which disc
// each pixel shows (0: the ground).
func discsImage(w, h, count int, seed uint64) (bgr []byte, shown []int32) {
	r := rand.New(rand.NewPCG(seed, 2))
	bgr = make([]byte, 3*w*h)
	shown = make([]int32, w*h)
	colours := [][3]int{{90, 110, 100}}
	for k := 1; k <= count; k++ {
		colours = append(colours, [3]int{r.IntN(236), r.IntN(236), r.IntN(236)})
		cx, cy, radius := r.IntN(w), r.IntN(h), 10+r.IntN(max(1, min(w, h)/5))
		for y := max(0, cy-radius); y < min(h, cy+radius); y++ {
			for x := max(0, cx-radius); x < min(w, cx+radius); x++ {
				if (x-cx)*(x-cx)+(y-cy)*(y-cy) < radius*radius {
					shown[y*w+x] = int32(k)
				}
			}
		}
	}
	for i, k := range shown {
		for c := range 3 {
			bgr[3*i+c] = byte(min(255, colours[k][c]+r.IntN(20)))
		}
	}
	return bgr, shown
}
