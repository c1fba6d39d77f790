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
	for i := range frames {
		img, truth := image.NewRGBA(image.Rect(0, 0, 96, 64)), image.NewGray(image.Rect(0, 0, 96, 64))
		left := 33 + int(20*math.Sin(float64(i)/6))
		for y := range 64 {
			for x := range 96 {
				c := color.RGBA{40, uint8(120 + x%8), 60, 255}
				if x >= left && x < left+30 && y >= 16 && y < 46 {
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
