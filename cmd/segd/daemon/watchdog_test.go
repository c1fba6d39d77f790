package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/pipeline"
)

// /livez of a running segd: well while its camera advances, not when it is up and stands
// still for longer than the watchdog is patient, and well again without any camera.
func TestLivez(t *testing.T) {
	t.Parallel()
	server := daemontest.Camera(t, demo.Config{})
	httpAddr := freeport.Addr(t)
	cfg, err := config.Parse("livez", []byte(daemontest.Quick(httpAddr, freeport.Addr(t))+"cameras: [{name: gate, transport: tcp, url: '"+server.URL()+"'}]\n"), nil)
	require.NoError(t, err)
	d, err := openDaemon(t.Context(), Version{}, cfg, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	require.NoError(t, d.build(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, d.serve(ctx, nil))
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		assert.NoError(t, d.close())
	})
	livez := func() string {
		resp, err := http.Get("http://" + httpAddr + "/livez")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(text), err)
	}
	waitfor.True(t, "a frame", func() bool { return d.snapshots()[0].Published > 0 })
	if got := livez(); !strings.HasPrefix(got, "200 ok") {
		t.Errorf("of a camera that advances: %s", got)
	}
	d.watch.mu.Lock()
	d.watch.patience["gate"] = -time.Hour // whatever comes, it comes too late
	d.watch.mu.Unlock()
	if got := livez(); !strings.HasPrefix(got, "503 not alive: camera gate is up, and no frame has come out for ") {
		t.Errorf("of one that stands still: %s", got)
	}
	server.Close()
	waitfor.True(t, "the camera to be down", func() bool { return !d.snapshots()[0].Up })
	if got := livez(); !strings.HasPrefix(got, "200 ok") {
		t.Errorf("without a camera that is up: %s", got)
	}
}

// The watchdog, moment by moment: who is up, how many frames have come out, and
// whether systemd should be left to start segd anew.
func TestWatchdog(t *testing.T) {
	type camera struct {
		name   string
		up     bool
		out    uint64
		failed uint64
	}
	type moment struct {
		second  int
		cameras []camera
		stuck   bool
	}
	const limit = 60 * time.Second // so the patience is 30 s
	for _, tc := range []struct {
		name    string
		moments []moment
	}{
		{"advances", []moment{
			{0, []camera{{"a", true, 1, 0}}, false}, {29, []camera{{"a", true, 2, 0}}, false}, {58, []camera{{"a", true, 3, 0}}, false},
		}},
		{"up and stuck", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {30, []camera{{"a", true, 7, 0}}, false}, {31, []camera{{"a", true, 7, 0}}, true},
		}},
		{"stuck, then on again", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {40, []camera{{"a", true, 7, 0}}, true}, {50, []camera{{"a", true, 8, 0}}, false},
		}},
		{"one advances, one is stuck", []moment{
			{0, []camera{{"a", true, 7, 0}, {"b", true, 1, 0}}, false}, {40, []camera{{"a", true, 7, 0}, {"b", true, 2, 0}}, false},
			{80, []camera{{"a", true, 7, 0}, {"b", true, 3, 0}}, false}, {120, []camera{{"a", true, 7, 0}, {"b", true, 3, 0}}, true},
		}},
		{"all are down for hours", []moment{
			{0, []camera{{"a", false, 7, 0}, {"b", false, 0, 0}}, false}, {7200, []camera{{"a", false, 7, 0}, {"b", false, 0, 0}}, false},
		}},
		{"one is down, one is stuck", []moment{
			{0, []camera{{"a", false, 7, 0}, {"b", true, 5, 0}}, false}, {40, []camera{{"a", false, 7, 0}, {"b", true, 5, 0}}, true},
		}},
		{"back after hours, not yet with a frame out", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {10, []camera{{"a", false, 7, 0}}, false},
			{7200, []camera{{"a", true, 7, 0}}, false}, {7229, []camera{{"a", true, 7, 0}}, false}, {7231, []camera{{"a", true, 7, 0}}, true},
		}},
		{"frames that fail, as when NATS is away", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {40, []camera{{"a", true, 7, 300}}, false}, {80, []camera{{"a", true, 7, 600}}, false},
		}},
		{"a folder of a picture a minute", []moment{
			{0, []camera{{"slow", true, 1, 0}}, false}, {119, []camera{{"slow", true, 1, 0}}, false}, {121, []camera{{"slow", true, 1, 0}}, true},
		}},
		{"a camera of snapshots has no newer one", []moment{
			{0, []camera{{"snap", true, 1, 0}}, false}, {7200, []camera{{"snap", true, 1, 0}}, false},
		}},
		{"one is stuck, beside a camera of snapshots", []moment{
			{0, []camera{{"snap", true, 1, 0}, {"a", true, 7, 0}}, false}, {31, []camera{{"snap", true, 31, 0}, {"a", true, 7, 0}}, true},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWatchdog([]config.Camera{
				{Name: "a", FPS: 25}, {Name: "b", FPS: 25}, {Name: "slow", FPS: 1. / 60}, {Name: "snap", URL: "snapshot+http://h/x", FPS: 1},
			}, limit)
			for _, m := range tc.moments {
				var snaps []pipeline.Snapshot
				for _, c := range m.cameras {
					snaps = append(snaps, pipeline.Snapshot{Camera: c.name, Up: c.up, Published: c.out, Failed: c.failed, Dropped: uint64(m.second)})
				}
				got := w.check(time.Unix(int64(m.second), 0), snaps)
				assert.Equal(t, m.stuck, got != nil, "at %d s: stuck %v", m.second, got)
				for _, c := range m.cameras {
					if got != nil && strings.Contains(got.Error(), "camera "+c.name+" ") != (c.up && c.name != "snap") {
						t.Errorf("at %d s: %v; want the cameras that are up", m.second, got)
					}
				}
			}
		})
	}
}
