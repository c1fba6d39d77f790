//go:build e2e

package restart

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

var minute = flag.Duration("minute", time.Minute, "how long the cameras are watched before a reload and after it")

// A reload that adds a camera, changes one and removes one costs the others no frame.
func TestReload(t *testing.T) {
	relay := harness.StartRelay(t)
	small := harness.Video{Width: 160, Height: 120, Rate: 10}
	yaml := func(cameras ...string) string {
		text := "cameras:\n"
		for _, c := range cameras {
			name, more, _ := strings.Cut(c, " ")
			text += fmt.Sprintf("  - {name: %s, url: 'rtsp://%[2]s/%[1]s', transport: tcp%[3]s}\n", name, relay.Addr(), more)
		}
		return text
	}
	for _, name := range []string{"stays", "too", "changes", "goes", "comes"} {
		harness.StartCamera(t, relay, name, small)
	}
	s := harness.Run(t, yaml("stays", "too", "changes", "goes"))
	require.NoError(t, s.Published(t.Context(), harness.StartLimit))
	require.NoError(t, harness.Pause(t.Context(), 5*time.Second))
	quiet := missing(t, s, nil)
	before, err := os.ReadFile(s.Config)
	require.NoError(t, err)
	head, _, _ := strings.Cut(string(before), "cameras:\n")
	next := head + yaml("stays", "too", "changes , detect: {classes: [person]}", "comes")
	after := missing(t, s, func() {
		require.NoError(t, os.WriteFile(s.Config, []byte(next), 0o600))
		reload(t, s)
	})
	for _, camera := range []string{"stays", "too"} {
		t.Logf("%s: %v frames lost in a quiet %v, %v in one with a reload", camera, quiet[camera], *minute, after[camera])
		if after[camera] > quiet[camera] {
			t.Errorf("%s lost %v frames in the %v with a reload, %v in a quiet one; want no more", camera, after[camera], *minute, quiet[camera])
		}
	}
	now, err := s.Metrics(t.Context())
	require.NoError(t, err)
	up := now.Values("segd_camera_up", "camera")
	if _, there := up["goes"]; there || len(up) != 4 || up["comes"] != 1 || up["changes"] != 1 {
		t.Errorf("cameras that are up: %v; want stays, too, changes and comes", up)
	}
}

// missing does something and counts, by camera, the frames that were not published in the time that follows, of
// those that came.
func missing(t *testing.T, s *harness.Segd, do func()) map[string]float64 {
	t.Helper()
	count := func() map[string]float64 {
		now, err := s.Metrics(t.Context())
		require.NoError(t, err)
		lost := now.Values("segd_frames_total", "camera")
		for camera := range lost {
			lost[camera] -= now.Sum("segd_frames_total", "camera", camera, "outcome", "published")
		}
		return lost
	}
	before := count()
	if do != nil {
		do()
	}
	require.NoError(t, harness.Pause(t.Context(), *minute))
	after := count()
	for camera := range after {
		after[camera] -= before[camera]
	}
	return after
}

// reload asks segd to read its configuration again.
func reload(t *testing.T, s *harness.Segd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.StartLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Page+"api/v1/config/reload", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("reload: %s", resp.Status)
	}
}
