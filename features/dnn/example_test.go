package dnn_test

import (
	"fmt"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
)

// The embedded model and a scene with its features.
func Example() {
	model, err := dnn.Embedded(dnn.Options{ShortSide: 128})
	if err != nil {
		panic(err)
	}
	defer model.Close()
	extractor, err := features.New(features.Config{Superpixels: 150}, model)
	if err != nil {
		panic(err)
	}
	const width, height = 160, 120
	var scene features.Scene
	if err := extractor.Extract(&scene, make([]byte, 3*width*height), width, height, features.Plan{Whole: true}); err != nil {
		panic(err)
	}
	fmt.Println(scene.N, "superpixels,", scene.D, "features")
	// Output: 150 superpixels, 67 features
}
