package mrf_test

import (
	"context"
	"fmt"

	"github.com/segd/segd/solver/mrf"
)

// A chain of five nodes: the ends are sure of themselves, the middle is noisy.
func Example() {
	var model mrf.Potts
	model.Reset(5, 2, []mrf.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 2, J: 3, W: 0.2}, {I: 3, J: 4, W: 1}})
	u := []float64{
		0, 5,
		0.4, 0, // prefers 1 a little
		0, 0.3,
		0.2, 0,
		5, 0,
	}
	y := make([]int32, 5)
	err := model.Label(context.Background(), y, u)
	fmt.Println(y, err)
	// Output: [0 0 0 1 1] <nil>
}
