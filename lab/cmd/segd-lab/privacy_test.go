package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/lab/mot"
)

// In the demo's clip no pixel of a person is shown who has a mask, or has had one less than a second ago.
func TestEvalPrivacy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: 40 frames of a clip")
	}
	truth := clitest.File(t, "gt.txt", "1,1,10,10,20,40,1\n40,1,10,10,20,40,1\n") // of no one
	c := start(t, "privacy", "--video", "/usr/share/doc/opencv-doc/examples/data/vtest.avi", "--truth", truth, "--frames", "1-40", "--json")
	require.NoError(t, c.Wait(t))
	var r mot.HiddenReport
	if err := json.Unmarshal([]byte(c.Out.String()), &r); err != nil {
		t.Fatalf("%v:\n%s", err, c.Out.String())
	}
	if m := r.Masks; m.Pixels < 40*1000 || m.Hidden != m.Pixels {
		t.Errorf("%d of %d pixels of masks are hidden; want all", m.Hidden, m.Pixels)
	}
	if r.Elsewhere.Share > 0.5 || r.WholeFrames > 3 {
		t.Errorf("%.2f of the picture is hidden, %d frames as a whole; want less", r.Elsewhere.Share, r.WholeFrames)
	}
}

func TestEvalPrivacyFaults(t *testing.T) {
	video, truth := street(t)
	for _, tt := range []struct{ flag, value, want string }{
		{"--margin", "101", "--margin 101; accepted: 0 to 100"},
		{"--every", "0", "--every 0"},
		{"--frames", "5-2", `--frames: "5-2"`},
		{"--classes", "persn", `--classes: `},
	} {
		c := start(t, "privacy", "--video", video, "--truth", truth, tt.flag, tt.value)
		assert.ErrorContains(t, c.Wait(t), tt.want, "%s %s", tt.flag, tt.value)
	}
}
