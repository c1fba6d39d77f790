package features

import (
	"math"

	"github.com/segd/segd/internal/buffers"
)

// Set makes t that of a BGR24 image of width×height pixels. A cell's colour is that of its mean bytes: they are as
// good as linear within a few pixels.
func (t *Thumbnail) Set(bgr []byte, width, height int) {
	if cell := max(1, int(math.Round(float64(max(width, height))/thumbnailSide))); cell != t.Cell || t.mean == nil {
		t.Cell, t.mean = cell, make([]byte, 255*cell*cell+1)
		for sum := range t.mean {
			t.mean[sum] = byte((sum + cell*cell/2) / (cell * cell))
		}
	}
	t.Width, t.Height = width/t.Cell, height/t.Cell
	t.Lab = buffers.Fit(t.Lab, colours*t.Width*t.Height)
	t.sums = grown(t.sums, colours*t.Width)
	t.means, t.pixels = grown(t.means, 3*t.Width), grown(t.pixels, t.Width)
	for y := range t.Height {
		clear(t.sums)
		for dy := range t.Cell {
			t.add(bgr[3*(y*t.Cell+dy)*width:][:3*t.Cell*t.Width])
		}
		for i, sum := range t.sums {
			t.means[i] = t.mean[sum]
		}
		lab.row(t.Lab[colours*y*t.Width:][:colours*t.Width], t.pixels, t.means)
	}
}

// add adds a row of pixels to the sums of the cells.
func (t *Thumbnail) add(row []byte) {
	if t.Cell == 2 { // as of a picture 576 to 959 pixels wide: without a loop for each cell
		for s := t.sums; len(s) >= 3 && len(row) >= 6; s, row = s[3:], row[6:] {
			s[0] += uint32(row[0]) + uint32(row[3])
			s[1] += uint32(row[1]) + uint32(row[4])
			s[2] += uint32(row[2]) + uint32(row[5])
		}
		return
	}
	cell := 3 * t.Cell
	for x := range t.Width {
		var b, g, r uint32
		for p := row[cell*x:][:cell:cell]; len(p) >= 3; p = p[3:] {
			b, g, r = b+uint32(p[0]), g+uint32(p[1]), r+uint32(p[2])
		}
		s := t.sums[3*x:][:3:3]
		s[0], s[1], s[2] = s[0]+b, s[1]+g, s[2]+r
	}
}
