package dnn

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"slices"
	"testing"
)

// meanOf is what a row, from one place to another, is on average; where it is less than a pixel wide, that much is.
func meanOf(row []float64, from, to float64) (mean float64) {
	for i, v := range row {
		mean += v * max(0, min(to, float64(i)+1)-max(from, float64(i))) / (to - from)
	}
	return mean
}

// scaled scales a row: of so many places each is the mean of what it covers, or of a pixel's width round its middle.
func scaled(row []float64, places int, areas bool) (made []float64) {
	step := float64(len(row)) / float64(places)
	for i := range places {
		from, to := float64(i)*step, float64(i+1)*step
		if !areas {
			middle := min(max((from+to)/2, 0.5), float64(len(row))-0.5)
			from, to = middle-0.5, middle+0.5
		}
		made = append(made, meanOf(row, from, to))
	}
	return made
}

func TestResize(t *testing.T) {
	for _, tt := range []struct{ from, to image.Point }{
		{image.Pt(76, 57), image.Pt(73, 54)},
		{image.Pt(85, 48), image.Pt(96, 54)},
		{image.Pt(192, 108), image.Pt(96, 54)},
		{image.Pt(100, 7), image.Pt(3, 2)},
		{image.Pt(100, 20), image.Pt(50, 40)}, // one side grows
		{image.Pt(1, 1), image.Pt(32, 32)},
		{image.Pt(40, 1), image.Pt(32, 1)},
		{image.Pt(2, 3), image.Pt(2, 3)},
	} {
		t.Run(fmt.Sprintf("%v to %v", tt.from, tt.to), func(t *testing.T) {
			stride := 3*tt.from.X + 5
			bgr := noise(stride, tt.from.Y)[:stride*(tt.from.Y-1)+3*tt.from.X] // nothing beyond the last pixel
			const beyond = 7
			got := bytes.Repeat([]byte{beyond}, 3*tt.to.X*tt.to.Y+1)
			resize(got[:len(got)-1], bgr, stride, tt.from, tt.to)
			if got[len(got)-1] != beyond {
				t.Fatal("it writes beyond the image")
			}
			areas := tt.to.X <= tt.from.X && tt.to.Y <= tt.from.Y
			for c := range 3 {
				var rows [][]float64
				for y := range tt.from.Y {
					var row []float64
					for x := range tt.from.X {
						row = append(row, float64(bgr[y*stride+3*x+c]))
					}
					rows = append(rows, scaled(row, tt.to.X, areas))
				}
				for x := range tt.to.X {
					var column []float64
					for y := range rows {
						column = append(column, rows[y][x])
					}
					for y, want := range scaled(column, tt.to.Y, areas) {
						if v := got[3*(y*tt.to.X+x)+c]; math.Abs(float64(v)-want) > 0.501 {
							t.Fatalf("channel %d at %d, %d is %d, want %.3f", c, x, y, v, want)
						}
					}
				}
			}
		})
	}
}

// White stays white however it is scaled, and scaling allocates nothing.
func TestResizeWhite(t *testing.T) {
	white := bytes.Repeat([]byte{255}, 3*67*41)
	made := make([]byte, 3*97*61)
	for _, size := range []image.Point{image.Pt(97, 61), image.Pt(66, 40), image.Pt(31, 17), image.Pt(5, 60)} {
		dst := made[:3*size.X*size.Y]
		scale := func() { resize(dst, white, 3*67, image.Pt(67, 41), size) }
		scale()
		if i := slices.IndexFunc(dst, func(v byte) bool { return v != 255 }); i >= 0 {
			t.Errorf("%v: value %d is %d", size, i, dst[i])
		}
		if n := testing.AllocsPerRun(10, scale); n != 0 {
			t.Errorf("%v: %v allocations", size, n)
		}
	}
}

func BenchmarkResize(b *testing.B) {
	for _, size := range []struct{ from, to image.Point }{
		{image.Pt(768, 576), image.Pt(736, 544)},
		{image.Pt(854, 480), image.Pt(960, 544)},
		{image.Pt(1920, 1080), image.Pt(960, 544)},
	} {
		b.Run(fmt.Sprintf("%v to %v", size.from, size.to), func(b *testing.B) {
			bgr, made := noise(size.from.X, size.from.Y), make([]byte, 3*size.to.X*size.to.Y)
			b.ReportAllocs()
			for b.Loop() {
				resize(made, bgr, 3*size.from.X, size.from, size.to)
			}
		})
	}
}
