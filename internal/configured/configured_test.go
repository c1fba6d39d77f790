package configured

import (
	"reflect"
	"testing"
	"time"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
)

// A thousand cameras are dialled over a second, no more than 1 in 50 at once.
func TestStagger(t *testing.T) {
	at := map[time.Duration]int{}
	for i := range 1000 {
		d := Stagger(i)
		if d < 0 || d > time.Second {
			t.Fatalf("camera %d waits %v", i, d)
		}
		at[d]++
	}
	for d, n := range at {
		if n > 20 {
			t.Errorf("%d cameras after %v", n, d)
		}
	}
}

// Every setting of the model reaches it.
func TestModelOptions(t *testing.T) {
	got := ModelOptions(config.Model{
		Path: "m.onnx", Taps: []string{"a"}, ShortSide: 320, Mean: []float64{1, 2, 3}, Std: []float64{4, 5, 6}, RGB: true,
		Prototxt: "p", Device: "cpu", Engine: "onnxruntime", EngineLibrary: "l.so", Threads: 2,
	})
	want := dnn.Options{
		Taps: []string{"a"}, ShortSide: 320, Mean: [3]float64{1, 2, 3}, Std: [3]float64{4, 5, 6}, RGB: true,
		Prototxt: "p", Device: "cpu", Engine: "onnxruntime", EngineLibrary: "l.so", Threads: 2,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
