package main

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/moons"
)

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "moons.png")
	require.NoError(t, run(t.Context(), path, moons.Options{Seed: 100, Seeds: 1, Starts: 1}))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	img, err := png.Decode(file)
	require.NoError(t, err)
	colours := map[any]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			colours[img.At(x, y)] = true
		}
	}
	for _, c := range colors {
		if !colours[c] {
			t.Errorf("no sample of class colour %v", c)
		}
	}
}
