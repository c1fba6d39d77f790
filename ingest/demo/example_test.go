package demo_test

import (
	"context"
	"fmt"

	"github.com/segd/segd/ingest/demo"
)

func Example() {
	clip, err := demo.Prepare(context.Background(), demo.ClipPath, demo.Shape{Start: 100}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	camera, err := demo.NewServer(clip, demo.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := camera.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer camera.Close()
	// Any RTSP client can play camera.URL() now.
	fmt.Printf("%d frames of %dx%d at %d a second\n", clip.Len(), clip.Width, clip.Height, clip.FPS)
	// Output: 795 frames of 768x576 at 10 a second
}
