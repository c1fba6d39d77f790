//go:build e2e

package model

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segd/segd/e2e/harness"
)

var python = flag.String("python", "", "Python with what requirements.txt lists")

// segd tells what an exported network is, and that it takes it.
func TestExported(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), *python, "export.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, layout := range map[string]string{
		"yolov8n": "YOLOv8", "yolo11n": "YOLOv8", "yolo11n-seg": "YOLOv8-seg", "yolov10n": "YOLOv10", "yolo26n": "YOLOv10", "rtdetr-l": "RT-DETR",
	} {
		out, err := exec.CommandContext(t.Context(), harness.Program(t), "model", "check", "--detector", filepath.Join(dir, name+".onnx")).CombinedOutput()
		gives := "  boxes"
		if strings.HasSuffix(layout, "-seg") {
			gives = "  boxes and masks"
		}
		if fields := strings.Fields(string(out)); err != nil || len(fields) < 2 || fields[1] != layout || !strings.Contains(string(out), gives+", input 320×320, 80 classes") {
			t.Errorf("%s is to be of %s: %v\n%s", name, layout, err, out)
		}
	}
}
