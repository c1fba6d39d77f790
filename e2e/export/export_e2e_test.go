//go:build e2e

package export

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
)

var asJSON = flag.Bool("json", false, "print the figures, one JSON object")

// How many pictures are recorded, and the overlap of a polygon's masks with those recorded that is wanted, in the mean.
const (
	leastPictures = 40
	leastIoU      = .97
)

// figures are what read.py finds.
type figures struct {
	Pictures int `json:"pictures"`
	Objects  int `json:"objects"`
	// OnBus are the objects whose masks were on NATS for the same frame.
	OnBus int `json:"on_bus"`
	COCO  struct {
		Equal    int `json:"equal"`
		Tracks   int `json:"tracks"`
		Datumaro int `json:"datumaro"`
	} `json:"coco"`
	YOLO struct {
		Objects   int     `json:"objects"`
		IoU       float64 `json:"iou"`
		Least     float64 `json:"least"`
		ByCentres float64 `json:"by_centres"`
	} `json:"yolo"`
	CVAT struct {
		Equal int `json:"equal"`
	} `json:"cvat"`
	PNG struct {
		Equal int `json:"equal"`
	} `json:"png"`
}

func TestExport(t *testing.T) {
	python := filepath.Join(harness.Root(t), "bin", "export", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v; make export-test makes it", err)
	}
	demo := harness.Demo(t)
	require.NoError(t, demo.Published(t.Context(), harness.DemoLimit))
	sent := listen(t, demo.NATS)
	recording := filepath.Join(t.TempDir(), "recording")
	record := harness.Start(t, "record", harness.Program(t), "record", "demo", recording, "--page", demo.Page, "--every", "500ms")
	harness.Until(t, harness.DemoLimit, "pictures", func(context.Context) error {
		files, err := filepath.Glob(filepath.Join(recording, "*.json"))
		if err == nil && len(files) < leastPictures {
			err = fmt.Errorf("%d pictures", len(files))
		}
		return err
	})
	record.End()

	args := []string{"read.py", recording}
	for _, format := range []string{"coco", "yolo-seg", "cvat", "mask-png"} {
		cmd := exec.CommandContext(t.Context(), harness.Program(t), "export", recording, "--format", format)
		if format != "cvat" {
			cmd.Args = append(cmd.Args, "--split", "75,25")
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
		fmt.Fprintf(t.Output(), "%s", out)
		args = append(args, recording+"-"+format)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Stderr = t.Output()
	text, err := cmd.Output()
	require.NoError(t, err, "%s", text)
	var got figures
	require.NoError(t, json.Unmarshal(text[lastLine(text):], &got), "%s", text)
	got.OnBus = sent.count(t, recording)
	if *asJSON {
		require.NoError(t, json.NewEncoder(os.Stdout).Encode(got))
	}
	if got.Pictures < leastPictures || got.Objects < leastPictures {
		t.Errorf("%d pictures with %d objects; want at least %d of both", got.Pictures, got.Objects, leastPictures)
	}
	for name, n := range map[string]int{"on NATS": got.OnBus, "COCO": got.COCO.Equal, "COCO by Datumaro": got.COCO.Datumaro, "CVAT": got.CVAT.Equal, "YOLO": got.YOLO.Objects} {
		if n != got.Objects {
			t.Errorf("%s: %d masks of %d are those recorded", name, n, got.Objects)
		}
	}
	if got.PNG.Equal != got.Pictures {
		t.Errorf("PNG: %d pictures of %d have the masks recorded", got.PNG.Equal, got.Pictures)
	}
	if got.YOLO.IoU < leastIoU || got.YOLO.ByCentres < leastIoU {
		t.Errorf("YOLO: polygons have a mean IoU of %.4f by Ultralytics and of %.4f by pycocotools; want %.2f", got.YOLO.IoU, got.YOLO.ByCentres, leastIoU)
	}
}

// lastLine is where the figures are: what tools say comes before.
func lastLine(text []byte) int {
	for i := len(text) - 2; i >= 0; i-- {
		if text[i] == '\n' {
			return i + 1
		}
	}
	return 0
}

// frames are the masks that were published, by what the files of a frame are called.
type frames struct {
	mu  sync.Mutex
	all map[string]map[uint32]string
}

func listen(t *testing.T, url string) *frames {
	t.Helper()
	f := &frames{all: map[string]map[uint32]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	var watching sync.WaitGroup
	t.Cleanup(func() { cancel(); watching.Wait() })
	watching.Go(func() {
		err := bus.Watch(ctx, url, "demo", bus.Handlers{Ready: func() { close(ready) }, Mask: func(m *segdv1.MaskFrame) {
			masks := map[uint32]string{}
			for _, o := range m.GetObjects() {
				masks[o.GetId()] = o.GetCounts()
			}
			f.mu.Lock()
			f.all[fmt.Sprintf("demo-%013d-%09d.json", m.GetEpoch(), m.GetSequence())] = masks
			f.mu.Unlock()
		}})
		assert.Error(t, ctx.Err(), "watching the demo: %v", err)
	})
	<-ready
	return f
}

// count returns how many objects with a mask are in the recording as they were published.
func (f *frames) count(t *testing.T, recording string) (equal int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recording, "*.json"))
	require.NoError(t, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range files {
		text, err := os.ReadFile(file)
		var m segdv1.MaskFrame
		require.NoError(t, errors.Join(err, bus.Unmarshal(bus.TypeJSON, text, &m)), "%s", file)
		published := f.all[filepath.Base(file)]
		for _, o := range m.GetObjects() {
			if o.GetArea() > 0 && published[o.GetId()] == o.GetCounts() {
				equal++
			}
		}
	}
	return equal
}
