//go:build e2e

package export

import (
	"encoding/json"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

// TestImport holds what segd import makes of COCO's objects to what pycocotools makes of them.
func TestImport(t *testing.T) {
	const width, height, picture = 640, 480, "gate-1795294724651-000000007.jpg"
	shapes := []struct {
		name  string
		shape any
		least float64 // IoU: pycocotools rounds the points of slanting lines
	}{
		{"one over another", [][]float64{{10, 10, 200, 10, 200, 200, 10, 200}, {150, 150, 260, 150, 260, 260, 150, 260}}, 1},
		{"one inside another", [][]float64{{10, 10, 200, 10, 200, 200, 10, 200}, {50, 50, 100, 50, 100, 100, 50, 100}}, 1},
		{"a ring of four", [][]float64{{10, 10, 300, 10, 300, 50, 10, 50}, {10, 10, 50, 10, 50, 300, 10, 300}, {10, 250, 300, 250, 300, 300, 10, 300}, {250, 10, 300, 10, 300, 300, 250, 300}}, 1},
		{"apart", [][]float64{{10, 10, 20, 10, 20, 20, 10, 20}, {300, 300, 340, 300, 340, 340, 300, 340}}, 1},
		{"slanting", [][]float64{{100, 20, 300, 240, 100, 460}, {200, 20, 400, 240, 200, 460}}, .99},
		{"crossing itself", [][]float64{{100, 20, 500, 20, 100, 400, 500, 400}}, .99},
		{"outside by a little", [][]float64{{-0.0011, 10, 640.0004, 10, 640, 480, 10, 480.0002}}, .99},
		{"run lengths", map[string]any{"size": []int{height, width}, "counts": []int{480*100 + 20, 100, 380, 100, width*height - 480*101 - 120}}, 1},
	}
	var annotations []any
	for i, s := range shapes {
		annotations = append(annotations, map[string]any{"id": i + 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "segmentation": s.shape, "attributes": map[string]any{"object_id": i + 1}})
	}
	dir := t.TempDir()
	write := func(name string, text []byte, err error) string {
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		require.NoError(t, err)
		return path
	}
	text, err := json.Marshal(map[string]any{
		"images":     []any{map[string]any{"id": 1, "file_name": picture, "width": width, "height": height}},
		"categories": []any{map[string]any{"id": 1, "name": "person"}}, "annotations": annotations,
	})
	file, saved := write("instances.json", text, err), filepath.Join(dir, "gate.json")
	to, err := os.Create(filepath.Join(dir, picture))
	if err == nil {
		err = jpeg.Encode(to, image.NewGray(image.Rect(0, 0, width, height)), nil)
	}
	require.NoError(t, err)
	_ = to.Close()
	if out, err := exec.CommandContext(t.Context(), harness.Program(t), "import", "gate", file, "--save", saved, "--pictures", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err = os.ReadFile(saved)
	require.NoError(t, err)
	got, err := annotation.ParseFor(text, width, height)
	if err != nil || len(got.Objects) != len(shapes) {
		t.Fatalf("%+v, %v", got, err)
	}
	python := filepath.Join(harness.Root(t), "bin", "export", "bin", "python")
	text, err = exec.CommandContext(t.Context(), python, "masks.py", file).Output()
	var want []string
	if err == nil {
		err = json.Unmarshal(text[lastLine(text):], &want)
	}
	if err != nil || len(want) != len(shapes) {
		t.Fatalf("%v\n%s", err, text)
	}
	for k, s := range shapes {
		bits := make([]uint8, width*height)
		got.Inside(k, func(p int) { bits[p] = 1 })
		by, err := mask.Parse(want[k], width, height)
		require.NoError(t, err)
		ours := mask.Encode(bits, width, height)
		if iou := mask.IoU(ours, by); iou < s.least {
			t.Errorf("%s: IoU %.4f: %d pixels, and %d by pycocotools; want %.2f", s.name, iou, ours.Area(), by.Area(), s.least)
		}
	}
}
