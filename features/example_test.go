package features_test

import (
	"fmt"

	"github.com/segd/segd/features"
)

// A red square on blue becomes superpixels that keep to the square's border.
func Example() {
	const width, height = 64, 48
	bgr := make([]byte, 3*width*height)
	for i := range width * height {
		if x, y := i%width, i/width; x >= 20 && x < 44 && y >= 12 && y < 36 {
			bgr[3*i+2] = 220
		} else {
			bgr[3*i] = 220
		}
	}
	e, err := features.New(features.Config{Superpixels: 48}, nil) // nil: colours only
	if err != nil {
		panic(err)
	}
	var scene features.Scene
	if err := e.Extract(&scene, bgr, width, height, features.Plan{Whole: true}); err != nil {
		panic(err)
	}
	var square int32
	for k, area := range scene.Area {
		if scene.Lab[3*k+2] > 0 { // b: blue is below 0, red above
			square += area
		}
	}
	fmt.Println(scene.N, "superpixels with", scene.D, "features,", len(scene.Edges) > scene.N, square)
	// Output: 48 superpixels with 3 features, true 576
}
