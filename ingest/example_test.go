package ingest_test

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/segd/segd/ingest"
)

func Example() {
	dir, err := os.MkdirTemp("", "images")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"2.png", "1.png"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
			fmt.Println(err)
		}
		f.Close()
	}

	src, err := ingest.Open(ingest.Config{Camera: "door", URL: "dir:" + dir, FPS: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = src.Run(context.Background(), func(f *ingest.Frame) {
		defer f.Release()
		fmt.Printf("%s frame %d at %v: %dx%d, clock %v\n", f.Camera, f.Seq, f.PTS, f.Width, f.Height, f.Clock)
	})
	fmt.Println(err)
	// Output:
	// door frame 0 at 0s: 64x48, clock media
	// door frame 1 at 100ms: 64x48, clock media
	// <nil>
}
