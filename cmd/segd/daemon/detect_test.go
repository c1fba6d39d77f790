package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
)

// A network without heads is no network for detect, unless there is a detector; the setting is named.
func TestDetectNeedsHeads(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("test", []byte("cameras: [{name: a, url: 'whip:', detect: {off: true}}, {name: b, url: 'whip:'}]\n"), nil)
	require.NoError(t, err)
	cfg.Model.Path = "own.onnx"
	d := &daemon{cfg: cfg}
	var fault *config.SettingError
	if err := d.openDetector(cfg); !errors.As(err, &fault) || fault.Path != "cameras[1].detect" || !strings.Contains(err.Error(), "camera b: detect: the network own.onnx has no heads") {
		t.Errorf("%v; want it to name the setting and the network", err)
	}
	d.heads = true
	if err := d.openDetector(cfg); err != nil || d.detector != nil {
		t.Errorf("%v, detector %v; want the network's heads to do", err, d.detector)
	}
}

// The demo by hand marks nothing by itself.
func TestDemoByHand(t *testing.T) {
	for _, byHand := range []bool{true, false} {
		cfg, err := demoConfig(demoFlags{byHand: byHand}, "rtsp://127.0.0.1:1/")
		require.NoError(t, err)
		if got := cfg.Cameras[0].Detect; got.On() == byHand {
			t.Errorf("by hand %t: %+v", byHand, got)
		}
	}
}

// The demo's camera is recorded where the environment names a folder.
func TestDemoRecords(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		t.Setenv("SEGD_RECORDING_DIR", dir)
		cfg, err := demoConfig(demoFlags{}, "rtsp://127.0.0.1:1/")
		require.NoError(t, err)
		assert.Equal(t, dir != "", cfg.Cameras[0].Record, "recording.dir %q: record", dir)
	}
}
