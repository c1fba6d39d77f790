package main

import (
	"testing"

	"github.com/segd/segd/cmd/segd/cli/clitest"
)

// What is in the binary is listed with what it finds, and a detector is told of by what it is.
func TestModels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: every network opened")
	}
	for _, tt := range []struct {
		args []string
		want [][]string
	}{
		{[]string{"model", "list"}, [][]string{{"segd-p64", "onnx"}, {"tap features"}, {"classes: person, bicycle", "toothbrush"}}},
		{[]string{"model", "check", "--detector", "../../features/dnn/testdata/nanodet-m.onnx"}, [][]string{{"nanodet-m", "NanoDet"}, {"  boxes, input 640×384, 80 classes", " ms"}}},
	} {
		c := start(t, tt.args...)
		if err := c.Wait(t); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !clitest.LineWith(c.Out.String(), want) {
				t.Errorf("%q: no line has all of %q:\n%s", tt.args, want, c.Out.String())
			}
		}
	}
}
