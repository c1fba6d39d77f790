package configured

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/pipeline"
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
		FP16: true, Batch: 3, BatchWait: "5ms", EngineCache: "c",
	})
	want := dnn.Options{
		Taps: []string{"a"}, ShortSide: 320, Mean: [3]float64{1, 2, 3}, Std: [3]float64{4, 5, 6}, RGB: true,
		Prototxt: "p",
		Computing: dnn.Computing{
			Device: "cpu", Engine: "onnxruntime", EngineLibrary: "l.so", Threads: 2,
			FP16: true, Batch: 3, BatchWait: 5 * time.Millisecond, EngineCache: "c",
		},
	}
	assert.Equal(t, want, got)
}

// Every setting of the broker reaches what publishes to it.
func TestMQTT(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	got := MQTT(&config.Config{Site: "barn", Fleet: config.Fleet{Box: "one"}, MQTT: config.MQTT{
		URL: "mqtts://b", Username: "u", PasswordFile: "p", ClientID: "c", TLS: config.MQTTTLS{CA: "ca", Cert: "cert", Key: "key"},
		Prefix: "pre", Discovery: "ha",
	}}, log)
	want := mqtt.Config{
		URL: "mqtts://b", Username: "u", PasswordFile: "p", ClientID: "c", CA: "ca", Cert: "cert", Key: "key",
		Prefix: "pre", Site: "barn", Box: "one", Discovery: "ha", Logger: log,
	}
	assert.Equal(t, want, got)
}

// Every setting of what is marked reaches the camera.
func TestDetect(t *testing.T) {
	got := Detect(config.Detect{
		Classes: []string{"car"}, Every: "2s", Score: 0.3, MaxObjects: 7, Keep: "1m", Reidentify: 0.9, Zones: []string{"yard"},
	})
	want := pipeline.Detect{
		Classes: []string{"car"}, Every: 2 * time.Second, Score: 0.3, MaxObjects: 7, Keep: time.Minute, Reidentify: 0.9, Zones: []string{"yard"},
	}
	assert.Equal(t, want, got)
}
