package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
)

// makeDavis writes a sequence of a red square that moves over green, with its
// truth, in DAVIS' layout, and returns the root.
func makeDavis(t testing.TB, name string, frames int) string {
	t.Helper()
	root := t.TempDir()
	addDavis(t, root, name, frames)
	return root
}

func addDavis(t testing.TB, root, name string, frames int) {
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
			dir := filepath.Join(root, folder, name)
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
		if err := jpeg.Encode(file(davisImages, ".jpg"), img, nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file(davisTruth, ".png"), truth); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDavis(t *testing.T) {
	root := makeDavis(t, "square", 6)
	ticks := 0
	var masks, truths []mask.RLE
	report, err := Davis(t.Context(), DavisOptions{
		Root: root, Features: features.Config{Superpixels: 200}, ModelName: "colour",
		Progress: func(done, total int) {
			ticks++
			if done != ticks || total != 6 {
				t.Errorf("progress %d of %d; want %d of 6", done, total, ticks)
			}
		},
		Frame: func(name string, i int, f DavisFrame) error {
			if name != "square" || f.Result.Seq != uint64(i) || f.Truth.Area() != 900 {
				t.Errorf("frame %d of %s: sequence %d, %d true pixels", i, name, f.Result.Seq, f.Truth.Area())
			}
			masks, truths = append(masks, f.Result.Objects[0].Mask), append(truths, f.Truth)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ticks != 6 || len(report.Sequences) != 1 {
		t.Fatalf("%d ticks, %d sequences; want 6 and 1", ticks, len(report.Sequences))
	}
	row := report.Sequences[0]
	if row.Frames != 4 || row.J < 0.9 || row.J > 1 || row.J != report.MeanJ || row.F < 0.9 || row.F != report.MeanF {
		t.Errorf("row is %+v with mean %.3f; want 4 frames, J and F above 0.9", row, report.MeanJ)
	}
	j, change := 0.0, 0.0
	for i := 1; i < 5; i++ {
		j += mask.IoU(masks[i], truths[i]) / 4
		change += ((1 - mask.IoU(masks[i], masks[i-1])) - (1 - mask.IoU(truths[i], truths[i-1]))) / 4
	}
	if math.Abs(j-row.J) > 1e-12 || math.Abs(change-row.Instability) > 1e-12 || row.Instability != report.MeanInstability {
		t.Errorf("J %v, instability %v; want %v and %v", row.J, row.Instability, j, change)
	}
	s := row.StageMS
	if row.MSPerFrame <= 0 || s.Network != 0 || s.Features <= 0 || s.Projection <= 0 || s.Affinity <= 0 || s.Solve <= 0 || s.Mask <= 0 ||
		math.Abs(s.Features+s.Projection+s.Affinity+s.Solve+s.Mask-row.MSPerFrame) > 1e-9 || s != report.MeanStageMS {
		t.Errorf("%v ms a frame, of which %+v; want the sum of all stages, and none of a network that is not there", row.MSPerFrame, s)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		`"mode":"joint"`, `"model":"colour"`, `"sequences":[{"name":"square","frames":4,"j":`, `"f":`, `"ms_per_frame":`, `"mean_j":`, `"mean_f":`,
		`"j_decay":`, `"f_decay":`, `"instability":`, `"stage_ms":{"network":0,"features":`, `"mean_instability":`,
	} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}
	for _, key := range []string{"perturb", "seed", "skipped", "undisturbed", "covered", "after"} {
		if strings.Contains(string(text), key) {
			t.Errorf("undisturbed report has %s: %s", key, text)
		}
	}
}

// A bubble's clock stands still but for the model's naps.
func TestNetworkTime(t *testing.T) {
	root := makeDavis(t, "square", 3)
	synctest.Test(t, func(t *testing.T) {
		const nap = 20 * time.Millisecond
		report, err := Davis(t.Context(), DavisOptions{Root: root, Features: features.Config{Superpixels: 50}, Model: slowModel(nap)})
		if err != nil {
			t.Fatal(err)
		}
		want := StageMS{Network: inMS(nap), Features: inMS(nap)}
		if s := report.MeanStageMS; math.Abs(s.Network-20) > 1e-9 || math.Abs(s.Features-20) > 1e-9 || math.Abs(report.MeanMSPerFrame-20) > 1e-9 {
			t.Errorf("%v ms a frame, of which %+v; want %+v", report.MeanMSPerFrame, s, want)
		}
	})
}

type slowModel time.Duration

func (m slowModel) Features(dst []features.Map, bgr []byte, width, height, shrink int) ([]features.Map, error) {
	time.Sleep(time.Duration(m))
	return append(dst, features.Map{Channels: 1, Height: 1, Width: 1, StrideX: 1, StrideY: 1, Data: []float32{float32(bgr[0])}}), nil
}

func TestDavisFrameEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	_, err := Davis(t.Context(), DavisOptions{
		Root: makeDavis(t, "square", 3), Features: features.Config{Superpixels: 50},
		Frame: func(string, int, DavisFrame) error { return full },
	})
	if !errors.Is(err, full) {
		t.Errorf("error is %v; want %v", err, full)
	}
}

// The bins are numpy's: ids = round(linspace(1, n, 5) + 1e-10) − 1, each bin with
// both its ends.
func TestDecay(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{0.3}, 0},
		{[]float64{1, 0}, 1}, // ids 0 0 1 1 1
		{[]float64{4, 2, 1, 0}, 3 - 0.5},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2 - 7},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 8 - 2},
	} {
		if got := decay(tt.v); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("decay of %v is %v; want %v", tt.v, got, tt.want)
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
