package privacy

import (
	"bytes"
	"sync"
	"testing"

	"github.com/segd/segd/objects/zones"
)

// What is in a polygon is black, in pictures of any size and on any goroutine, and the rest is as it was.
func TestIgnore(t *testing.T) {
	if Ignore(nil) != nil {
		t.Error("without polygons something is done")
	}
	fill := Ignore([][]zones.Point{{{0, 0}, {0.5, 0}, {0.5, 0.5}, {0, 0.5}}, {{0.75, 0.75}, {1, 0.75}, {1, 1}, {0.75, 1}}})
	var wg sync.WaitGroup
	for _, size := range [][2]int{{8, 8}, {16, 4}, {8, 8}} {
		wg.Go(func() {
			width, height := size[0], size[1]
			bgr := bytes.Repeat([]byte{7}, 3*width*height)
			fill(bgr, width, height)
			for i, v := range bgr {
				x, y := i/3%width, i/3/width
				in := x < width/2 && y < height/2 || x >= width*3/4 && y >= height*3/4
				if (v == 0) != in {
					t.Errorf("%d×%d: (%d, %d) is %d", width, height, x, y, v)
				}
			}
		})
	}
	wg.Wait()
}
