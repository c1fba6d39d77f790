// Package cliptest writes made sequences for tests.
package cliptest

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// New writes a sequence of 96×64 frames, in which a red square of 900 pixels moves
// over green, with its truth, in DAVIS' layout, and returns the root.
func New(t testing.TB, name string, frames int) string {
	t.Helper()
	root := t.TempDir()
	Add(t, root, name, frames)
	return root
}

// Add writes one more.
func Add(t testing.TB, root, name string, frames int) {
	t.Helper()
	AddScaled(t, root, name, frames, 1)
}

// AddScaled writes one whose frames are scale times as wide and high, and all in them.
func AddScaled(t testing.TB, root, name string, frames, scale int) {
	t.Helper()
	for i := range frames {
		frame := image.Rect(0, 0, 96*scale, 64*scale)
		img, truth := image.NewRGBA(frame), image.NewGray(frame)
		left := 33 + int(20*math.Sin(float64(i)/6))
		square := image.Rect(left*scale, 16*scale, (left+30)*scale, 46*scale)
		for y := range frame.Dy() {
			for x := range frame.Dx() {
				c := color.RGBA{40, uint8(120 + x%8), 60, 255}
				if image.Pt(x, y).In(square) {
					c = color.RGBA{200, 30, 30, 255}
					truth.SetGray(x, y, color.Gray{Y: 255})
				}
				img.SetRGBA(x, y, c)
			}
		}
		file := func(folder, ext string) *os.File {
			dir := filepath.Join(root, folder, "480p", name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%05d%s", i, ext)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
		if err := jpeg.Encode(file("JPEGImages", ".jpg"), img, nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file("Annotations", ".png"), truth); err != nil {
			t.Fatal(err)
		}
	}
}
