package eval

import (
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segd/segd/features"
)

// makeDavis writes a sequence of a red square that moves over green, with its
// truth, in DAVIS' layout.
func makeDavis(t testing.TB, name string, frames int) string {
	t.Helper()
	root := t.TempDir()
	for i := range frames {
		img, truth := image.NewRGBA(image.Rect(0, 0, 96, 64)), image.NewGray(image.Rect(0, 0, 96, 64))
		for y := range 64 {
			for x := range 96 {
				c := color.RGBA{40, uint8(120 + x%8), 60, 255}
				if x >= 20+3*i && x < 50+3*i && y >= 16 && y < 46 {
					c = color.RGBA{200, 30, 30, 255}
					truth.SetGray(x, y, color.Gray{Y: 255})
				}
				img.SetRGBA(x, y, c)
			}
		}
		file := func(folder, ext string) *os.File {
			dir := filepath.Join(root, folder, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(filepath.Join(dir, "0000"+string(rune('0'+i))+ext))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
		if err := jpeg.Encode(file(davisImages, ".jpg"), img, nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file(davisTruth, ".png"), truth); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDavis(t *testing.T) {
	root := makeDavis(t, "square", 6)
	ticks := 0
	report, err := Davis(t.Context(), DavisOptions{
		Root: root, Features: features.Config{Superpixels: 200}, ModelName: "colour",
		Progress: func(done, total int) {
			ticks++
			if done != ticks || total != 6 {
				t.Errorf("progress %d of %d; want %d of 6", done, total, ticks)
			}
		},
		Frame: func(name string, i int, f DavisFrame) {
			if name != "square" || f.Result.Seq != uint64(i) || f.Truth.Area() != 900 {
				t.Errorf("frame %d of %s: sequence %d, %d true pixels", i, name, f.Result.Seq, f.Truth.Area())
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ticks != 6 || len(report.Sequences) != 1 {
		t.Fatalf("%d ticks, %d sequences; want 6 and 1", ticks, len(report.Sequences))
	}
	row := report.Sequences[0]
	if row.Frames != 4 || row.J < 0.9 || row.J > 1 || row.J != report.MeanJ || row.F < 0.9 || row.F != report.MeanF || row.MSPerFrame <= 0 {
		t.Errorf("row is %+v with mean %.3f; want 4 frames, J and F above 0.9", row, report.MeanJ)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"mode":"joint"`, `"model":"colour"`, `"sequences":[{"name":"square","frames":4,"j":`, `"f":`, `"ms_per_frame":`, `"mean_j":`, `"mean_f":`} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}
}

func TestDavisFaults(t *testing.T) {
	root := makeDavis(t, "square", 3)
	short := makeDavis(t, "brief", 2)
	lacking := makeDavis(t, "lacking", 3)
	if err := os.Remove(filepath.Join(lacking, davisTruth, "lacking", "00001.png")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, root string
		sequences  []string
		want       string
	}{
		{"no such root", filepath.Join(root, "nowhere"), nil, "JPEGImages/480p"},
		{"no such sequence", root, []string{"circle"}, `no sequence "circle"`},
		{"too short", short, nil, "want at least 3"},
		{"no truth", lacking, nil, "00001.png"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Davis(t.Context(), DavisOptions{Root: tt.root, Sequences: tt.sequences, Features: features.Config{Superpixels: 50}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v; want one with %q", err, tt.want)
			}
		})
	}
}
