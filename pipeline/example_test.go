package pipeline_test

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/tracker"
)

// printer is a Publisher that prints.
type printer struct{}

func (printer) PublishMask(m *segdv1.MaskFrame) error {
	fmt.Printf("frame %d of %s: %d×%d, %d objects\n", m.Sequence, m.Camera, m.Width, m.Height, len(m.Objects))
	return nil
}
func (printer) PublishEvent(*segdv1.Event) error   { return nil }
func (printer) PublishStatus(*segdv1.Status) error { return nil }

// A camera that is a folder with one picture.
func ExampleCamera() {
	dir, err := os.MkdirTemp("", "segd-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "0.png"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		fmt.Println(err)
	}
	if err := f.Close(); err != nil {
		fmt.Println(err)
	}

	camera, err := pipeline.New(pipeline.Config{
		Site: "home", Name: "gate", Publisher: printer{},
		Open: func(o ingest.Observer) (pipeline.Source, error) {
			return ingest.Open(ingest.Config{Camera: "gate", URL: "dir:" + dir, Observer: o})
		},
		NewExtractor: func() (pipeline.Extractor, error) { return features.New(features.Config{Superpixels: 12}, nil) },
		NewStepper:   func() (pipeline.Stepper, error) { return tracker.New(tracker.Config{}) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := camera.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: frame 0 of gate: 64×48, 0 objects
}
