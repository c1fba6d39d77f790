package cameras

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/objects/privacy"
)

// What is set of a camera is how it is received.
func TestSource(t *testing.T) {
	got := Source(config.Camera{
		Name: "gate", URL: "rtsps://h/", Transport: "tcp", Decode: "cuda", Clock: "arrival", Fingerprint: "ab", FPS: 5, Loop: true,
	}, nil)
	want := ingest.Config{
		Camera: "gate", URL: "rtsps://h/", Transport: "tcp", Decode: codec.CUDA, Clock: "arrival", Fingerprint: "ab", FPS: 5, Loop: true,
	}
	assert.Equal(t, want, got)
}

// What a camera hides and ignores is as its settings say.
func TestPrivacy(t *testing.T) {
	got := Privacy(config.Privacy{Blur: []string{"person"}, Fill: []string{"car"}, Except: config.Kept, Margin: "2.5%", Show: config.ShowOperator})
	want := privacy.Config{Blur: []string{"person"}, Fill: []string{"car"}, ExceptKept: true, Margin: 0.025, Operators: true}
	assert.Equal(t, want, got)
	if got := Privacy(config.Privacy{}); got.On() {
		t.Errorf("%+v hides something", got)
	}
	bgr := []byte{1, 1, 1, 1, 1, 1}
	Source(config.Camera{Ignore: [][][]float64{{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}}}, nil).Ignore(bgr, 2, 1)
	if !bytes.Equal(bgr, []byte{0, 0, 0, 1, 1, 1}) {
		t.Errorf("%v; want the left half black", bgr)
	}
}

// A camera is turned and shaped as its settings say, and config accepts what ingest does.
func TestSourceShape(t *testing.T) {
	got := Source(config.Camera{Name: "a", URL: "dir:/d", Rotate: 270, Aspect: "4:3", Deinterlace: "on"}, nil)
	if got.Rotate != 270 || got.Aspect != 4.0/3 || got.Deinterlace != "on" {
		t.Errorf("turned by %d degrees, %v times as wide as high, deinterlaced %q", got.Rotate, got.Aspect, got.Deinterlace)
	}
	for _, aspect := range []string{"16:1", "1:16", "17:1", "1:17"} {
		_, wrong := config.ParseCamera(t.Context(), []byte(`{"name": "a", "url": "dir:/d", "aspect": "`+aspect+`"}`), "", &config.Config{})
		ratio := map[string]float64{"16:1": codec.MaxAspect, "1:16": 1.0 / codec.MaxAspect, "17:1": 17, "1:17": 1.0 / 17}[aspect]
		if _, err := ingest.Open(ingest.Config{URL: "dir:/d", Aspect: ratio}); (err == nil) != (wrong == nil) {
			t.Errorf("%s: config says %v, ingest %v", aspect, wrong, err)
		}
	}
}
